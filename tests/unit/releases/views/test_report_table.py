"""The table of a report: every row, its interval where it belongs, long and odd keys marked."""

from dataclasses import replace
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from tests.releases import FixedError, release_of
from tests.unit.releases.tree_example import tree

from hushcount.releases.accuracy import Counted
from hushcount.releases.views.report_table import (
    BAR,
    NOTEBOOK_ROWS,
    bounds,
    shown_key,
    shown_number,
    table_of,
)


def parsed(release):
    return ElementTree.fromstring(table_of(release))


def cells(release):
    return [["".join(cell.itertext()) for cell in row] for row in parsed(release).find("tbody")]


def titles(release):
    return [column.find("button").text for column in parsed(release).find("thead/tr")[1:]]


def test_rows_with_their_intervals():
    release = release_of([("tea", 900), ("milk", 3)])
    assert titles(release) == ["key", "count", "95% interval"]
    assert cells(release) == [["1", "tea", "900", "895 to 902"], ["2", "milk", "3", "0 to 5"]]


def test_bounds_without_an_upper_one_and_lower_estimates():
    release = release_of([("tea", 900)], FixedError(above=None))
    assert titles(release)[1] == "lower estimate"
    assert cells(release)[0][3] == "895 or more"
    bar = parsed(release).find("tbody/tr/td/svg")
    spot = next(rect for rect in bar if rect.get("class") == "range")
    assert float(spot.get("x")) + float(spot.get("width")) == BAR


def test_a_bar_is_inside_its_picture_and_in_order():
    for row in parsed(release_of([("a", 100_000), ("b", 50), ("c", 1)])).find("tbody"):
        _, span, mark = row.find("td/svg")
        left, width = float(span.get("x")), float(span.get("width"))
        assert 0 <= left <= float(mark.get("x")) + 3 <= BAR
        assert left + width <= BAR


def test_users_who_kept_a_key():
    kept = replace(release_of([("tea", 900)]), counted=Counted("users", "count is ..."))
    assert titles(kept)[1] == "users who kept this key"
    assert titles(replace(kept, counted=Counted("rows", "count is ...")))[1] == "rows kept"


def test_nodes_are_indented():
    release = tree()
    assert titles(release) == ["node", "level", "residual", "total", "95% interval"]
    classes = [row.find("th").get("class") for row in parsed(release).find("tbody")]
    assert classes == ["key", "key in1", "key in2", "key in3", "key in2", "key in1"]


def test_only_the_first_thousand_rows():
    assert len(cells(release_of([(str(row), 5000 - row) for row in range(1500)]))) == 1000


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (None, ("no value", "odd")),
        ("", ("empty text", "odd")),
        (7, ("7", None)),
        ("x" * 160, ("x" * 160, None)),
        ("x" * 4096, ("x" * 160 + "… (4,096 characters)", None)),
    ],
)
def test_keys(key, shown):
    assert shown_key(key) == shown


def test_numbers_and_bounds():
    assert [shown_number(value) for value in (1234, 1234.56, 1234.0, None)] == [
        "1,234",
        "1,234.6",
        "1,234",
        "",
    ]
    assert (bounds(0, None), bounds(1, 2000)) == ("0 or more", "1 to 2,000")


def test_keys_of_any_type():
    release = release_of([(b"\xff<", 9), (b"tea", 5)], kind=pa.binary())
    assert [row[1] for row in cells(release)] == ["\\xff<", "tea"]


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
    release = release_of([(str(row), 500 - row) for row in range(NOTEBOOK_ROWS + 5)])
    assert release._repr_html_().count("<tr>") == 1 + NOTEBOOK_ROWS
    assert "5 further rows; release.report(path) writes all of them." in shown(release)


def test_trees_and_empty_tables():
    assert "10.2.3.4" in tree()._repr_html_()
    assert shown(release_of([]))[1].startswith("No key was published.")
    assert "<table>" not in release_of([])._repr_html_()
