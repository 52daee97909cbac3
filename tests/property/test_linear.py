"""Linear sketches on random streams: sums by hand, any order, any cut, deletions, merging."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.errors import DataError
from hushcount.sketches.kinds import load
from hushcount.sketches.linear import CountMin, CountSketch

SEEDED = settings(max_examples=120, deadline=None, derandomize=True, database=None)
KEYS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8),
    st.lists(st.text(max_size=20), min_size=1, max_size=8),
    st.lists(st.binary(max_size=20), min_size=1, max_size=8),
)
EVENTS = st.lists(st.tuples(st.integers(0, 7), st.integers(-3, 3)), max_size=40)


def streams(keys: list[Any], events: list[tuple[int, int]]) -> tuple[list[Any], list[int]]:
    return [keys[index % len(keys)] for index, _ in events], [weight for _, weight in events]


def counts(keys: list[Any], weights: list[int]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for key, weight in zip(keys, weights, strict=True):
        found[key] = found.get(key, 0) + weight
    return found


@pytest.mark.parametrize("kind", [CountMin, CountSketch])
@SEEDED
@given(keys=KEYS, events=EVENTS, cut=st.integers(0, 40), data=st.randoms(use_true_random=False))
def test_parts_in_any_order_are_the_whole(kind: Any, keys: Any, events: Any, cut: int, data: Any) -> None:
    stream, weights = streams(keys, events)
    whole = kind(depth=3, width=8, seed=1, partial=True)
    whole.update(stream, weights=weights)
    pairs = list(zip(stream, weights, strict=True))
    data.shuffle(pairs)
    left, right = (kind(depth=3, width=8, seed=1, partial=True) for _ in range(2))
    for key, weight in pairs[:cut]:
        left.add(key, weight)
    right.update([key for key, _ in pairs[cut:]], weights=[weight for _, weight in pairs[cut:]])
    assert left.merge(right).to_bytes() == right.merge(left).to_bytes() == whole.to_bytes()
    assert load(whole.to_bytes()).to_bytes() == whole.to_bytes()
    whole.update(stream, weights=[-weight for weight in weights])
    assert whole.to_bytes() == kind(depth=3, width=8, seed=1, partial=True).to_bytes()


@SEEDED
@given(keys=KEYS, events=EVENTS)
def test_count_min_never_estimates_below_the_truth(keys: Any, events: Any) -> None:
    stream, weights = streams(keys, events)
    sketch = CountMin(depth=2, width=4, seed=3)
    try:
        sketch.update(stream, weights=weights)
    except DataError:
        assert min(counts(stream, weights).values()) < 0
        assert sketch.to_bytes() == CountMin(depth=2, width=4, seed=3).to_bytes()
        return
    truth = counts(stream, weights)
    if truth:
        found = sketch.estimate(list(truth))
        if min(truth.values()) >= 0:
            assert all(value >= true for value, true in zip(found, truth.values(), strict=True))
            assert (found <= sketch.total).all()


@pytest.mark.parametrize("kind", [CountMin, CountSketch])
def test_wide_sketches_are_exact(kind: Any) -> None:
    rng = np.random.default_rng(5)
    for seed in range(10):
        sketch = kind(depth=5, width=1 << 14, seed=seed)
        keys = rng.integers(-(2**62), 2**62, 50)
        weights = rng.integers(1, 1000, 50)
        sketch.update(keys, weights=weights)
        assert (sketch.estimate(keys) == weights).all()
