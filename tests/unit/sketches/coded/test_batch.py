"""Rows that share text behind a dictionary: the same state as row by row, whatever is in the batches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import DataError, KeyTypeError
from hushcount.sketches import table as tables
from hushcount.sketches._kernels.codes import line_up_codes
from hushcount.sketches.coded import batch as coded

SKETCHES = [hc.SpaceSaving, hc.MisraGries]
RNG = np.random.default_rng(6)


def pages(rows, keys, size):
    """Text with a dictionary of its own for each batch, in which some texts are listed twice."""
    for _ in range(0, rows, size):
        drawn = RNG.zipf(1.3, size) % keys
        values = [f"key {key}" * (1 + key % 3) for key in range(keys)]
        twice = np.where(RNG.random(size) < 0.2, drawn + keys, drawn)
        yield pa.DictionaryArray.from_arrays(pa.array(twice, pa.int32()), pa.array([*values, *values]))


def state(sketch):
    """Everything that decides what comes next, without hash keys and the layout."""
    entries = sketch.entries()
    keys = sketch.key_array(entries).to_pylist()
    counts = dict(zip(keys, entries.counts.tolist(), strict=True))
    order = keys if isinstance(sketch, hc.SpaceSaving) else sorted(keys)
    return order, counts, sketch.error_bound, sketch.total


def both(kind, counters):
    """Two sketches of one hash key, which decides the order in Misra-Gries."""
    one = kind(counters)
    return one, hc.load(one.to_bytes())


def ways_taken(monkeypatch):
    """A list to which each batch adds how it is counted."""
    ways = []
    for name, way in (("reserve", "by key"), ("count_codes", "by row")):
        method = getattr(tables.CounterTable, name)

        def noted(*args, method=method, way=way):
            ways.append(way)
            return method(*args)

        monkeypatch.setattr(tables.CounterTable, name, noted)
    return ways


@pytest.mark.parametrize("counters", [40, 300, 699, 700, 2000])
@pytest.mark.parametrize("kind", SKETCHES)
def test_batches_by_code_are_rows_in_their_order(kind, counters, monkeypatch):
    ways = ways_taken(monkeypatch)
    one, other = both(kind, counters)
    for page in pages(60_000, 700, 3000):
        one.update(page)
        other.update(page.dictionary_decode())
        assert state(one) == state(other)
    assert ("by key" in ways) == (counters > 300)
    assert ("by row" in ways) == (counters < 2000)


@pytest.mark.parametrize("kind", SKETCHES)
def test_the_condition_holds_with_equality_and_not_beyond(kind, monkeypatch):
    monkeypatch.setattr(coded, "FEWEST", 1)
    for keys, way in ((2, "by key"), (3, "by row")):
        ways = ways_taken(monkeypatch)
        sketch = kind(4)
        sketch.update(["x", "y", "x", "y", "x"])  # more rows than counters: no dictionary counts them
        batch = pa.array([*"abc"[:keys]] * 2).dictionary_encode()
        alone = hc.load(sketch.to_bytes())
        sketch.update(batch)
        alone.update(batch.dictionary_decode())
        assert ways == [way]
        assert state(sketch) == state(alone)


def test_codes_are_lined_up_by_their_last_rows():
    order, times = line_up_codes(np.array([3, 0, 3, 2, 0, 3], np.int32), 5)
    assert (order.tolist(), times.tolist()) == ([2, 0, 3], [1, 2, 3])


def test_times_that_restart_the_clock():
    one, other = both(hc.SpaceSaving, 50)
    page = pa.DictionaryArray.from_arrays(
        pa.array(RNG.integers(0, 60, 1 << 20), pa.int32()), pa.array(map(str, range(60)))
    )
    for _ in range(18):  # more than 2^24 rows
        one.update(page)
        other.update(page.dictionary_decode())
    assert state(one) == state(other)


@pytest.mark.parametrize("kind", SKETCHES)
def test_rows_without_a_key_and_other_types(kind):
    sketch = kind(8)
    sketch.update(pa.array(["a", None, "b", "a"]).dictionary_encode())
    sketch.update(pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None])))
    assert sketch.estimate(["a", "b"]).tolist() == [4, 1]
    with pytest.raises(KeyTypeError):
        sketch.update(pa.array([1, 2]).dictionary_encode())
    numbers = kind(8)
    numbers.update(pa.array([1, 2, 1]).dictionary_encode())
    assert numbers.estimate([1]).tolist() == [2]


def test_codes_out_of_range_are_refused():
    bad = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), pa.array(["a"]), safe=False)
    with pytest.raises(DataError):
        hc.SpaceSaving(8).update(bad)


@pytest.mark.parametrize("kind", ["int8", "int64", "uint32"])
def test_codes_of_every_width(kind):
    sketch = hc.SpaceSaving(8)
    codes = pa.array([0, 1, 1] * 200).cast(pa.type_for_alias(kind))
    sketch.update(pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"])))
    assert sketch.estimate(["a", "b"]).tolist() == [200, 400]
