"""The bundled data: made by its script, small, and published as it should be."""

import os
import sys
from collections import Counter
from pathlib import Path

from pyarrow import parquet

import hushcount as hc

EXAMPLES = Path(__file__).parents[2] / "examples"
FILE = EXAMPLES / "searches.parquet"


def test_the_script_of_visits_makes_the_file(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import make_visits

    assert make_visits.visits().equals(parquet.read_table(EXAMPLES / "visits.parquet"))
    assert os.path.getsize(EXAMPLES / "visits.parquet") < 500_000
    del sys.modules["make_visits"]


def test_pages_that_one_user_visits_are_not_published():
    options = {"column": "page", "user": "user", "max_keys": 4, "epsilon": 1.0, "delta": 1e-8}
    rows = hc.top(EXAMPLES / "visits.parquet", **options).table.to_pylist()
    assert len(rows) > 30
    assert not any("/fines/" in row["key"] for row in rows)


def test_the_script_makes_the_file(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import make_searches

    assert make_searches.searches().equals(parquet.read_table(FILE))
    assert os.path.getsize(FILE) < 2_000_000
    del sys.modules["make_searches"]


def test_what_is_published():
    truth = Counter(parquet.read_table(FILE)["query"].to_pylist())
    release = hc.top(FILE, column="query", epsilon=1.0, delta=1e-8)
    rows = release.table.to_pylist()
    assert len(rows) > 300
    # the noise of one key exceeds 45 with probability e^-45
    assert all(abs(row["count"] - truth[row["key"]]) < 45 for row in rows)
    assert [row["key"] for row in rows[:3]] == ["weather tomorrow", "opening hours", "bus timetable"]
    assert not any(row["key"][-7:].isdigit() for row in rows)
