"""The report as a file: one document, its own rules, every section, and the release inside."""

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from tests.releases import release_of
from tests.unit.releases.tree_example import NODES, tree

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.releases.views import report as reports
from hushcount.releases.views.report import report_of

ROWS = [("tea", 900), ("milk", 300)]
NOON = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)
SECTIONS = [
    "What is protected",
    "Counts by rank",
    "The table",
    "How to read the numbers",
    "What is not shown, and why",
    "What this rests on",
    "Where it comes from",
    "For a registry of deployments",
]


class Reader(HTMLParser):
    """Collects elements, their attributes, and texts by element."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.path = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.path.append(tag)

    def handle_endtag(self, tag):
        assert self.path.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.path[-1] if self.path else None, data))


def block(text):
    return json.loads(re.search(r'id="release">(.*?)</script>', text, re.S)[1])


def test_sections_in_their_order():
    reader = Reader(report_of(release_of(ROWS), NOON))
    assert [text for tag, text in reader.texts if tag == "h2"] == SECTIONS
    assert reader.path == []
    assert "16 November 2026" in report_of(release_of(ROWS), NOON)
    assert "2026-11-16 12:30 UTC" in report_of(release_of(ROWS), NOON)


def test_nothing_is_fetched_and_no_other_script_can_run():
    for release in (release_of(ROWS), tree()):
        text = report_of(release)
        reader = Reader(text)
        rules = next(a["content"] for _, a in reader.elements if a.get("http-equiv"))
        assert rules.startswith("default-src 'none'; ")
        for kind in ("style", "script"):
            whole = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.S)
            assert len(whole) == 1
            digest = base64.b64encode(hashlib.sha256(whole[0].encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in rules
        names = {name for _, attributes in reader.elements for name in attributes}
        assert not names & {"src", "href", "style", "srcset", "action", "onclick"}
        assert "http" not in text.replace("http-equiv", "")


def test_hostile_keys_and_columns():
    from dataclasses import replace

    key = "</script><script>alert(1)</script>"
    release = release_of([(key, 900)])
    release = replace(release, keys=release.keys.rename_columns([key]), notes=(key,))
    text = report_of(release)
    assert text.count("<script") == 2
    assert "alert(1)</script>" not in text
    assert block(text)["rows"][0][key] == key
    assert Reader(text).path == []


def test_the_block_is_the_release():
    release = release_of(ROWS)
    assert block(report_of(release)) == json.loads(release.to_json())


def test_long_tables_are_cut_in_the_block(monkeypatch):
    monkeypatch.setattr(reports, "MOST_ROWS", 2)
    assert [row["key"] for row in block(report_of(release_of([*ROWS, ("salt", 9)])))["rows"]] == [
        "tea",
        "milk",
    ]
    nodes = block(report_of(tree(NODES)))["rows"]
    assert [row["node"] for row in nodes] == ["*", "10.0.0.0/8"]


def test_rows_that_are_not_there_are_mentioned(monkeypatch):
    assert "rows are printed" not in report_of(release_of([(str(row), 99 - row) for row in range(40)]))
    many = release_of([(str(row), 99 - row) for row in range(41)])
    assert "The first 40 rows are printed; the file has more." in report_of(many)
    assert "The page holds" not in report_of(many)
    monkeypatch.setattr(reports, "MOST_ROWS", 30)
    assert "The page holds the first 30 rows of 41." in report_of(many)


def test_an_empty_table_says_why():
    text = report_of(release_of([]))
    assert "No key was published. Possible causes, the same for any data:" in text
    assert 'id="rows"' not in text
    assert "No node was published." in report_of(tree([]))


def test_the_name_of_the_file(tmp_path):
    release_of(ROWS).report(tmp_path / "a.HTML")
    assert (tmp_path / "a.HTML").read_text().startswith('<!DOCTYPE html>\n<html lang="en">')
    with pytest.raises(ParameterError, match=r"^report must end in \.html or \.htm, got a\.pdf\.$"):
        release_of(ROWS).report("a.pdf")


def test_a_banner_for_test_noise():
    text = report_of(release_of(ROWS).with_notes("NOT PRIVATE: seeded."))
    assert 'class="banner" role="alert"' in text
    assert "Differentially private release" not in text
    assert 'class="strip"' not in text
    assert 'class="banner"' not in report_of(release_of(ROWS))


def test_an_oracle_is_described():
    oracle = hc.oracle(["tea"] * 500, epsilon=1.0, kind="count-min", width=64)
    text = report_of(oracle, NOON)
    sections = [title for title in SECTIONS if title not in ("Counts by rank", "The table")]
    assert [words for tag, words in Reader(text).texts if tag == "h2"] == sections
    assert "320 noisy cells published" in text
    assert "The oracle lists no keys" in text
    assert "The list of all keys" not in text
    again = hc.read_release(json.dumps(block(text)).encode())
    assert again.cells.tolist() == oracle.cells.tolist()


def test_the_cells_of_a_large_oracle_are_left_out(monkeypatch):
    monkeypatch.setattr(reports, "MOST_CELLS", 10)
    oracle = hc.oracle(["tea"] * 500, epsilon=1.0, kind="count-min", width=64)
    assert block(report_of(oracle))["cells"] is None


def test_no_probability_is_rounded_up_to_certainty():
    shown = [reports._probability(share) for share in (1e-8, 0.5, 0.9949, 0.9996, 1.0)]
    assert shown == ["1e-08", "0.5", "0.99", "over 0.99", "1"]


def test_the_name_of_the_data_stands_below_the_title():
    release = hc.top(["tea"] * 500, epsilon=1.0, delta=1e-6)
    assert "1 key published · 16 November 2026" in report_of(release, NOON)
    assert "1 key published · visits · 16 November 2026" in report_of(release.named("visits"), NOON)
    hostile = report_of(release.named("<b>x"), NOON)
    assert "1 key published · &lt;b&gt;x · 16 November 2026" in hostile


def test_how_far_answers_of_an_oracle_are_off_stands_at_the_top():
    oracle = hc.oracle(["tea"] * 500, epsilon=1.0, delta=1e-6, width=4096)
    width = max(oracle.interval())
    words = "is the most that an answer is off by, with confidence 0.95"
    assert f"<dt>{width}</dt><dd>{words}</dd>" in report_of(oracle, NOON)
    few = hc.oracle(["tea"] * 500, epsilon=1.0, kind="count-min", width=2, depth=1)
    assert few.interval() == (None, None)
    assert words not in report_of(few, NOON)


def test_a_table_that_was_cut_says_what_was_reliable_before():
    release = hc.top(["a"] * 900 + ["b"] * 500, epsilon=1.0, delta=1e-6)
    words = "a key of so many is published reliably"
    assert f"{words}<" in report_of(release)
    assert f"{words}, before rows were cut<" in report_of(release.limit(1))
