"""Rows that share a value are cut into slices that cannot expand far."""

import numpy as np
import pyarrow as pa
import pytest

from hushcount.keys import slices as module
from hushcount.keys.slices import slices

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
