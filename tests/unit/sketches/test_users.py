"""UserMisraGries: the oracle on random users, batches cut anywhere, bytes, and what is refused."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests import reference

import hushcount as hc
from hushcount.errors import DataError, KeyTypeError, ParameterError
from hushcount.privacy import USER
from hushcount.shapes import ManyKeys
from hushcount.sketches import users as module


def held(sketch):
    shape = sketch.shape()
    return dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("waiting", [1, 7, 1 << 16])
def test_equals_the_oracle_however_the_rows_are_cut(text, waiting, monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_BATCH", waiting)
    draw = random.Random(waiting)
    for _ in range(60):
        counters = draw.randrange(2, 8)
        name = str if text else int
        users = [
            [name(draw.randrange(12)) for _ in range(draw.randrange(1, 6))] for _ in range(draw.randrange(25))
        ]
        rows = [(key, user) for user, keys in enumerate(users) for key in keys]
        sketch = hc.UserMisraGries(counters=counters)
        while rows:
            size = draw.randrange(1, 12)
            batch, rows = rows[:size], rows[size:]
            sketch.update([key for key, _ in batch], users=[user for _, user in batch])
        counts, decrements = reference.user_misra_gries(users, counters)
        assert held(sketch) == counts
        assert sketch.error_bound == decrements <= sketch.total // (counters + 1)
        assert sketch.total == sum(len(set(keys)) for keys in users)
        for key, count in reference.exact(key for keys in users for key in set(keys)).items():
            assert count - decrements <= sketch.estimate([key])[0] <= count


def test_the_shape_is_that_of_many_keys_of_one_user():
    sketch = hc.UserMisraGries(counters=5)
    sketch.update(["a", "b"], users=["u", "u"])
    shape = sketch.shape()
    assert isinstance(shape, ManyKeys)
    assert (shape.moved, shape.candidates, shape.parts, shape.unit) == (5, 5, 6, USER)


@pytest.mark.parametrize(
    "rows",
    [
        lambda keys, users: (np.array(keys), np.array(users)),
        lambda keys, users: (pa.array(keys), pa.chunked_array([users[:2], users[2:]])),
        lambda keys, users: (pd.Series(keys), pd.Series(users).astype("category")),
        lambda keys, users: (pl.Series(keys), pl.Series(users)),
    ],
)
def test_any_array_will_do(rows):
    sketch = hc.UserMisraGries(counters=5)
    keys, users = rows(["x", "x", "y", "x"], ["ann", "ann", "ann", "bob"])
    sketch.update(keys, users=users)
    assert held(sketch) == {"x": 2, "y": 1}


def test_null_keys_are_left_out_and_null_users_refused():
    sketch = hc.UserMisraGries(counters=5)
    sketch.update(["x", None, "x"], users=[1, 1, 2])
    assert held(sketch) == {"x": 2}
    sketch.update([None], users=[3])
    sketch.update([], users=[])
    assert held(sketch) == {"x": 2}
    with pytest.raises(DataError, match=r"^users must not be null\.$"):
        sketch.update(["x"], users=[None])


def test_what_does_not_fit_is_refused_and_changes_nothing():
    sketch = hc.UserMisraGries(counters=5)
    sketch.update(["x"], users=[1])
    with pytest.raises(ParameterError, match=r"^keys and users must have equal length, got 2 and 1\.$"):
        sketch.update(["x", "y"], users=[1])
    with pytest.raises(KeyTypeError, match=r"^keys must be string as before, got int64\.$"):
        sketch.update([5], users=[1])
    with pytest.raises(KeyTypeError, match=r"^keys must be a batch, got one str; to count"):
        sketch.update("xy", users=[1, 2])
    with pytest.raises(DataError, match=r"^The data mixes types, or holds none"):
        sketch.update(["x", 5], users=[1, 2])
    with pytest.raises(KeyTypeError, match=r"^users must be int64 as before, got string\.$"):
        sketch.update(["x"], users=["1"])
    with pytest.raises(ParameterError, match=r"^counters must be at least 2, got 1\.$"):
        hc.UserMisraGries(counters=1)
    assert held(sketch) == {"x": 1}


@pytest.mark.parametrize("users", [[float("nan")] * 3, [0.0, -0.0, 0.0], [[1], [1], [1]], [{"id": 1}] * 3])
def test_users_who_do_not_equal_themselves_are_refused(users):
    """Each nan would be a user of its own, and one user would move a count by three."""
    sketch = hc.UserMisraGries(counters=5)
    for given in (users, pa.array(users)):
        with pytest.raises(
            DataError, match=r"^(The data|users) (mixes types|holds (float|nest)|must not be null)"
        ):
            sketch.update(["x"] * 3, users=given)
    assert sketch.total == 0


@pytest.mark.parametrize("waiting", [1, 1 << 16])
def test_a_user_goes_on_in_the_next_update_even_if_the_sketch_is_read(waiting, monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_BATCH", waiting)
    sketch = hc.UserMisraGries(counters=5)
    sketch.update(pa.array(["x"]), users=pa.array(["ann"]))
    sketch.update(pa.array(["x"]), users=pa.array(["ann"], pa.large_string()))
    assert held(sketch) == {"x": 1}
    sketch.update(["x", "y"], users=["ann", "ann"])
    assert held(sketch) == {"x": 1, "y": 1}
    assert sketch.total == 2
    sketch.update(["x"], users=["bob"])
    assert held(sketch) == {"x": 2, "y": 1}


def test_bytes_bring_back_the_sketch():
    sketch = hc.UserMisraGries(counters=2)
    sketch.update([1, 2, 3, 1], users=[1, 1, 1, 2])
    again = hc.load(sketch.to_bytes())
    assert (held(again), again.total, again.error_bound, again.id) == ({1: 1}, 4, 1, sketch.id)
    for one in (sketch, again):
        one.update([1, 9], users=[7, 8])
    assert held(again) == held(sketch) == {1: 2, 9: 1}
    assert held(hc.load(hc.UserMisraGries(counters=3).to_bytes())) == {}
