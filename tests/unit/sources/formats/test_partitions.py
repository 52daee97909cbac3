"""Partitioned folders: the names of folders are columns, and no listing of a folder decides the order."""

import json
import os
import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from hushcount.errors import DataError, ParameterError
from hushcount.jobs.choices import SketchSize
from hushcount.jobs.request import Request
from hushcount.jobs.sketch_files import write_sketch
from hushcount.sketches.kinds import load
from hushcount.sources.formats.partitions import partitions_of
from hushcount.sources.open import open_source

ROWS = [
    (country, day, f"q{n * n % 7}", n)
    for n in range(40)
    for country, day in [("de", "1"), ("fr", "02"), ("de", "02")]
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(rows, ending="parquet", root="data"):
    parts = {}
    for country, day, query, n in rows:
        parts.setdefault(f"{root}/country={country}/day={day}", []).append({"query": query, "n": n})
    for place, content in parts.items():
        Path(place).mkdir(parents=True)
        table = pa.Table.from_pylist(content)
        if ending == "parquet":
            parquet.write_table(table, f"{place}/part-0.parquet")
        elif ending == "arrow":
            with pa.ipc.new_file(f"{place}/part-0.arrow", table.schema) as writer:
                writer.write_table(table)
        elif ending == "csv":
            Path(f"{place}/part-0.csv").write_text(
                "query,n\n" + "".join(f"{c['query']},{c['n']}\n" for c in content)
            )
        else:
            Path(f"{place}/part-0.jsonl").write_text("".join(json.dumps(c) + "\n" for c in content))


def keys_of(path, column, **options):
    source = open_source(path, column=column, **options)
    tables = [source.decode(batch.keys) for batch in source.batches()]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
def test_columns_of_folders(ending):
    write(ROWS, ending)
    rows = sorted(ROWS, key=lambda row: (row[0], row[1]))  # files in the order of their names
    assert keys_of("data", "country") == [(country,) for country, *_ in rows]
    assert keys_of("data", ["day", "query", "country"]) == [
        (day, query, country) for country, day, query, _ in rows
    ]
    assert keys_of("data", "query") == [(query,) for _, _, query, _ in rows]
    assert keys_of("data", "day", key_type="int") == [(int(day),) for _, day, *_ in rows]
    source = open_source("data", column=["country", "query"])
    for skip in (0, 1, 39, 40, 41, 119, 120):
        left = [row for batch in source.batches(skip) for row in source.decode(batch.keys).to_pylist()]
        assert [(row["country"], row["query"]) for row in left] == [(row[0], row[2]) for row in rows[skip:]]


def test_globs_of_folders():
    write(ROWS)
    assert len(keys_of("data/country=*", "country")) == len(ROWS)
    assert set(keys_of("data/country=de/day=*", "day")) == {("1",), ("02",)}
    assert len(keys_of("data/*/day=02/*.parquet", ["country", "day"])) == 80
    with pytest.raises(ParameterError) as refused:
        keys_of("data/country=de/day=*", "country")
    assert str(refused.value) == "Column 'country' is not in the file; it has: query, n, day."


def test_a_type_depends_on_no_other_folder():
    """02 stays 02, whether all other days look like numbers or not."""
    write(ROWS)
    assert {day for (day,) in keys_of("data", "day")} == {"1", "02"}
    write([("us", "today", "q", 1)], root="data")
    assert {day for (day,) in keys_of("data", "day")} == {"1", "02", "today"}
    with pytest.raises(DataError) as caught:
        keys_of("data", "day", key_type="int")
    assert str(caught.value) == "Column 'day' has values that are not whole numbers (type int)."


def test_names_are_decoded():
    assert partitions_of("a=%2Fx%3D1/b=caf%C3%A9/c=__HIVE_DEFAULT_PARTITION__/d=/plain/=x/f.csv") == (
        ("a", "/x=1"),
        ("b", "café"),
        ("c", None),
        ("d", ""),
    )
    for place, folder in (("a=%ff/f", "a=%ff"), ("a=1/a=2/f", "a=2")):
        with pytest.raises(DataError) as caught:
            partitions_of(place)
        assert str(caught.value) == (
            f"{folder} is a folder whose name gives no column a value, or one that has one."
        )


def test_a_null_is_dropped_and_a_column_of_the_file_stays():
    write([("__HIVE_DEFAULT_PARTITION__", "1", "q", 1), ("de", "1", "q", 2)])
    assert keys_of("data", "country") == [("de",)]
    Path("more/n=7").mkdir(parents=True)
    parquet.write_table(pa.table({"n": [1, 2]}), "more/n=7/a.parquet")
    assert keys_of("more", "n") == [(1,), (2,)]


def test_a_folder_without_the_column_is_refused_when_it_is_reached():
    write(ROWS)
    Path("data/country=x").mkdir()
    parquet.write_table(pa.table({"query": ["a"], "n": [1]}), "data/country=x/a.parquet")
    with pytest.raises(ParameterError) as caught:
        keys_of("data", "day")
    assert str(caught.value) == "Column 'day' is not in the file; it has: query, n, country."


def test_folders_of_equal_files_are_told_apart():
    for country in ("de", "fr"):
        Path(f"{country}/country={country}").mkdir(parents=True)
        parquet.write_table(pa.table({"query": ["a"]}), f"{country}/country={country}/a.parquet")
        os.utime(f"{country}/country={country}/a.parquet", (1, 1))
    one, other = (open_source(place, column="country").fingerprint for place in ("de", "fr"))
    assert one != other
    one, other = (open_source(place, column="query").fingerprint for place in ("de", "fr"))
    assert one == other


def test_folders_that_duckdb_writes():
    rows = "SELECT i % 3 AS part, 'k' || i % 5 AS k FROM range(60) r(i)"
    duckdb.sql(f"COPY ({rows}) TO 'out' (FORMAT parquet, PARTITION_BY part)")
    assert sorted(keys_of("out", ["part", "k"])) == sorted((str(i % 3), f"k{i % 5}") for i in range(60))


def contents(path, counters=3):
    """All that a sketch file holds of the data."""
    write_sketch(Request(path, column=["country", "query"]), "out.hc", size=SketchSize(counters=counters))
    shape = load("out.hc").shape()
    return shape.keys.to_pylist(), shape.counts.tolist(), shape.floor


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_a_listing_changes_nothing(seed, monkeypatch):
    """Not even a sketch whose counters depend on the order of rows."""
    write(ROWS)
    first = contents("data")
    walk, source = os.walk, random.Random(seed)

    def shuffled(*arguments, **options):
        for place, folders, names in walk(*arguments, **options):
            source.shuffle(folders)
            source.shuffle(names)
            yield place, folders, names

    monkeypatch.setattr(os, "walk", shuffled)
    assert contents("data") == first


def test_without_one_row_all_others_come_in_the_same_order():
    """Also if it is the only row of its folder, which then is not there."""
    rows = [*ROWS[:12], ("it", "1", "q9", 1)]
    write(rows)
    whole = keys_of("data", ["country", "day", "query", "n"])
    for left_out in rows:
        root = f"without-{rows.index(left_out)}"
        write([row for row in rows if row != left_out], root=root)
        country, day, query, n = left_out
        found = keys_of(root, ["country", "day", "query", "n"])
        assert found == [row for row in whole if row != (country, day, query, n)]
