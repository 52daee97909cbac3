"""Keys of every type into a sketch and out again, and the types that are refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import DataError, KeyTypeError
from hushcount.sketches.counters import MisraGries, SpaceSaving
from hushcount.sketches.exact import Exact
from hushcount.sketches.kinds import load

SKETCHES: list[Callable[[], Any]] = [lambda: SpaceSaving(50), lambda: MisraGries(50), Exact]
DAY = dt.date(1969, 7, 20)
INSTANT = dt.datetime(2024, 2, 29, 12, 30, 15)
ZURICH = pa.timestamp("us", "Europe/Zurich")


def limits(kind: pa.DataType) -> list[int]:
    bits = kind.bit_width
    unsigned = pa.types.is_unsigned_integer(kind)
    return [0, 1, 2**bits - 1] if unsigned else [0, -1, 1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1]


WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
ARRAYS: list[pa.Array] = [
    *(pa.array(limits(kind), kind) for kind in WHOLE),
    pa.array([True, False]),
    pa.array([DAY, dt.date(2100, 1, 1)], pa.date32()),
    pa.array([DAY, dt.date(2100, 1, 1)], pa.date64()),
    *(pa.array([INSTANT, dt.datetime(1901, 1, 1)], pa.timestamp(unit)) for unit in ("s", "ms", "us")),
    pa.array([1, -1, 2**62], pa.timestamp("ns")),
    pa.array([0, -1, 10**15], ZURICH),
    pa.array([1, 86399], pa.time32("s")),
    pa.array([1, 86399999], pa.time32("ms")),
    pa.array([1, 86399999999], pa.time64("us")),
    pa.array([1, 86399999999999], pa.time64("ns")),
    pa.array(["", "a", "ä" * 40, "a\0b"], pa.string()),
    pa.array([b"", b"\xff\0", b"x" * 3000], pa.binary()),
    pa.array([b"abc", b"\0\0\0", b"ab\0"], pa.binary(3)),
]


@pytest.mark.parametrize("make", SKETCHES)
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.type))
def test_keys_keep_their_arrow_type_also_through_bytes(make: Callable[[], Any], array: pa.Array) -> None:
    sketch = make()
    sketch.update(pa.concat_arrays([array, array.slice(1)]))
    for each in (sketch, load(sketch.to_bytes())):
        shape = each.shape()
        assert each.key_type == shape.keys.type == array.type
        assert sorted(shape.counts.tolist()) == [1] + [2] * (len(array) - 1)
        counts = dict(zip(raw(shape.keys), shape.counts.tolist(), strict=True))
        assert counts == {key: 1 + (index > 0) for index, key in enumerate(raw(array))}
        assert each.estimate(array).tolist() == [1] + [2] * (len(array) - 1)


def raw(array: pa.Array) -> list[Any]:
    """Values that Python can hold: instants beyond its years as numbers."""
    return array.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(array.type) else array.to_pylist()


BY_VALUE = [
    (pa.array(["a", "b", "a"], pa.large_string()), pa.string()),
    (pa.array([b"a", b"b", b"a"], pa.large_binary()), pa.binary()),
    (pa.array(["a", "b", "a"], pa.string_view()), pa.string()),
    (pa.array([b"a", b"b", b"a"], pa.binary_view()), pa.binary()),
    (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string()),
    (pa.array([300, -2, 300], pa.int16()).dictionary_encode(), pa.int16()),
    (pa.chunked_array([["a", "b"], [], ["a"]]), pa.string()),
]


@pytest.mark.parametrize("make", SKETCHES)
@pytest.mark.parametrize(("array", "kind"), BY_VALUE, ids=lambda value: str(getattr(value, "type", value)))
def test_encodings_do_not_matter(make: Callable[[], Any], array: Any, kind: pa.DataType) -> None:
    sketch = make()
    sketch.update(array)
    sketch.update(array)
    assert sketch.key_type == kind
    assert sketch.estimate(array).tolist() == [4, 2, 4]


def test_slices_count_what_they_show() -> None:
    text = pa.array(["zero", None, "two", "three", "two"])
    number = pa.array([9, 8, 7, 7], pa.uint64())
    fixed = pa.array([b"ab", b"cd", b"ef"], pa.binary(2))
    for array, expected in (
        (text.slice(1, 3), {"two": 1, "three": 1}),
        (number.slice(1), {8: 1, 7: 2}),
        (fixed.slice(1, 1), {b"cd": 1}),
        (pa.array([True, False, True]).slice(1), {False: 1, True: 1}),
    ):
        sketch = Exact()
        sketch.update(array)
        shape = sketch.shape()
        assert dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True)) == expected


def test_text_is_compared_bytewise() -> None:
    sketch = Exact()
    sketch.update(["é", "e\u0301", "E", "e", "e "])
    assert len(sketch.shape().keys) == 5


def test_nulls_are_dropped_and_not_counted() -> None:
    for make in SKETCHES:
        sketch = make()
        sketch.update([None, None])
        sketch.update([])
        assert (sketch.total, sketch.key_type) == (0, None)
        sketch.update(["a", None, "a"])
        sketch.add(None)
        sketch.update(pa.array([None, None], pa.string()))
        assert sketch.total == 2


@pytest.mark.parametrize("make", SKETCHES)
@pytest.mark.parametrize("key", ["abc", b"abc"])
def test_one_key_is_no_batch(make: Callable[[], Any], key: Any) -> None:
    with pytest.raises(TypeError) as error:
        make().update(key)
    name = type(key).__name__
    assert str(error.value) == f"keys must be a batch, got one {name}; to count one key use add."


OTHERS = [
    ([1, 2], ["a"], "keys must be int64 as before, got string."),
    (["a"], [1], "keys must be string as before, got int64."),
    (["a"], [b"a"], "keys must be string as before, got binary."),
    ([True], [1], "keys must be bool as before, got int64."),
    ([1], [False], "keys must be int64 as before, got bool."),
    ([1], [DAY], "keys must be int64 as before, got date32[day]."),
    ([DAY], [INSTANT], "keys must be date32[day] as before, got timestamp[us]."),
    (pa.array([1], pa.int8()), [128], "keys must be int8 as before, got int64."),
    (pa.array([1], pa.uint64()), [-1], "keys must be uint64 as before, got int64."),
    ([-1], np.array([2**63], np.uint64), "keys must be int64 as before, got uint64."),
    (pa.array([b"ab"], pa.binary(2)), [b"ab"], "keys must be fixed_size_binary[2] as before, got binary."),
]


@pytest.mark.parametrize(("first", "second", "sentence"), OTHERS, ids=range(len(OTHERS)))
def test_another_type_is_refused_and_nothing_of_it_counted(first: Any, second: Any, sentence: str) -> None:
    for make in SKETCHES:
        sketch = make()
        sketch.update(first)
        before = sketch.to_bytes()
        with pytest.raises(KeyTypeError) as error:
            sketch.update(second)
        assert str(error.value) == sentence
        with pytest.raises(KeyTypeError):
            sketch.estimate(second)
        assert sketch.to_bytes() == before


def test_whole_numbers_of_another_width_are_welcome_where_they_fit() -> None:
    sketch = Exact()
    sketch.update(np.array([1, -128], np.int8))
    sketch.update(np.array([1, 127], np.int64))
    sketch.update(np.array([1], np.uint64))
    assert sketch.key_type == pa.int8()
    assert sketch.estimate([1, -128, 127]).tolist() == [3, 1, 1]


@pytest.mark.parametrize("keys", [[1, "a"], ["a", b"a"], [True, 1], [1, None, "a"], [DAY, INSTANT]])
def test_a_batch_of_several_types_is_refused_whole(keys: list[Any]) -> None:
    sketch = Exact()
    with pytest.raises(DataError) as error:
        sketch.update(keys)
    mixed = "The data mixes types, or holds none that can be keys; make them all text or whole numbers."
    assert str(error.value) == mixed
    assert sketch.total == 0


REFUSED = [
    ([1.5], "The data holds floating point numbers; bin or round them to whole numbers first."),
    (np.array([1.0]), "The data holds floating point numbers; bin or round them to whole numbers first."),
    ([2**64], "The data has whole numbers beyond 64 bits; pass them as text, or as numpy uint64."),
    (
        pa.array([[1]]),
        "The data holds nested values; select one field of them, or cast them to text first.",
    ),
    (
        pa.array([1], pa.duration("s")),
        "The data holds values of type duration[s]; cast them to text or whole numbers first.",
    ),
]


@pytest.mark.parametrize(("keys", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_a_key(keys: Any, sentence: str) -> None:
    with pytest.raises(DataError) as error:
        SpaceSaving(4).update(keys)
    assert str(error.value) == sentence


def test_a_key_of_another_type_among_single_keys_costs_no_other_key() -> None:
    sketch = Exact()
    sketch.add("a")
    sketch.add("b")
    with pytest.raises(KeyTypeError):
        sketch.add(3)
    sketch.add("a")
    assert sketch.total == 3
    assert sketch.estimate(["a", "b"]).tolist() == [2, 1]


def test_single_keys_wait_and_are_seen_by_every_question() -> None:
    for make in SKETCHES:
        for ask in (
            lambda sketch: sketch.total,
            lambda sketch: int(sketch.shape().counts.sum()),
            lambda sketch: int(sketch.estimate(["a", "b"]).sum()),
        ):
            sketch = make()
            for key in ["a", "b"] * 2100:
                sketch.add(key)
            assert ask(sketch) == 4200


def test_questions_have_one_answer_each() -> None:
    sketch = Exact()
    assert sketch.estimate(["a", "b"]).tolist() == [0, 0]
    sketch.update(["a", "a"])
    assert sketch.estimate(["b", "a", "a"]).tolist() == [0, 2, 2]
    assert sketch.estimate([]).tolist() == []
    with pytest.raises(KeyTypeError) as error:
        sketch.estimate(["a", None])
    assert str(error.value) == "keys to look up must not be null."
