"""Releases behave as Python expects of a table: rows by key, iteration, frames, streams, text, pickles."""

import copy
import pickle
import sys
from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.made import MAKERS, made
from tests.releases import release_of
from tests.unit.releases.tree_example import tree

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.releases.oracle import Oracle
from hushcount.releases.published import check_per

ROWS = [("b", 10), ("a", 10), ("c", 300), ("d", 1)]
COLUMNS = pa.table({"day": pa.array([1, 2], pa.int32()).view(pa.date32()), "word": ["a", None]})


def test_a_row_is_found_by_its_key():
    release = release_of(ROWS)
    assert release["a"] == {"key": "a", "count": 10, "lower": 5, "upper": 12}
    assert "a" in release
    with pytest.raises(KeyError, match="'e' was not published"):
        release["e"]


def test_several_columns_are_a_tuple():
    release = release_of([(1, 20), (2, 10)]).with_keys(COLUMNS)
    day = COLUMNS["day"][1].as_py()
    assert release[day, None]["count"] == 10
    assert (day, "a") not in release
    assert day not in release


@pytest.mark.parametrize("key", ["a", None, 2.5, b"a", 2**70, [1], object()])
def test_a_value_of_another_type_is_no_key(key):
    assert key not in release_of([(1, 20), (2, 10)])


def test_rows_are_iterated_in_their_order():
    release = release_of(ROWS)
    assert [row["key"] for row in release] == ["c", "a", "b", "d"]
    assert list(release) == release.table.to_pylist()
    assert len(release) == 4
    assert list(release_of([])) == []


def test_trees_have_nodes():
    release = tree()
    label = release.nodes[0].as_py()
    assert release[label]["total"] == release.totals[0].as_py()
    assert len(release) == len(list(release)) == len(release.nodes)


def test_frames_and_streams():
    release = release_of(ROWS)
    assert pl.DataFrame(release.table).equals(release.to_polars())
    assert isinstance(release.to_pandas(), pd.DataFrame)
    assert pa.table(release) == release.table
    assert pl.DataFrame(release).equals(release.to_polars())


def test_polars_is_not_required(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(
        ParameterError, match=r"^to_polars needs the package polars, which is not installed\.$"
    ):
        release_of(ROWS).to_polars()


def test_the_table_is_printed():
    assert [line.split() for line in repr(release_of(ROWS)).splitlines()[1:4]] == [
        ["#", "key", "count", "95%", "interval"],
        ["─" * len(repr(release_of(ROWS)).splitlines()[2])],
        ["1", "c", "300", "295", "…", "302", "█" * 20],
    ]
    long = repr(release_of([(number, 1000 - number) for number in range(408)]))
    assert len(long.splitlines()) == 24
    assert long.splitlines()[-1] == "388 further rows are in release.table"
    assert repr(release_of([])) == (
        "Release of 0 rows: (1, 1e-08)-differential privacy for one event, by floor release"
    )


def test_no_key_can_move_the_cursor():
    assert "\x1b" not in repr(release_of([("a\x1b[2J", 10)]))
    assert "\\x1b[2J" in repr(release_of([("a\x1b[2J", 10)]))


@pytest.mark.parametrize("name", MAKERS)
def test_pickles_are_their_json(name):
    release = made(name)
    again = pickle.loads(pickle.dumps(release))
    assert again.to_json() == release.to_json()
    assert type(again) is type(release)
    assert copy.copy(release).to_json() == release.to_json()
    assert not isinstance(release, Oracle) or again.ids == release.ids


def test_a_list_of_keys_has_no_picture():
    with pytest.raises(ParameterError) as refused:
        hc.keys(["tea"] * 500, epsilon=1.0, delta=1e-6).plot()
    assert str(refused.value) == (
        "A list of keys has no counts, so there is no picture of it; report has the list."
    )


def test_trees_are_compared_by_value():
    one, other = tree(), tree()
    assert one == replace(one, rows=other.rows)
    assert one.rows != replace(other.rows, totals=other.rows.totals + 1)
    assert one.rows != 3


def by_country():
    """A table of two key columns, some of whose countries are unknown."""
    rows = [
        ("CH", "a", 90),
        ("DE", "a", 80),
        ("CH", "b", 70),
        (None, "a", 60),
        ("CH", "c", 50),
        (None, "b", 40),
    ]
    whole = release_of([(f"{place}", row[2]) for place, row in enumerate(rows)])
    countries, items, _ = zip(*rows, strict=True)
    return whole.with_keys(pa.table({"country": countries, "item": items}))


@pytest.mark.parametrize(
    ("rows", "kept"), [(1, [90, 80, 60]), (2, [90, 80, 70, 60, 40]), (9, [90, 80, 70, 60, 50, 40])]
)
def test_the_first_rows_of_each_group(rows, kept):
    shown = by_country().limit(rows, per="country")
    assert shown.table["count"].to_pylist() == kept
    assert shown.keys.column_names == ["country", "item"]
    assert not shown.whole
    assert hc.read_release(shown.to_json().encode()).table == shown.table


def test_groups_of_no_rows():
    assert len(by_country().at_least(1000).limit(1, per="country")) == 0


@pytest.mark.parametrize(
    ("per", "names", "limit", "sentence"),
    [
        (
            "day",
            ["country", "item"],
            3,
            "per must be one of several key columns; they are country, item, got day.",
        ),
        ("key", ["key"], 3, "per must be one of several key columns, got key."),
        ("day", ["day", "item"], None, "per needs limit, the number of rows of each group."),
    ],
)
def test_groups_are_those_of_a_key_column(per, names, limit, sentence):
    with pytest.raises(ParameterError) as refused:
        check_per(per, names, limit)
    assert str(refused.value) == sentence
