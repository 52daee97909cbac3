"""Data that were counted already: what rows stand for, from every source and in every job that takes them.

The neighbour of a table of counts has one event less: the number of one row is smaller by one. Whatever the
source, one event then goes from the stream of events, and all others come in the same order as before.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from tests.databases import PARALLEL

import hushcount as hc
from hushcount.jobs.request import Request
from hushcount.sources.duckdb.counted import RowsByHash
from hushcount.sources.source import Source
from hushcount.sources.wrapped import WeighedSource

Rows = list[tuple[str, int]]
# With this budget a noisy count is more than 2 off with a probability far below 1e-9.
CLEAR: dict[str, Any] = {"epsilon": 20, "delta": 1e-8}
ROWS: Rows = [(f"k{i % 7}", (i * 37) % 50) for i in range(200)]
TOTALS = Counter({key: sum(n for name, n in ROWS if name == key) for key, _ in ROWS})
LESS = [(key, n - (i == 23)) for i, (key, n) in enumerate(ROWS)]
SECRET = "00" * 16


def table_of(rows: Rows) -> pa.Table:
    return pa.table({"id": range(len(rows)), "page": [key for key, _ in rows], "n": [n for _, n in rows]})


def as_csv(rows: Rows, folder: Path) -> Request:
    pv.write_csv(table_of(rows), str(folder / "t.csv"))
    return Request(str(folder / "t.csv"), "page", times="n")


def as_parquet(rows: Rows, folder: Path) -> Request:
    pq.write_table(table_of(rows), str(folder / "t.parquet"))
    return Request(str(folder / "t.parquet"), "page", times="n")


def as_pandas(rows: Rows, folder: Path) -> Request:
    frame = table_of(rows).to_pandas()
    return Request(frame.assign(n=frame["n"].astype(float)), "page", times="n")


def as_lazy(rows: Rows, folder: Path) -> Request:
    return Request(pl.from_arrow(table_of(rows)).lazy(), "page", times="n")


def as_sql(rows: Rows, folder: Path) -> Request:
    as_parquet(rows, folder)
    return Request(column="page", times="n", sql=f"FROM '{folder / 't.parquet'}'")


def as_relation(rows: Rows, folder: Path) -> Request:
    as_parquet(rows, folder)
    return Request(duckdb.sql(f"FROM '{folder / 't.parquet'}'"), "page", times="n")


def as_sqlite(rows: Rows, folder: Path) -> Request:
    (folder / "t.sqlite").unlink(missing_ok=True)
    with sqlite3.connect(folder / "t.sqlite") as connection:
        connection.execute("CREATE TABLE t (page TEXT, n INT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    return Request(str(folder / "t.sqlite"), "page", relation="t", times="n")


SOURCES: list[Callable[[Rows, Path], Request]] = [
    as_csv,
    as_parquet,
    as_pandas,
    as_lazy,
    as_sql,
    as_relation,
    as_sqlite,
]


@pytest.fixture(scope="module")
def address(postgresql_server: str) -> str:
    with psycopg.connect(postgresql_server.format("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE counted")
        for setting in PARALLEL:
            connection.execute(f"ALTER DATABASE counted SET {setting}")
    return postgresql_server.format("counted")


def as_postgresql(rows: Rows, address: str) -> Request:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (page text, n numeric)")
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        connection.execute("ANALYZE t")
    return Request(address, "page", relation="t", times="n")


def opened(request: Request) -> Source:
    """Open a source whose secret order is always the same."""
    source = request.open({"order_key": SECRET, "hash": "mixed"})
    assert isinstance(source, WeighedSource)
    if isinstance(source.source, RowsByHash):
        source = WeighedSource(RowsByHash(source.source.source, SECRET), source.weight)
    return source


def events(source: Source) -> list[str]:
    """The events in their order."""
    pairs = (pair for batch in source.batches() for pair in batch.keys.to_pylist())
    return [pair["key"] for pair in pairs for _ in range(pair["weight"])]


def goes(one: list[str], other: list[str]) -> str:
    """The event that `one` has and `other` has not; all else is equal and in the same order."""
    place = next(i for i, key in enumerate([*other, None]) if key != one[i])
    assert one[place + 1 :] == other[place:]
    return one[place]


def check_neighbours(rows: Request, less: Callable[[], Request]) -> None:
    source = opened(rows)
    assert (source.unit.name, source.unit.weight) == ("event", 1)
    assert not any("one row of the" in note for note in source.notes)
    assert [note for note in source.notes if "as its n says" in note]
    whole = events(source)
    assert Counter(whole) == TOTALS
    assert goes(whole, events(opened(less()))) == ROWS[23][0]


@pytest.mark.parametrize("made", SOURCES, ids=lambda made: made.__name__)
def test_one_event_less(made: Callable[[Rows, Path], Request], tmp_path: Path) -> None:
    if made is as_relation:  # its secret order is drawn inside, so only the counts can be compared
        assert Counter(events(made(ROWS, tmp_path).open())) == TOTALS
        assert Counter(events(made(LESS, tmp_path).open())) == TOTALS - Counter([ROWS[23][0]])
    else:
        check_neighbours(made(ROWS, tmp_path), lambda: made(LESS, tmp_path))


def test_one_event_less_with_parallel_plans(address: str) -> None:
    check_neighbours(as_postgresql(ROWS, address), lambda: as_postgresql(LESS, address))


@pytest.mark.parametrize("made", [as_sql, as_lazy, as_sqlite], ids=lambda made: made.__name__)
def test_a_row_of_no_events_may_be_there_or_not(
    made: Callable[[Rows, Path], Request], tmp_path: Path
) -> None:
    found = events(opened(made(ROWS, tmp_path)))
    assert found == events(opened(made([(key, n) for key, n in ROWS if n], tmp_path)))


DOMAIN = [f"k{i}" for i in range(7)]
JOBS: dict[str, Callable[..., Any]] = {
    "top": hc.top,
    "exact": lambda data, **more: hc.top(data, exact=True, **more),
    "few counters": lambda data, **more: hc.top(data, counters=9, **more),
    "domain": lambda data, **more: hc.top(data, domain=DOMAIN, **more | {"delta": 0}),
    "sample": lambda data, **more: hc.sample(data, rate=1, **more),
    "oracle": lambda data, **more: hc.oracle(data, **more).estimate(DOMAIN),
    "cells": lambda data, **more: hc.oracle(data, kind="count-min", **more).estimate(DOMAIN),
}


def counts_of(found: Any) -> Counter[str]:
    table = getattr(found, "table", found)
    return Counter(dict(zip(table["key"].to_pylist(), table["count"].to_pylist(), strict=True)))


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("form", ["text", "float", "whole"])
def test_jobs_count_what_rows_stand_for(name: str, form: str) -> None:
    kinds = {"text": pa.string(), "float": pa.float64(), "whole": pa.int16()}
    table = table_of(ROWS)
    data = table.set_column(2, "n", table["n"].cast(kinds[form]))
    found = counts_of(JOBS[name](data, column="page", times="n", **CLEAR))
    near = 12 if name in ("oracle", "cells") else 2
    assert all(abs(found[key] - TOTALS[key]) <= near for key in DOMAIN)


@pytest.mark.parametrize("more", [{}, {"method": "streaming"}, {"by_level": True}], ids=str)
def test_trees(more: dict[str, Any]) -> None:
    rows = pa.table({"ip": ["10.0.0.1", "10.0.0.2", "?", "10.9.0.1", "10.0.0.1"], "n": [900, 800, 7, 1, 50]})
    asked = {"hierarchy": "ipv4/8", "column": "ip", "times": "n", "threshold": 300, **CLEAR, **more}
    found = hc.tree(rows, **asked)
    totals = dict(zip(found.nodes.to_pylist(), found.table["total"].to_pylist(), strict=True))
    assert abs(totals["10.0.0.1"] - 950) <= 8
    assert abs(totals["10.0.0.2"] - 800) <= 8
    with pytest.raises(hc.errors.DataError):
        hc.tree(
            rows, hierarchy="ipv4/8", column="ip", times="n", threshold=300, on_bad="fail", **CLEAR, **more
        )


def test_a_stopped_run_goes_on_with_its_numbers(tmp_path: Path) -> None:
    request = as_csv(ROWS, tmp_path)
    asked = {"column": "page", "checkpoint": tmp_path / "run.hc", **CLEAR}

    def stop(_done: int, _size: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hc.top(request.data, times="n", progress=stop, **asked)
    with pytest.raises(hc.errors.DataError):  # these are other data: every row is one event
        hc.top(request.data, **asked)
    found = counts_of(hc.top(request.data, times="n", **asked))
    assert all(abs(found[key] - TOTALS[key]) <= 2 for key in DOMAIN)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            {"weight": "id"},
            "weight and times cannot be combined: by weight a row is one event of that size, by times it is"
            " so many events; leave out one of them.",
        ),
        (
            {"user": "id", "max_keys": 2},
            "times cannot be combined with user: of a user a key counts once, or by rows; leave out one.",
        ),
        ({"max_events": 100}, "The data hold more than max_events = 100 events, so nothing was released;"),
        ({"times": "page", "column": "id"}, None),
        ({"times": "no"}, "Column 'no' is not in "),
        (
            {"times": "n", "on_bad": "fail"},
            "A row does not say by a whole number from 0 on for how many events it stands; correct it, or"
            " drop such rows.",
        ),
    ],
)
def test_sentences(more: dict[str, Any], sentence: str | None) -> None:
    data = table_of([*ROWS, ("k1", -5)])
    asked = {"column": "page", "times": "n", **CLEAR, **more}
    if sentence is None:  # text that is no number: rows of no events
        assert hc.top(data, **asked).table.num_rows == 0
        return
    with pytest.raises(hc.errors.HushcountError) as caught:
        hc.top(data, **asked)
    assert str(caught.value).startswith(sentence)


def test_a_ledger_knows_the_column_of_numbers(tmp_path: Path) -> None:
    data = as_csv(ROWS, tmp_path).data
    book = str(tmp_path / "spent.db")
    hc.Ledger(book).init("visits", epsilon=45, delta=1e-6, unit="event")
    asked = {"column": "page", "ledger": book, "dataset": "visits", **CLEAR}
    first = hc.top(data, times="n", **asked)
    assert hc.top(data, times="n", **asked).table.equals(first.table)
    assert counts_of(hc.top(data, **asked)) != counts_of(first)
    with pytest.raises(hc.errors.BudgetExceeded):
        hc.top(data, times="id", **asked)
