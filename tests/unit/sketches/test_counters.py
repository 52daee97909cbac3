"""SpaceSaving and Misra-Gries: what they promise, and the parameters they refuse."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.property.streams import order_in

import hushcount
from hushcount.errors import DataError, ParameterError, SketchFileError
from hushcount.files import container
from hushcount.sketches._kernels import arrays as words
from hushcount.sketches.counters import LARGEST_COUNTERS, MisraGries, SpaceSaving
from hushcount.sketches.kinds import load
from hushcount.sketches.table import LARGEST_TOTAL


def test_the_most_recently_updated_smallest_key_gives_way() -> None:
    sketch = SpaceSaving(3)
    sketch.update(["a", "b", "c"])
    sketch.update(["d"])
    assert sketch.estimate(["a", "b", "c", "d"]).tolist() == [1, 1, 0, 2]
    sketch.update(["a", "e"])
    assert sketch.estimate(["a", "b", "d", "e"]).tolist() == [2, 0, 2, 2]
    assert sketch.shape().keys.to_pylist() == ["d", "a"]


def test_a_sketch_that_is_not_full_is_exact_and_leaves_nobody_out() -> None:
    sketch = SpaceSaving(4)
    sketch.update([7, 7, 8, 9])
    shape = sketch.shape()
    assert (shape.floor, shape.candidates, shape.parts) == (0, 3, 4)
    assert dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True)) == {7: 2, 8: 1, 9: 1}
    sketch.update([10])
    assert sketch.shape().floor == 1
    assert sketch.shape().keys.to_pylist() == [7, 8, 9]


def test_an_empty_sketch_answers() -> None:
    sketch = SpaceSaving(2)
    shape = sketch.shape()
    assert (len(shape.keys), len(shape.counts), shape.floor) == (0, 0, 0)
    assert (sketch.total, sketch.error_bound, sketch.key_type) == (0, 0, None)


def test_bounds_hold_on_a_large_stream() -> None:
    rng = np.random.default_rng(1)
    stream = rng.zipf(1.2, 400_000) % (1 << 20)
    sketch = SpaceSaving(1000)
    sketch.update(stream)
    keys, truth = np.unique(stream, return_counts=True)
    counts = sketch.estimate(keys)
    tracked = counts > 0
    assert tracked.sum() == 1000
    assert (counts[tracked] >= truth[tracked]).all()
    assert (counts[tracked] - sketch.error_bound <= truth[tracked]).all()
    assert (truth[~tracked] <= sketch.error_bound).all()
    assert 0 < sketch.error_bound <= len(stream) / 1000
    assert counts.sum() == sketch.total == len(stream)


def test_two_sketches_hash_differently_and_agree() -> None:
    stream = np.random.default_rng(2).integers(0, 500, 5000)
    one, other = SpaceSaving(60), SpaceSaving(60)
    one.update(stream)
    other.update(stream)
    assert one.id != other.id
    hash_keys = [sketch._table._arrays.state[[words.KEY, words.ODD]].tolist() for sketch in (one, other)]
    assert hash_keys[0] != hash_keys[1]
    assert one.shape().keys.equals(other.shape().keys)
    assert one.shape().counts.tolist() == other.shape().counts.tolist()


def test_a_sketch_of_two_counters_for_keys_of_any_order() -> None:
    sketch = SpaceSaving(2)
    sketch.update(np.arange(10_000))
    assert sketch.error_bound == 5000
    assert sorted(sketch.entries().counts.tolist()) == [5000, 5000]


def test_the_total_has_an_end() -> None:
    sketch = SpaceSaving(2)
    sketch.update([1])
    sketch.counted(LARGEST_TOTAL - 2)
    sketch.update([1])
    with pytest.raises(DataError) as error:
        sketch.update([1])
    assert str(error.value) == f"A sketch counts at most {LARGEST_TOTAL} events; start another."


def test_keys_beyond_16_megabytes_are_refused() -> None:
    sketch = SpaceSaving(2)
    sketch.update([b"x" * ((1 << 24) - 1)])
    with pytest.raises(DataError) as error:
        sketch.update([b"x" * (1 << 24)])
    assert str(error.value) == "A key is longer than 16777215 bytes; shorten or hash such keys first."
    assert sketch.total == 1


@pytest.mark.parametrize(
    ("counters", "sentence"),
    [
        (1, "counters must be at least 2, got 1."),
        (0, "counters must be at least 2, got 0."),
        (-5, "counters must be at least 2, got -5."),
        (True, "counters must be a whole number, got True."),
        (2.5, "counters must be a whole number, got 2.5."),
        (float("nan"), "counters must be a whole number, got nan."),
        ("8", "counters must be a whole number, got '8'."),
        (LARGEST_COUNTERS + 1, f"counters must be at most {LARGEST_COUNTERS}, got {LARGEST_COUNTERS + 1}."),
    ],
)
@pytest.mark.parametrize("kind", [hushcount.SpaceSaving, hushcount.MisraGries])
def test_counters_are_checked(kind: Any, counters: Any, sentence: str) -> None:
    with pytest.raises(ParameterError) as error:
        kind(counters)
    assert str(error.value) == sentence


def reserved(sketch: SpaceSaving) -> int:
    """The memory of a table, with the second arena that there is while keys are moved."""
    arrays = sketch._table._arrays
    return sum(int(array.nbytes) for array in arrays) + int(arrays.arena.nbytes)


@pytest.mark.parametrize(("counters", "longest"), [(2, 1), (10, 5000), (300, 17), (300, 200), (3000, 64)])
def test_memory_is_bounded_by_counters_and_the_longest_key(counters: int, longest: int) -> None:
    """New keys all the time, of lengths that grow, shrink and alternate, so that no room fits again."""
    rng = np.random.default_rng(counters)
    sketch = SpaceSaving(counters)
    bound = SpaceSaving.memory_bound(counters, longest)
    largest = 0
    for turn in range(40):
        sizes = rng.integers(1 + (turn % 5) * longest // 8, longest + 1, 400)
        sizes[::7] = longest
        sketch.update([rng.bytes(size) for size in sizes])
        largest = max(largest, reserved(sketch))
        assert largest <= bound
    assert bound < 3 * largest + (1 << 16), "the bound says something"


def test_memory_of_numbers_is_bounded_by_counters() -> None:
    sketch = SpaceSaving(5000)
    sketch.update(np.arange(100_000))
    assert reserved(sketch) <= SpaceSaving.memory_bound(5000) < 2 * reserved(sketch)


def test_a_small_file_cannot_ask_for_much_memory() -> None:
    """131 KB of keys and a header that asks for 4,194,304 counters took 1.1 GB."""
    sketch = SpaceSaving(8000)
    sketch.update([f"key{index}" for index in range(5000)])
    said = sketch.contents()
    asked = container.encode(replace(said, fields={**said.fields, "counters": LARGEST_COUNTERS}))
    assert len(asked) < 200_000
    tracemalloc.start()
    with pytest.raises(SketchFileError) as refused:
        hushcount.load(asked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(refused.value) == (
        "The sketch asks for 0.9 GB of memory but holds few keys, so it was not opened; count the data again"
        " with fewer counters."
    )
    assert peak < 5_000_000
    large = SpaceSaving(1_000_000)
    large.update(["tea"])
    assert hushcount.load(large.to_bytes()).counters == 1_000_000


def test_counters_that_do_not_add_up_are_not_released() -> None:
    sketch = SpaceSaving(8)
    sketch.update(["tea", "milk", "tea"])
    sketch.counted(1)
    text = (
        "The counters of this sketch do not add up to the number of events, so it cannot be used; count the"
        " data again with a new one."
    )
    for act in (sketch.shape, sketch.to_bytes, lambda: hushcount.release(sketch, epsilon=1.0, delta=1e-6)):
        with pytest.raises(DataError) as refused:
            act()
        assert str(refused.value) == text


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


def test_bounds_of_misra_gries_hold_on_a_large_stream() -> None:
    stream = np.random.default_rng(1).zipf(1.2, 400_000) % (1 << 20)
    sketch = MisraGries(1000)
    sketch.update(stream)
    keys, truth = np.unique(stream, return_counts=True)
    heights = sketch.estimate(keys)
    assert (heights <= truth).all()
    assert (truth <= heights + sketch.error_bound).all()
    assert heights.sum() + sketch.error_bound * 1001 == sketch.total == len(stream)
    assert 0 < sketch.error_bound <= len(stream) / 1001


def test_an_empty_sketch_of_misra_gries_answers() -> None:
    sketch = MisraGries(2)
    assert (sketch.total, sketch.error_bound, sketch.key_type) == (0, 0, None)
    assert sketch.estimate(["a"]).tolist() == [0]
    assert len(sketch.shape().keys) == 0
