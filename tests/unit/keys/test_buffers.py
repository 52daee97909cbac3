"""Arrow arrays from outside: what points out of buffers is refused, shared values do not expand far."""

import random

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import DataError
from hushcount.keys import buffers as module
from hushcount.keys.buffers import check_buffers, lengths, longest, slices

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


LONG = "x" * 1000


def dictionary(values):
    return pa.array(values).dictionary_encode()


def views(values):
    return pa.array(values, pa.string_view())


def runs(values):
    return pa.RunEndEncodedArray.from_arrays(
        pa.array(range(1, len(values) + 1), pa.int32()), pa.array(values)
    )


@pytest.mark.parametrize("form", [dictionary, views, runs])
@pytest.mark.parametrize("start", [0, 3])
def test_slices_hold_all_rows_within_the_bound(monkeypatch, form, start):
    monkeypatch.setattr(module, "EXPANDED", 2500)
    values = [LONG, "a", None, LONG, LONG, LONG, "b" * 9000, "c", "d"] * 3
    column = form(values).slice(start)
    cuts = [cut[0] for cut in slices([column, pa.array(range(len(column)))], 10)]
    assert [value for cut in cuts for value in cut.to_pylist()] == values[start:]
    sizes = [sum(len(value or "") for value in cut.to_pylist()) for cut in cuts]
    assert all(size <= 2500 or len(cut) == 1 for size, cut in zip(sizes, cuts, strict=True))
    assert max(len(cut) for cut in cuts) > 1


def test_plain_columns_are_cut_by_rows_alone():
    columns = [pa.array([LONG] * 25), pa.array(range(25)), dictionary(["a"] * 25)]
    assert [len(cut[0]) for cut in slices(columns, 10)] == [10, 10, 5]
    assert np.all([len({len(column) for column in cut}) == 1 for cut in slices(columns, 10)])


def test_columns_of_one_row_expand_together(monkeypatch):
    monkeypatch.setattr(module, "EXPANDED", 2500)
    column = dictionary([LONG] * 4)
    assert [len(cut[0]) for cut in slices([column, column], 10)] == [1, 1, 1, 1]
