"""What a notebook shows: a short table and the guarantee, with every key escaped."""

from xml.etree import ElementTree

from tests.releases import release_of
from tests.unit.releases.tree_example import tree

from hushcount.releases.views.report_notebook import ROWS


def shown(release):
    return ["".join(part.itertext()) for part in ElementTree.fromstring(release._repr_html_()).iter("p")]


def test_rows_and_guarantee():
    release = release_of([("<b>", 900), ("a\u202eb", 300)])
    html = release._repr_html_()
    assert "&lt;b&gt;" in html
    assert "a\\u202eb" in html
    assert shown(release) == ["Protects one event, not one person.", release.guarantee.statement()]
    assert "895 to 902" in html


def test_long_tables_end_early():
    release = release_of([(str(row), 500 - row) for row in range(ROWS + 5)])
    assert release._repr_html_().count("<tr>") == 1 + ROWS
    assert "5 further rows; release.report(path) writes all of them." in shown(release)


def test_trees_and_empty_tables():
    assert "10.2.3.4" in tree()._repr_html_()
    assert shown(release_of([]))[1].startswith("No key was published.")
    assert "<table>" not in release_of([])._repr_html_()
