"""`hc.feed`: sums of published numbers, with their intervals, and refusals of damaged feeds."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.feeds import made_feed

import hushcount as hc
from hushcount.errors import DataError, ParameterError

ROWS = {
    0: [("a", "entry", None, 0, 40)],
    1: [("a", "node", 0, 1, 5), ("a", "node", 1, 1, 6), ("b", "entry", None, 0, 90)],
    2: [("a", "node", 0, 2, 7), ("b", "node", 0, 2, 1)],
    3: [("a", "node", 0, 3, 9), ("a", "node", 1, 2, 16), ("b", "node", 0, 3, 2), ("b", "node", 1, 2, 4)],
    4: [("a", "node", 0, 4, 3), ("b", "node", 0, 4, -1)],
}


@pytest.fixture
def folder(tmp_path):
    made_feed(tmp_path / "feed", ROWS, levels=("1h", "2h"))
    return tmp_path / "feed"


def counts(found):
    return {row["key"]: row["count"] for row in found}


def test_all_so_far_is_entries_and_the_longest_nodes(folder):
    assert counts(hc.feed(folder).top()) == {"b": 90 + 4 - 1, "a": 40 + 6 + 16 + 3}
    assert counts(hc.feed(folder).top(1)) == {"b": 93}


def test_a_window_has_the_nodes_within_it(folder):
    assert counts(hc.feed(folder).top(last="3h")) == {"a": 16 + 3, "b": 4 - 1}
    assert counts(hc.feed(folder).top(last="1h")) == {"a": 3, "b": -1}
    assert counts(hc.feed(folder).top(period="2026-10-01T02")) == {"a": 7, "b": 1}
    # An entry whose life began before the window counts by what exceeds the threshold.
    tau = 26  # for 720 periods
    assert counts(hc.feed(folder).top(period="2026-10-01T01")) == {"b": 90 - tau + 1, "a": 5}


def test_a_longer_window_than_the_feed_is_all_of_it(folder):
    assert counts(hc.feed(folder).top(last="24h")) == counts(hc.feed(folder).top())


def test_small_pictures_have_a_cell_for_each_part(folder):
    found = hc.feed(folder).top()
    assert found.shapes == [[None, None, 1, 2, -1], [None, 5, 7, 9, 3]]
    assert "·" in str(found)


def test_json_says_what_it_is(folder):
    said = json.loads(hc.feed(folder).top(last="1h").to_json())
    assert (said["start"], said["end"]) == ("2026-10-01T04:00:00+00:00", "2026-10-01T05:00:00+00:00")
    assert said["rows"][0] == {
        "key": "a",
        "count": 3,
        "lower": 0,
        "upper": 9,
    }  # exp(-7/2) < 0.025 (1 + exp(-1/2))


def test_no_period_no_table(tmp_path):
    made_feed(tmp_path / "feed", {})
    with pytest.raises(DataError) as refused:
        hc.feed(tmp_path / "feed").top()
    assert str(refused.value) == "The feed has no period yet; `hushcount watch close` publishes one."


def test_an_empty_period_is_an_empty_table(tmp_path):
    made_feed(tmp_path / "feed", {0: []})
    assert len(hc.feed(tmp_path / "feed").top()) == 0


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"last": "1h", "period": "2026-10-01T00"}, "Give one of so_far, last and period."),
        (
            {"period": "2026-10-01T09"},
            "period 2026-10-01T09 is not published; the last is 2026-10-01T04.",
        ),
        ({"last": "7m"}, "last must be a length such as 1h, 1d or 4w, got 7m."),
    ],
)
def test_times_that_cannot_be_shown(folder, asked, sentence):
    with pytest.raises(ParameterError) as refused:
        hc.feed(folder).top(**asked)
    assert str(refused.value) == sentence


def damaged(folder, change):
    """Change the file of a period and return what a reader says."""
    file = folder / "2026-10-01T02.parquet"
    table = pq.read_table(file)
    change(file, table)
    with pytest.raises(DataError) as refused:
        hc.feed(folder).top()
    return str(refused.value).replace(str(folder), "FEED")


def with_column(name, values):
    def change(file, table):
        place = table.column_names.index(name)
        pq.write_table(table.set_column(place, name, pa.array(values, table[name].type)), file)

    return change


FILE = "A file of the feed in FEED cannot be read, or is not one that hushcount wrote."


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda file, _: file.write_bytes(b"PAR1"), FILE),
        (lambda file, table: pq.write_table(table.drop_columns(["value"]), file), FILE),
        (with_column("kind", ["entry", "other"]), FILE),
        (with_column("kind", ["entry", "node"]), FILE),  # below the threshold
        (with_column("value", [None, 1]), FILE),
        (lambda file, _: file.unlink(), "The feed in FEED is not whole: it has no file of period"),
        (lambda file, _: shutil.copy(file, file.with_name("x.parquet")), "The feed in FEED is not whole"),
    ],
)
def test_damaged_feeds_are_refused(folder, change, sentence):
    assert damaged(folder, change).startswith(sentence)


@pytest.mark.parametrize(("field", "value"), [("threshold", 3), ("epsilon", 0.1), ("unit", "user")])
def test_what_describes_a_feed_must_be_what_its_terms_give(folder, field, value):
    about = json.loads((folder / "feed.json").read_text())
    about["guarantee"][field] = value
    (folder / "feed.json").write_text(json.dumps(about))
    with pytest.raises(DataError) as refused:
        hc.feed(folder)
    assert str(refused.value).endswith("does not describe a feed that this version of hushcount knows.")


def test_a_key_may_have_the_name_of_anything_in_a_query(tmp_path):
    rows = {0: [("a", "b", "entry", None, 0, 40)]}
    made_feed(tmp_path / "feed", rows, column=("nodes", "rank"))
    assert next(iter(hc.feed(tmp_path / "feed").top()))["nodes"] == "a"


def test_rows_are_ordered_by_count_then_by_key(tmp_path):
    rows = [(key, "entry", None, 0, value) for key, value in [("a", 41), ("b", 50), ("c", 41)]]
    made_feed(tmp_path / "feed", {0: rows})
    assert [row["key"] for row in hc.feed(tmp_path / "feed").top()] == ["b", "a", "c"]
    assert np.all(np.diff(hc.feed(tmp_path / "feed").top().table["count"].to_numpy()) <= 0)
