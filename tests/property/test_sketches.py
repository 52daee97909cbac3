"""Sketches equal the slow oracles on random streams, however these are cut into batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference
from tests.property.streams import (
    as_bytes,
    as_integers,
    as_text,
    batches,
    check_invariants,
    numbers,
    order_in,
    table_of,
)

from hushcount.sketches._kernels import arrays as layout
from hushcount.sketches.counters import MisraGries, SpaceSaving
from hushcount.sketches.exact import Exact
from hushcount.sketches.kinds import load
from hushcount.sketches.table import CounterTable, Rule

VECTORS = json.loads(Path(__file__).parents[1].joinpath("vectors/space_saving.json").read_text())[
    "space_saving"
]
STREAMS = 200
CAST = {"integers": as_integers, "bytes": as_bytes, "text": as_text}
SEEDED = settings(max_examples=150, deadline=None, derandomize=True, database=None)


def feed(sketch: Any, keys: Sequence[Any], rng: np.random.Generator) -> None:
    """Count keys in batches cut at random, some key by key."""
    for start, stop in batches(rng, len(keys)):
        if rng.integers(4) == 0:
            for key in keys[start:stop]:
                sketch.add(key)
        else:
            sketch.update(keys[start:stop])


def table_in(shape: Any) -> dict[Any, int]:
    counts = dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))
    assert len(counts) == len(shape.counts)
    return counts


def assert_space_saving(sketch: SpaceSaving, keys: Sequence[Any]) -> None:
    counts, floor, next_evicted = reference.space_saving(keys, sketch.counters)
    shape = sketch.shape()
    assert table_in(shape) == reference.candidates(counts, next_evicted)
    assert shape.floor == sketch.error_bound == floor
    assert sketch.total == len(keys)
    assert sketch.estimate(list(counts)).tolist() == list(counts.values())
    truth = reference.exact(keys)
    assert all(counts[key] - floor <= truth[key] <= counts[key] for key in counts)
    assert all(truth[key] <= floor for key in truth if key not in counts)
    assert floor <= len(keys) / sketch.counters
    assert shape.candidates == sketch.counters - 1
    assert shape.parts == sketch.counters


def assert_misra_gries(sketch: MisraGries, keys: Sequence[Any]) -> None:
    assert sketch.total == len(keys)
    order = order_in(sketch) if keys else None
    ranks = {key: order(key) for key in set(keys)}
    heights, decrements = reference.misra_gries(keys, sketch.counters, ranks.__getitem__)
    shape = sketch.shape()
    assert table_in(shape) == {key: height + decrements for key, height in heights.items()}
    assert shape.floor == sketch.error_bound == decrements
    assert sketch.estimate(list(heights)).tolist() == list(heights.values())
    truth = reference.exact(keys)
    assert all(truth[key] - decrements <= heights.get(key, 0) <= truth[key] for key in truth)
    assert decrements <= len(keys) / (sketch.counters + 1)


@pytest.mark.parametrize("cast", CAST)
@pytest.mark.parametrize("seed", range(6))
def test_space_saving_and_misra_gries_equal_the_reference_on_random_streams(seed: int, cast: str) -> None:
    rng = np.random.default_rng([seed, len(cast)])
    for _ in range(STREAMS):
        length, counters = int(rng.integers(0, 700)), int(rng.choice([2, 3, 4, 7, 16, 40, 100, 200]))
        keys = CAST[cast](numbers(rng, length, int(rng.choice([2, 5, 20, 100, 500]))))
        space_saving, misra_gries = SpaceSaving(counters), MisraGries(counters)
        feed(space_saving, keys, rng)
        feed(misra_gries, keys, rng)
        assert_space_saving(space_saving, keys)
        assert_misra_gries(misra_gries, keys)
        for sketch in (space_saving, misra_gries):
            if keys:
                check_invariants(table_of(sketch))


@pytest.mark.parametrize("seed", range(4))
def test_exact_equals_the_reference_on_random_streams(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    for turn in range(60):
        keys = list(CAST.values())[turn % 3](numbers(rng, int(rng.integers(0, 900)), 300))
        sketch = Exact()
        feed(sketch, keys, rng)
        assert table_in(sketch.shape()) == reference.exact(keys)
        assert sketch.total == len(keys)


@pytest.mark.parametrize("seed", range(4))
def test_a_sketch_saved_at_any_point_continues_as_if_nothing_had_happened(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    for turn in range(80):
        keys = list(CAST.values())[turn % 3](numbers(rng, int(rng.integers(2, 600)), 80))
        cut, counters = int(rng.integers(1, len(keys) + 1)), int(rng.choice([2, 5, 30, 100]))
        for straight in (SpaceSaving(counters), MisraGries(counters), Exact()):
            straight.update(keys[:cut])
            continued = load(straight.to_bytes())
            straight.update(keys[cut:])
            continued.update(keys[cut:])
            assert continued.to_bytes() == straight.to_bytes()
            assert table_in(continued.shape()) == table_in(straight.shape())


@pytest.mark.parametrize("seed", range(4))
def test_space_saving_above_its_floor_is_misra_gries_with_one_counter_less(seed: int) -> None:
    rng = np.random.default_rng([13, seed])
    for _ in range(80):
        keys = as_integers(numbers(rng, int(rng.integers(0, 600)), 60))
        counters = int(rng.integers(3, 60))
        one, other = SpaceSaving(counters), MisraGries(counters - 1)
        one.update(keys)
        other.update(keys)
        above = {key: count - one.error_bound for key, count in table_in(one.shape()).items()}
        heights = {key: count - other.error_bound for key, count in table_in(other.shape()).items()}
        assert one.error_bound == other.error_bound
        assert {k: v for k, v in above.items() if v} == {k: v for k, v in heights.items() if v}


@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_the_kernel_gives_the_vectors(vector: dict[str, Any]) -> None:
    table = CounterTable(vector["counters"], Rule.SPACE_SAVING, of_bytes=False, spread=6)
    table.count(np.array(vector["stream"], np.uint64))
    entries = table.entries()
    counts = dict(zip(np.asarray(entries.keys).tolist(), entries.counts.tolist(), strict=True))
    assert {str(key): count for key, count in counts.items()} == vector["counts"]
    full = len(counts) == vector["counters"]
    assert (min(counts.values()) if full else 0) == vector["floor"]
    if vector["counters"] > 1:
        assert_vector(vector, counts)


def assert_vector(vector: dict[str, Any], counts: dict[int, int]) -> None:
    sketch = SpaceSaving(vector["counters"])
    sketch.update(vector["stream"])
    missing = set(counts) - set(sketch.shape().keys.to_pylist())
    assert sketch.error_bound == vector["floor"]
    assert missing == ({vector["next_evicted"]} if vector["next_evicted"] is not None else set())


@SEEDED
@given(st.lists(st.text(max_size=20) | st.sampled_from(["", "a", "\0", "ä"])), st.integers(2, 12))
def test_any_text(keys: list[str], counters: int) -> None:
    space_saving, misra_gries = SpaceSaving(counters), MisraGries(counters)
    space_saving.update(keys)
    misra_gries.update(keys)
    assert_space_saving(space_saving, keys)
    assert_misra_gries(misra_gries, keys)


@SEEDED
@given(st.lists(st.integers(0, 3) | st.integers(0, 2**64 - 1), min_size=1), st.integers(2, 6))
def test_any_64_bit_word_and_the_one_that_is_null_inside(values: list[int], counters: int) -> None:
    for sketch in (SpaceSaving(counters), MisraGries(counters)):
        sketch.update(np.array(values, np.uint64))
        null = int(table_of(sketch).state[layout.KEY])
        more = [null, null, *values, null, 7, 8, null, *range(9), null]
        sketch.update(np.array(more, np.uint64))
        if isinstance(sketch, SpaceSaving):
            assert_space_saving_words(sketch, values + more)
        else:
            assert sketch.estimate(np.array([null], np.uint64))[0] <= more.count(null) + values.count(null)
            assert table_in(sketch.shape()) == misra_gries_words(sketch, values + more)
        check_invariants(table_of(sketch))


def assert_space_saving_words(sketch: SpaceSaving, keys: list[int]) -> None:
    counts, floor, next_evicted = reference.space_saving(keys, sketch.counters)
    assert table_in(sketch.shape()) == reference.candidates(counts, next_evicted)
    assert sketch.error_bound == floor


def misra_gries_words(sketch: MisraGries, keys: list[int]) -> dict[int, int]:
    heights, decrements = reference.misra_gries(keys, sketch.counters, order_in(sketch))
    return {key: height + decrements for key, height in heights.items()}
