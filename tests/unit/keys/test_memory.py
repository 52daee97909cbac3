"""Data in memory for sketches: checked as a whole before anything is counted; files are not read."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import DataError, KeyTypeError
from hushcount.keys.memory import asked_arrays, column_array, key_arrays
from hushcount.keys.plain import KeyLimit
from hushcount.sources.open import open_source

DAMAGED = "The data is damaged: it refers to values outside of its Arrow buffers."


class Handed:
    """An object of another library that hands out one Arrow array."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


def damaged():
    buffers = [None, pa.py_buffer(np.array([0, 4, 2, 6], np.int32)), pa.py_buffer(b"abcdef")]
    return pa.Array.from_buffers(pa.string(), 3, buffers)


def wrong_index():
    return pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), pa.array(["a"]), safe=False)


@pytest.mark.parametrize("kind", [hc.SpaceSaving, hc.MisraGries, hc.Exact, hc.CountMin, hc.CountSketch])
@pytest.mark.parametrize("path", [Path("keys.csv"), Path("/etc/passwd")])
def test_a_sketch_opens_no_file(kind, path):
    sketch = kind()
    with pytest.raises(KeyTypeError) as caught:
        sketch.update(path)
    assert str(caught.value) == (
        "keys must be data in memory, got a path; hc.top counts a file, and hushcount sketch makes a sketch"
        " of one."
    )
    assert sketch.total == 0


@pytest.mark.parametrize("data", [pl.LazyFrame({"a": [1]}), pa.table({"a": [1]}).to_reader()])
def test_rows_without_a_fixed_order_are_refused(data):
    with pytest.raises(KeyTypeError) as caught:
        hc.SpaceSaving().update(data)
    assert str(caught.value) == (
        f"keys must have a fixed order, which the rows of {type(data).__name__} have not;"
        " hc.top takes them, or collect them into a table first."
    )


@pytest.mark.parametrize("make", [damaged, wrong_index])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda array: array,
        Handed,
        lambda array: pa.chunked_array([array]),
        lambda array: pa.table({"x": array}),
        lambda array: pa.RecordBatch.from_arrays([array], ["x"]),
        lambda array: Handed(pa.RecordBatch.from_arrays([array], ["x"])),
        lambda array: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))),
    ],
)
def test_damaged_arrays_are_refused_however_they_come(make, wrap):
    data = wrap(make())
    for count in (hc.Exact().update, lambda keys: hc.top(keys, epsilon=1, delta=1e-6)):
        with pytest.raises(DataError) as caught:
            count(data)
        assert str(caught.value).replace("Column 'x'", "The data") == DAMAGED


@pytest.mark.parametrize(
    "values",
    [
        [dt.date(2020, 1, 1), None, dt.date(1990, 1, 1)],
        [
            dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
            dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(1 / 4))),
        ],
        [1, None, 2],
        ["a", None, "b"],
    ],
)
@pytest.mark.parametrize("kind", [pd.Series, pd.CategoricalIndex])
def test_categories_have_the_keys_of_their_values(values, kind):
    """The categories of a column are values too: their type does not come from the first one."""
    found = [
        pa.concat_arrays([batch.keys for batch in open_source(data).batches()])
        for data in (
            values,
            kind(pd.Categorical(np.array([*values, None], object))),
            pd.Series(values, dtype=object),
        )
    ]
    held = [
        array.cast(pa.string() if pa.types.is_large_string(array.type) else array.type) for array in found
    ]
    assert held[0].equals(held[1])
    assert held[0].equals(held[2])


def test_handed_arrays_are_counted():
    for data in (
        Handed(pa.array(["a", "b", "a"])),
        Handed(pa.RecordBatch.from_pydict({"x": ["a", "b", "a"]})),
    ):
        sketch = hc.Exact()
        sketch.update(data)
        assert sketch.estimate(["a", "b"]).tolist() == [2, 1]


def test_all_keys_are_checked_before_the_first_array(monkeypatch):
    monkeypatch.setattr("hushcount.keys.memory.BATCH_ROWS", 10)
    monkeypatch.setattr("hushcount.keys.memory.OBJECT_ROWS", 10)
    for keys in (["a"] * 25 + ["\ud800"], ["a"] * 25 + [1], iter([*range(25), 2**70])):
        with pytest.raises(DataError):
            key_arrays(keys)  # not even iterated
    assert [len(array) for array in key_arrays(["a", None] * 10)] == [5, 5]


def test_keys_to_look_up_must_not_be_null():
    with pytest.raises(KeyTypeError) as caught:
        list(asked_arrays(["a", None]))
    assert str(caught.value) == "keys to look up must not be null."


def test_one_column_with_its_nulls():
    assert column_array("users", [None, 1, None]).equals(pa.array([None, 1, None]))
    assert column_array("users", [None]).null_count == 1
    assert column_array("users", []).type == pa.string()
    assert column_array("users", pl.Series(["a", None], dtype=pl.Categorical)).to_pylist() == ["a", None]
    with pytest.raises(KeyTypeError) as caught:
        column_array("users", "abc")
    assert str(caught.value) == "users must be a batch, got one str; to count one key use add."


@pytest.mark.parametrize("shared", ["dictionary", "runs", "views"])
def test_rows_that_share_one_long_value_take_little_memory(shared):
    """60,000 rows of one value of 50 KB would be 3 GB if each row had its copy at once."""
    long = pa.array(["x" * 50_000])
    if shared == "dictionary":
        keys = pa.DictionaryArray.from_arrays(pa.array(np.zeros(60_000, np.int32)), long)
    elif shared == "runs":
        keys = pa.RunEndEncodedArray.from_arrays(pa.array([60_000], pa.int32()), long)
    else:
        _, view, *data = long.cast(pa.string_view()).buffers()
        views = pa.py_buffer(bytes(view)[:16] * 60_000)
        keys = pa.Array.from_buffers(pa.string_view(), 60_000, [None, views, *data])
    rows, before = 0, pa.total_allocated_bytes()
    for batch in open_source(keys, limit=KeyLimit.of(60_000, "drop")).batches():
        rows += len(batch.keys)
        assert pa.total_allocated_bytes() - before < 1 << 28
    assert rows == 60_000
    sketch = hc.SpaceSaving()
    if shared == "dictionary":  # which is counted by code, without a copy for any row
        sketch.update(keys)
        assert sketch.estimate(long).tolist() == [60_000]
        assert pa.total_allocated_bytes() - before < 1 << 28
        return
    with pytest.raises(DataError) as caught:
        sketch.update(keys)
    text = "The keys of this batch take more than 512 MB if each row has its own; pass fewer."
    assert str(caught.value) == text
    sketch.update(keys.slice(0, 1000))
    assert sketch.total == 1000


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
)
def test_what_is_missing_is_null_in_every_container(missing):
    values = ["a", missing, "b"]
    containers = (
        values,
        iter(values),
        np.array(values, object),
        pd.Series(values, dtype=object),
        pd.Index(values, dtype=object),
        pl.Series(values, dtype=pl.Object),
    )
    for container in containers:
        assert [array.to_pylist() for array in key_arrays(container)] == [["a", "b"]]
    assert column_array("user", values).to_pylist() == ["a", None, "b"]
