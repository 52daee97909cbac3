"""Misra-Gries: decrements, keys at zero that stay, and an order that no stream can influence."""

from __future__ import annotations

import numpy as np
from tests.property.streams import order_in

from hushcount.sketches.kinds import load
from hushcount.sketches.misra_gries import MisraGries


def test_all_counters_decrease_when_none_is_at_zero() -> None:
    sketch = MisraGries(2)
    sketch.update(["a", "a", "b", "c"])
    assert sketch.estimate(["a", "b", "c"]).tolist() == [1, 0, 0]
    assert sketch.error_bound == 1
    shape = sketch.shape()
    assert (shape.floor, shape.candidates, shape.parts) == (1, 2, 3)
    assert dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True)) == {"a": 2, "b": 1}


def test_a_key_at_zero_stays_until_its_counter_is_needed() -> None:
    sketch = MisraGries(2)
    sketch.update(["a", "b", "c"])
    assert sketch.shape().keys.to_pylist() == ["a", "b"]
    sketch.update(["a"])
    sketch.update(["d"])
    assert sorted(sketch.shape().keys.to_pylist()) == ["a", "d"]
    assert sketch.error_bound == 1


def test_keys_at_zero_give_way_in_the_order_of_the_hash() -> None:
    sketch = MisraGries(40)
    sketch.update(np.arange(40))
    sketch.update([1000])
    assert sketch.error_bound == 1
    leaving = sorted(range(40), key=order_in(sketch))
    for number in range(40):
        sketch.update([2000 + number])
        assert set(sketch.shape().keys.to_pylist()) & set(range(40)) == set(leaving[number + 1 :])


def test_the_order_is_another_for_every_sketch_and_is_kept_in_its_bytes() -> None:
    one, other = MisraGries(40), MisraGries(40)
    for sketch in (one, other):
        sketch.update(np.arange(41))
    assert sorted(range(40), key=order_in(one)) != sorted(range(40), key=order_in(other))
    again = load(one.to_bytes())
    assert sorted(range(40), key=order_in(again)) == sorted(range(40), key=order_in(one))
    for sketch in (one, again):
        sketch.update(np.arange(100, 117))
    assert again.to_bytes() == one.to_bytes()


def test_a_copy_made_before_the_first_key_has_the_same_order() -> None:
    one = MisraGries(40)
    again = load(one.to_bytes())
    for sketch in (one, again):
        sketch.update(np.arange(41))
        sketch.update(np.arange(100, 117))
    assert again.to_bytes() == one.to_bytes()


def test_bounds_hold_on_a_large_stream() -> None:
    stream = np.random.default_rng(1).zipf(1.2, 400_000) % (1 << 20)
    sketch = MisraGries(1000)
    sketch.update(stream)
    keys, truth = np.unique(stream, return_counts=True)
    heights = sketch.estimate(keys)
    assert (heights <= truth).all()
    assert (truth <= heights + sketch.error_bound).all()
    assert heights.sum() + sketch.error_bound * 1001 == sketch.total == len(stream)
    assert 0 < sketch.error_bound <= len(stream) / 1001


def test_an_empty_sketch_answers() -> None:
    sketch = MisraGries(2)
    assert (sketch.total, sketch.error_bound, sketch.key_type) == (0, 0, None)
    assert sketch.estimate(["a"]).tolist() == [0]
    assert len(sketch.shape().keys) == 0
