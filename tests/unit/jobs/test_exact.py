"""Exact counts on disk: the right ones, in bounded memory, and one user changes what the proof says."""

from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.jobs.exact import CountsOnDisk
from hushcount.privacy import USER
from hushcount.sources.duckdb import bounding
from hushcount.sources.duckdb.bounding import DistinctPairs
from hushcount.sources.open import open_source
from hushcount.sources.wrapped import BoundedSource

KEY = b"0123456789abcdef"
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def counts_of(table, max_keys=None):
    """What is counted, without any noise."""
    source = open_source(table, column="key", user=None if max_keys is None else "user", ordered=False)
    if max_keys is not None:
        source = BoundedSource(source, DistinctPairs(max_keys), ordered=False)
    sketch = CountsOnDisk()
    sketch.read(source, None)
    found = {}
    for keys, counts in sketch.shape().blocks:
        for key, count in zip(keys.to_pylist(), counts.tolist(), strict=True):
            assert key not in found
            found[key] = count
    return found


def random_table(seed):
    """Repeated keys, nulls, and two users with thousands of keys."""
    generator = np.random.default_rng(seed)
    users = generator.integers(0, 60, 2000).tolist() + [7] * 3000 + [61] * 3000
    keys = generator.zipf(1.3, 2000).tolist() + generator.integers(0, 4000, 6000).tolist()
    lost = generator.random(8000)
    users = [None if chance < 0.01 else user for user, chance in zip(users, lost, strict=True)]
    keys = [None if chance > 0.99 else f"k{key}" for key, chance in zip(keys, lost, strict=True)]
    order = generator.permutation(8000)
    return pa.table({"user": pa.array(users, pa.int64()), "key": keys}).take(order)


@pytest.mark.parametrize("max_keys", [1, 3, 50, 10_000])
@pytest.mark.parametrize("seed", [1, 2])
def test_one_user_changes_at_most_max_keys_counts_by_one(seed, max_keys, monkeypatch):
    monkeypatch.setattr(bounding, "fresh_key", lambda: KEY)
    table = random_table(seed)
    whole = counts_of(table, max_keys)
    for user in (7, 61, 3, 30, 59):
        others = table.filter(pa.compute.fill_null(pa.compute.not_equal(table["user"], user), True))
        fewer = counts_of(others, max_keys)
        held = {row["key"] for row in table.to_pylist() if row["user"] == user} - {None}
        moved = {key: whole[key] - fewer.get(key, 0) for key in whole if whole[key] != fewer.get(key, 0)}
        assert set(fewer) <= set(whole)
        assert set(moved.values()) <= {1}
        assert len(moved) == min(len(held), max_keys)
        assert set(moved) <= held


def test_a_cut_by_arrival_moves_counts_of_others():
    """The twin: the first rows of a file, not of a user; without one user, others move up."""
    rows = [("a", 1), ("b", 2), ("c", 3)]
    kept = [Counter(key for key, user in some[:2]) for some in (rows, rows[1:])]
    assert {key: kept[0][key] - kept[1][key] for key in "abc"} == {"a": 1, "b": 0, "c": -1}


@pytest.mark.parametrize("keys", [["b", "a", "b", None], [3, 1, 3], [True, False, True], [b"\xff", b"a"]])
def test_events_are_counted_exactly(keys):
    expected = Counter(key for key in keys if key is not None)
    assert counts_of(pa.table({"key": keys})) == expected


def test_more_keys_than_memory(monkeypatch):
    """Two million different keys in 64 MB: DuckDB goes to disk, and every key is there once."""
    from hushcount.sources.duckdb import counted

    small = partial(counted.counted_keys, memory="64MB")
    monkeypatch.setattr("hushcount.jobs.exact.counted_keys", small)
    names = pa.array(np.arange(2_000_000)).cast(pa.string())
    sketch = CountsOnDisk()
    table = pa.table({"key": pa.chunked_array([names, names.slice(0, 10)])})
    sketch.read(open_source(table, column="key"), None)
    counts = np.concatenate([counts for _, counts in sketch.shape().blocks])
    assert (len(counts), counts.sum(), (counts == 2).sum()) == (2_000_000, 2_000_010, 10)
    assert sketch.total == 2_000_010


def test_no_rows_are_no_keys():
    assert counts_of(pa.table({"key": pa.array([], pa.string())})) == {}
    release = hc.top(pa.table({"key": pa.array([], pa.string())}), column="key", exact=True, **BUDGET)
    assert len(release) == 0


def test_rows_are_not_given_by_hand():
    with pytest.raises(ParameterError) as refused:
        CountsOnDisk().update(pa.array([1]))
    assert str(refused.value) == "rows are read from their source, not one batch after the other."


def test_exact_events_publish_what_the_histogram_in_memory_would():
    keys = pa.table({"key": ["tea"] * 5000 + ["milk"] * 300 + ["salt"] * 2})
    release = hc.top(keys, column="key", exact=True, confidence=1 - 1e-9, **BUDGET)
    assert release.guarantee.mechanism == "truncated geometric"
    assert release.guarantee.unit.name == "event"
    rows = {row["key"]: row for row in release.table.to_pylist()}
    assert set(rows) == {"tea", "milk"}
    assert rows["tea"]["lower"] <= 5000 <= rows["tea"]["upper"]
    gaussian = hc.top(keys, column="key", exact=True, mechanism="gaussian", **BUDGET)
    assert gaussian.guarantee.mechanism == "Gaussian sparse histogram"


def test_a_minimum_of_users_hides_keys_below_it_whatever_the_noise():
    users = np.concatenate([np.arange(99), np.arange(100), np.arange(400)])
    table = pa.table({"key": ["below"] * 99 + ["at"] * 100 + ["above"] * 400, "user": users})
    asked = {"column": "key", "user": "user", "max_keys": 3, "min_users": 100, "epsilon": 8.0, "delta": 1e-3}
    for mechanism in ("truncated-geometric", "gaussian"):
        found = [hc.top(table, mechanism=mechanism, **asked) for _ in range(5)]
        assert all("below" not in release.keys["key"].to_pylist() for release in found)
        assert all("above" in release.keys["key"].to_pylist() for release in found)
        release = found[0].at_confidence(1 - 1e-9)
        row = next(row for row in release.table.to_pylist() if row["key"] == "above")
        assert row["lower"] <= 400 <= row["upper"]
        assert release.guarantee.parameters["min_users"] == 100
        said = "A key that fewer than 100 users kept is never published, whatever the noise (min_users)."
        assert said in release.notes
        assert not any(note.startswith("Not taken") for note in release.notes)  # refused with min_users
        assert release.guarantee.unit == USER
        assert release.smallest_reliable() > 100
