"""A window of any kind of source: its rows alone, and a fingerprint and a note of its own."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushcount as hc
from hushcount.jobs.request import Request

START = datetime(2026, 11, 14, 12)
TIMES = [START + timedelta(hours=place) for place in range(60)]
KEYS = [f"k{place % 3}" for place in range(60)]
INSIDE = [key for key, time in zip(KEYS, TIMES, strict=True) if time.day == 15]
ASKED = {"window": "2026-11-15", "time": "when"}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"when": time.isoformat(), "key": key, "who": str(key)} for key, time in zip(KEYS, TIMES, strict=True)
    ]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    pd.DataFrame(rows).to_csv("rows.csv", index=False)
    pq.write_table(table(), "rows.parquet")


def table():
    return pa.table({"key": KEYS, "when": pa.array(TIMES, pa.timestamp("us")), "who": KEYS})


def keys(data, **more):
    source = Request(data, "key", **(ASKED | more)).open()
    return sorted(key for batch in source.batches() for key in batch.keys.to_pylist())


@pytest.mark.parametrize(
    "data",
    [
        "rows.csv",
        "rows.jsonl",
        "rows.parquet",
        table,
        lambda: table().to_pandas(),
        lambda: pl.from_arrow(table()),
        lambda: pl.from_arrow(table()).lazy(),
    ],
)
def test_every_source_has_windows(data):
    assert keys(data() if callable(data) else data) == sorted(INSIDE)


def test_queries_have_windows():
    source = Request(None, "key", sql="SELECT * FROM 'rows.parquet'", **ASKED).open()
    assert sorted(key for batch in source.batches() for key in batch.keys.to_pylist()) == sorted(INSIDE)


def test_one_column_of_keys_has_no_times():
    with pytest.raises(hc.errors.ParameterError) as refused:
        Request(pa.array(KEYS), "key", **ASKED).open()
    assert str(refused.value) == "time must name a column, but the data are one column of keys."


def test_the_columns_are_those_of_the_keys():
    source = Request("rows.parquet", ["key", "who"], **ASKED).open()
    assert source.columns.names == ("key", "who")
    assert source.decode(next(source.batches()).keys).column_names == ["key", "who"]
    assert source.notes[-1] == (
        "Only rows of the window 2026-11-15T00:00:00Z/2026-11-16T00:00:00Z are counted, by when."
    )


def test_a_window_has_a_fingerprint_of_its_own():
    prints = [
        Request("rows.csv", "key", window=window, time="when").open().fingerprint
        for window in ("2026-11-15", "2026-11-16", "2026-11-15")
    ]
    assert prints[0] == prints[2] != prints[1]
    assert prints[0] != Request("rows.csv", "key").open().fingerprint


def test_users_in_a_window():
    release = hc.top(
        "rows.csv", column="key", user="who", max_keys=2, epsilon=5.0, delta=1e-3, exact=True, **ASKED
    )
    assert any("2026-11-15T00:00:00Z" in note for note in release.notes)


def test_no_row_outside_is_kept_whatever_the_zone():
    assert len(keys("rows.parquet", time_zone="Asia/Tokyo")) == 24
    assert keys("rows.parquet", time_zone="Asia/Tokyo") == sorted(INSIDE)
