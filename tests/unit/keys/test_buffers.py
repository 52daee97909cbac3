"""Arrow arrays from outside: offsets and indices that point outside of their buffers are refused."""

import random

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import DataError
from hushcount.keys.buffers import check_buffers, lengths, longest

DAMAGED = "Column 'x' is damaged: it refers to values outside of its Arrow buffers."


TEXT, INDEX = pa.string(), pa.int32()


def text(offsets, kind=TEXT, data=b"abcdef"):
    """Return an array with these offsets, which pyarrow checks at both ends only."""
    width = np.int64 if kind in (pa.large_string(), pa.large_binary()) else np.int32
    buffers = [None, pa.py_buffer(np.array(offsets, width)), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)


def indices(values, count=2, kind=INDEX):
    names = pa.array(["a", "b", "c"][:count])
    return pa.DictionaryArray.from_arrays(pa.array(values, kind), names, safe=False)


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.large_string(), pa.large_binary()], ids=str)
@pytest.mark.parametrize(
    "offsets", [[0, 4, 2], [0, 100, 3], [0, -5, 3], [3, 2, 6], [0, 2**31 - 1, -(2**31), 6]]
)
def test_offsets_that_decrease_or_point_outside(kind, offsets):
    array = text(offsets, kind)
    for damaged in (array, pa.DictionaryArray.from_arrays(pa.array([0]), array, safe=False)):
        with pytest.raises(DataError) as caught:
            check_buffers(damaged, "Column 'x'")
        assert str(caught.value) == DAMAGED
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "array", [indices([0, 2]), indices([-1]), indices([None, 7]), indices([255], 3, pa.uint8())]
)
def test_dictionary_indices_outside(array):
    with pytest.raises(DataError) as caught:
        check_buffers(array, "Column 'x'")
    assert str(caught.value) == DAMAGED


def test_sound_arrays():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
    for array in (
        text([1, 3, 3, 6]),
        text([0, 4, 2, 3]).slice(2),  # what lies outside of a slice is never read
        indices([0, 1, None]),
        indices([None, None], 0),
        runs,
        pa.array(["a", None], pa.string_view()),
        pa.array([1, None]),
        pa.array([], pa.string()),
        pa.nulls(3),
        pa.array([b"0" * 16], pa.uuid()),
    ):
        check_buffers(array)


def test_lengths():
    array = pa.array(["tea", None, "é", ""])
    assert lengths(array).tolist() == [3, 0, 2, 0]
    assert lengths(array.slice(2)).tolist() == [2, 0]
    assert (longest(array), longest(array.slice(4)), longest(array.cast(pa.large_string()))) == (3, 0, 3)


def test_random_offsets_are_judged_as_arrow_does():
    numbers = random.Random(7)
    for _ in range(300):
        offsets = sorted(numbers.randrange(7) for _ in range(5))
        if numbers.random() < 0.5:
            offsets[numbers.randrange(1, 4)] = numbers.randrange(-9, 15)
        array = text(offsets, pa.binary())
        try:
            array.validate(full=True)
            sound = True
        except pa.ArrowInvalid:
            sound = False
        try:
            check_buffers(array)
        except DataError:
            assert not sound
        else:
            assert sound
