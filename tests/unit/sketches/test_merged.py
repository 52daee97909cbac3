"""Merged counters: the oracle, error bounds, bytes, and what is refused."""

from __future__ import annotations

import pickle
import random

import pyarrow as pa
import pytest
from tests import reference

import hushcount as hc
from hushcount.errors import KeyTypeError, NotProvedError, ParameterError, SketchFileError
from hushcount.privacy import EVENT, USER
from hushcount.shapes import ManyKeys
from hushcount.sketches.merged import MergedCounters


def held(sketch):
    shape = sketch.shape()
    return dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))


def sketch_of(kind, keys, counters=4):
    sketch = kind(counters=counters)
    sketch.update(keys)
    return sketch


def heights(stream, counters):
    counts, floor, next_evicted = reference.space_saving(stream, counters)
    kept = reference.candidates(counts, next_evicted)
    return {key: count - floor for key, count in kept.items() if count > floor}


@pytest.mark.parametrize("text", [False, True])
def test_merging_equals_the_oracle(text):
    draw = random.Random(3)
    for _ in range(40):
        streams = [[int(draw.paretovariate(0.7)) % 30 for _ in range(draw.randrange(80))] for _ in range(3)]
        if text:
            streams = [[f"k{key}" for key in stream] for stream in streams]
        one, two, three = (sketch_of(hc.SpaceSaving, stream, 6) for stream in streams)
        merged = one.merge(two).merge(three)
        expected = reference.merged(heights(streams[0], 6), heights(streams[1], 6), 5)
        expected = reference.merged(expected, heights(streams[2], 6), 5)
        assert held(merged) == expected
        everything = [key for stream in streams for key in stream]
        assert merged.total == len(everything)
        assert merged.error_bound <= merged.total // 6
        for key, count in reference.exact(everything).items():
            assert count - merged.error_bound <= merged.estimate([key])[0] <= count


def test_the_shape_is_that_of_many_keys():
    merged = sketch_of(hc.MisraGries, ["a", "a", "b"]).merge(sketch_of(hc.MisraGries, ["a"]))
    assert isinstance(merged, MergedCounters)
    shape = merged.shape()
    assert isinstance(shape, ManyKeys)
    assert (shape.moved, shape.candidates, shape.parts, shape.unit) == (4, 4, 5, EVENT)
    assert held(merged) == {"a": 3, "b": 1}
    assert merged.key_type == pa.string()


def test_space_saving_and_misra_gries_merge_where_they_hold_equally_many():
    merged = sketch_of(hc.SpaceSaving, [1, 1, 2], 5).merge(sketch_of(hc.MisraGries, [1, 3], 4))
    assert held(merged) == {1: 3, 2: 1, 3: 1}


def test_empty_sketches_merge():
    empty, full = hc.SpaceSaving(counters=4), sketch_of(hc.SpaceSaving, [7])
    assert held(empty.merge(full)) == {7: 1}
    assert held(empty.merge(hc.SpaceSaving(counters=4))) == {}
    assert empty.merge(hc.SpaceSaving(counters=4)).estimate([5]).tolist() == [0]


@pytest.mark.parametrize("keys", [[1, 1, 2], ["x", "y", "x"], []])
def test_bytes_bring_back_the_sketch(keys):
    merged = sketch_of(hc.SpaceSaving, keys).merge(sketch_of(hc.SpaceSaving, keys))
    again = hc.load(merged.to_bytes())
    assert isinstance(again, MergedCounters)
    assert (held(again), again.id, again.members, again.total) == (
        held(merged),
        merged.id,
        merged.members,
        merged.total,
    )
    assert held(pickle.loads(pickle.dumps(merged))) == held(merged)
    more = sketch_of(hc.SpaceSaving, keys)
    assert held(again.merge(more)) == held(merged.merge(more))


def test_forged_bytes_are_refused():
    merged = sketch_of(hc.SpaceSaving, [1, 2]).merge(sketch_of(hc.SpaceSaving, [3]))
    merged.members = merged.members[:1]
    with pytest.raises(SketchFileError, match="its contents contradict each other"):
        hc.load(merged.to_bytes())


def refused(error, one, other):
    with pytest.raises(error) as caught:
        one.merge(other)
    return str(caught.value)


def test_what_does_not_fit_is_refused():
    one = sketch_of(hc.SpaceSaving, [1])
    assert refused(ParameterError, one, sketch_of(hc.SpaceSaving, [1], 9)) == (
        "counters must be equal to merge, got 3 and 8."
    )
    assert refused(KeyTypeError, one, sketch_of(hc.SpaceSaving, ["a"])) == (
        "keys must have one type to merge, got int64 and string."
    )
    assert refused(ParameterError, one, one) == (
        "merge needs sketches of different data, got the same sketch twice."
    )
    other = sketch_of(hc.SpaceSaving, [2])
    assert refused(ParameterError, one.merge(other), other) == (
        "merge needs sketches of different data, got the same sketch twice."
    )
    users = hc.UserMisraGries(counters=3)
    assert refused(ParameterError, one, users) == (
        "sketches must count the same unit to merge, got event and user."
    )
    assert refused(NotProvedError, one, hc.Exact()) == (
        "merge is proved for SpaceSaving, MisraGries, UserMisraGries and what they merge to, got Exact."
    )
    assert refused(NotProvedError, one, 5) == (
        "merge is proved for SpaceSaving, MisraGries, UserMisraGries and what they merge to, got int."
    )


def test_user_sketches_merge_to_users():
    one, other = hc.UserMisraGries(counters=3), hc.UserMisraGries(counters=3)
    one.update(["a", "b"], users=[1, 1])
    other.update(["a", "a"], users=[2, 3])
    merged = one.merge(other)
    assert held(merged) == {"a": 3, "b": 1}
    assert merged.shape().unit == USER
    assert hc.load(merged.to_bytes()).shape().unit == USER


@pytest.mark.parametrize("kind", ["event", "user"])
def test_a_release_says_that_no_unit_may_be_in_two_parts(kind: str) -> None:
    parts = []
    for part in range(3):
        sketch = hc.MisraGries(counters=8) if kind == "event" else hc.UserMisraGries(counters=8)
        keys = ["tea"] * 3000
        users = [f"{part}/{row}" for row in range(3000)]
        sketch.update(keys, *([users] if kind == "user" else []))
        parts.append(sketch)
    release = hc.release(parts[0].merge(parts[1]).merge(parts[2]), epsilon=1.0, delta=1e-6)
    assert release.guarantee.assumptions[-1] == f"no {kind} is in two of the 3 merged sketches"
