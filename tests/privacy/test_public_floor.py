"""Counts above a public floor, over all short streams: removing one event moves one key by at most one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.reference import candidates, space_saving

from hushcount.errors import ParameterError
from hushcount.mechanisms.histograms.truncated_geometric import above_floor, public_floor
from hushcount.shapes import FloorCounters


def summary(stream: tuple[str, ...], counters: int) -> FloorCounters:
    counts, floor, next_evicted = space_saving(stream, counters)
    kept = candidates(counts, next_evicted)
    keys = pa.array(list(kept), pa.string())
    return FloorCounters(keys, np.array(list(kept.values()), dtype=np.int64), floor, counters, counters)


def heights(stream: tuple[str, ...], counters: int, max_events: int) -> dict[str, int]:
    shape = above_floor(summary(stream, counters), max_events)
    return dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))


def distance(one: dict[str, int], other: dict[str, int]) -> int:
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other})


@pytest.mark.parametrize(("counters", "alphabet", "length"), [(2, "abc", 7), (3, "abcd", 6), (4, "abcde", 5)])
def test_removing_one_event_moves_one_key_by_at_most_one(counters, alphabet, length):
    moved = 0
    for stream in product(alphabet, repeat=length):
        whole = heights(stream, counters, length)
        for place in range(length):
            less = heights(stream[:place] + stream[place + 1 :], counters, length)
            assert distance(whole, less) <= 1
            moved += distance(whole, less)
    assert moved > 0


def test_a_floor_below_the_public_one_moves_more():
    """The twin: the sketch's own floor instead of the public one."""
    worst = 0
    for stream in product("abcd", repeat=6):
        for place in range(6):
            less = stream[:place] + stream[place + 1 :]
            shapes = [summary(s, 3) for s in (stream, less)]
            own = [
                {key: int(c) - s.floor for key, c in zip(s.keys.to_pylist(), s.counts, strict=True)}
                for s in shapes
            ]
            worst = max(worst, distance(*own))
    assert worst > 1


def test_a_floor_that_is_too_low_is_refused():
    shape = summary(("a", "a", "b"), 2)
    with pytest.raises(ParameterError) as error:
        above_floor(shape, 10, floor=5)
    assert str(error.value) == "floor must be at least max_events // counters + 1 = 6 to be public, got 5."
    assert above_floor(shape, 10, floor=6).counts.tolist() == []
    assert public_floor(10, 2) == 6
