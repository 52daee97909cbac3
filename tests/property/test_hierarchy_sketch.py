"""A hierarchy sketch equals one SpaceSaving sketch a level, and the slow oracle, however the keys are cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference
from tests.property.streams import batches, check_invariants, numbers, table_of

from hushcount.hierarchies.base import good_leaves
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.sketches._kernels.levels import BLOCK_OF_LEAVES
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.kinds import load
from hushcount.sketches.levels import HierarchySketch

SEEDED = settings(max_examples=60, deadline=None, derandomize=True, database=None)
Stream = list[str]


def addresses(values: np.ndarray[Any, Any]) -> Stream:
    """Addresses that share prefixes of every length."""
    words = [
        (value * 0x9E3779B1 if value % 3 else value << (value % 29)) % 2**32 for value in values.tolist()
    ]
    return [".".join(map(str, word.to_bytes(4, "big"))) for word in words]


def names(values: np.ndarray[Any, Any]) -> Stream:
    tops = ("com", "org", "museum")
    return [f"h{v % 5}.{'x' * (v % 40)}{v // 5 % 7}.{tops[v % 3]}"[3 * (v % 2) :] for v in values.tolist()]


def mixed_addresses(values: np.ndarray[Any, Any]) -> Stream:
    pairs = zip(values.tolist(), addresses(values), long_addresses(values), strict=True)
    return [(four, six, f"::ffff:{four}")[value % 3] for value, four, six in pairs]


def long_addresses(values: np.ndarray[Any, Any]) -> Stream:
    return [f"2001:db8:{v % 7:x}:{v % 31:x}::{v % 257:x}" for v in values.tolist()]


KINDS: dict[str, tuple[Any, Callable[[Any], Stream]]] = {
    "ipv4/8": ("ipv4/8", addresses),
    "ipv4/1": ("ipv4/1", addresses),
    "ipv6/16": ("ipv6/16", long_addresses),
    "ip/8": ("ip/8", mixed_addresses),
    "ip/1": ("ip/1", mixed_addresses),
    "domain/3": ("domain/3", names),
    "path/2": ("path/2", lambda values: [name.replace(".", "/") for name in names(values)]),
}


def separate(hierarchy: Any, counters: int, keys: Stream) -> list[SpaceSaving]:
    """One sketch for each level below the root, fed with the nodes of all keys at once."""
    leaves = good_leaves(hierarchy, pa.array(keys, pa.string()))
    sketches = []
    for level in range(1, hierarchy.height + 1):
        sketches.append(SpaceSaving(counters))
        if len(leaves):
            sketches[-1].update(hierarchy.nodes(leaves, level))
    return sketches


def assert_equal_levels(sketch: HierarchySketch, keys: Stream) -> None:
    shape = sketch.shape()
    for level, one in zip(shape.levels, separate(sketch.hierarchy, sketch.counters, keys), strict=True):
        other = one.shape()
        assert level.keys.to_pylist() == other.keys.to_pylist()  # in the order of their last updates too
        assert level.counts.tolist() == other.counts.tolist()
        assert (level.floor, level.candidates, level.parts) == (other.floor, other.candidates, other.parts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_every_level_is_a_space_saving_sketch_of_its_nodes(seed: int, kind: str) -> None:
    name, keys_of = KINDS[kind]
    rng = np.random.default_rng([seed, len(kind)])
    for _ in range(12):
        keys = keys_of(numbers(rng, int(rng.integers(0, 500)), int(rng.choice([5, 60, 400]))))
        sketch = HierarchySketch(name, int(rng.choice([2, 3, 9, 50, 300])))
        for start, stop in batches(rng, len(keys)):
            if rng.integers(4) == 0:
                for key in keys[start:stop]:
                    sketch.add(key)
            else:
                sketch.update(keys[start:stop])
        assert_equal_levels(sketch, keys)
        assert sketch.total == len(keys)
        if keys:
            for level in sketch._levels:
                check_invariants(table_of(level))


@pytest.mark.parametrize("kind", ["ipv4/8", "domain/3"])
def test_all_ways_to_cut_a_stream_in_two(kind: str) -> None:
    name, keys_of = KINDS[kind]
    keys = keys_of(np.random.default_rng(3).zipf(1.4, 40) % 50)
    for cut in range(len(keys) + 1):
        sketch = HierarchySketch(name, 4)
        sketch.update(keys[:cut])
        sketch.update(keys[cut:])
        assert_equal_levels(sketch, keys)


@pytest.mark.parametrize("kind", ["ipv4/1", "domain/3"])
def test_streams_longer_than_a_block(kind: str) -> None:
    name, keys_of = KINDS[kind]
    keys = keys_of(np.random.default_rng(4).zipf(1.2, 2 * BLOCK_OF_LEAVES + 77) % 5000)
    sketch = HierarchySketch(name, 64)
    sketch.update(keys[:9])
    sketch.update(keys[9:])
    assert_equal_levels(sketch, keys)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sketch_saved_at_any_point_continues_as_if_nothing_had_happened(kind: str) -> None:
    name, keys_of = KINDS[kind]
    rng = np.random.default_rng(5)
    for cut in (0, 1, 30, 299, 300):
        keys = keys_of(numbers(rng, 300, 60))
        straight = HierarchySketch(name, 7)
        straight.update(keys[:cut])
        continued = load(straight.to_bytes())
        straight.update(keys[cut:])
        continued.update(keys[cut:])
        assert continued.to_bytes() == straight.to_bytes()
        assert_equal_levels(continued, keys)


@SEEDED
@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 9), max_size=60), st.integers(2, 6))
def test_levels_equal_the_slow_oracle(values: list[int], counters: int) -> None:
    hierarchy = parse_hierarchy("ipv4/4")
    sketch = HierarchySketch(hierarchy, counters)
    sketch.update(np.array(values, np.int64))
    for level, shape in enumerate(sketch.shape().levels, start=1):
        bits = 32 - 4 * level
        counts, floor, next_evicted = reference.space_saving([v >> bits << bits for v in values], counters)
        kept = reference.candidates(counts, next_evicted)
        assert dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True)) == kept
        assert shape.floor == floor == sketch.error_bounds[level]
