"""Count-Min and CountSketch: weights, deletions, merging, bytes, bounds, refusals (whole texts)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import (
    DataError,
    HushcountError,
    KeyTypeError,
    NotProvedError,
    ParameterError,
    SketchFileError,
)
from hushcount.files.container import Contents, encode, type_to_text
from hushcount.keys.arrays import to_kernel
from hushcount.keys.memory import key_arrays
from hushcount.keys.row_hash import RowHash
from hushcount.sketches.kinds import load
from hushcount.sketches.linear import CountMin, CountSketch, KeyedCountSketch, TrackedSketch, at_least_half
from hushcount.sketches.users import UserCountMin

KINDS = [CountMin, CountSketch]
BOTH = pytest.mark.parametrize("kind", KINDS)
BELOW = "weights would delete more events of some key than were added; nothing of this batch was counted."


def refusal(error: type[Exception], call: Any) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


@BOTH
def test_counts_of_few_keys_are_exact(kind: Any) -> None:
    sketch = kind(depth=5, width=1024, seed=7)
    sketch.update(["a", "b", "a"])
    sketch.update(np.array(["a", "c"], object), weights=[3, 10])
    sketch.add("b")
    sketch.add("c", weight=-4)
    assert sketch.estimate(["a", "b", "c", "nobody"]).tolist() == [5, 2, 6, 0]
    assert (sketch.total, sketch.key_type, sketch.depth, sketch.width) == (13, pa.string(), 5, 1024)


@BOTH
@pytest.mark.parametrize(
    "keys", [[1, 2, -3], ["a", "", "ß" * 300], [b"\0", b"\0\0", b""], pa.array([2**64 - 1], pa.uint64())]
)
def test_deletions_lead_back_to_the_bytes_of_nothing(kind: Any, keys: Any) -> None:
    empty = kind(depth=4, width=256, seed="s").to_bytes()
    sketch = kind(depth=4, width=256, seed="s")
    sketch.update(keys)
    sketch.update(keys, weights=np.full(len(keys), 7))
    assert sketch.to_bytes() != empty
    sketch.update(keys, weights=np.full(len(keys), -8))
    assert sketch.to_bytes() == empty
    assert load(sketch.to_bytes()).to_bytes() == empty


@BOTH
def test_parts_merge_to_the_whole_byte_for_byte(kind: Any) -> None:
    """In whatever order, and with deletions in another part than their additions."""
    whole, first = kind(seed=1), kind(seed=1)
    second, third = kind(seed=1, partial=True), kind(seed=1, partial=True)
    added, deleted = np.arange(1000) % 37, np.arange(200) % 37
    whole.update(added)
    whole.update(deleted, weights=-np.ones(200, int))
    third.update(deleted, weights=-np.ones(200, int))
    first.update(added[:300])
    second.update(added[300:])
    for one in (
        first.merge(second).merge(third),
        first.merge(second.merge(third)),
        kind(seed=1).merge(third.merge(second).merge(first)),
    ):
        assert one.to_bytes() == whole.to_bytes()
    assert first.estimate([5]).tolist() != whole.estimate([5]).tolist()  # merge made new objects


@BOTH
def test_saved_copied_and_pickled(kind: Any, tmp_path: Any) -> None:
    sketch = kind(depth=3, width=64, max_weight=9)
    sketch.update(["a", "b"], weights=[9, -0])
    sketch.save(tmp_path / "a.hc", position={"rows": 2})
    assert (tmp_path / "a.hc").stat().st_mode & 0o777 == 0o600
    for again in (load(tmp_path / "a.hc"), copy.deepcopy(sketch), pickle.loads(pickle.dumps(sketch))):
        assert type(again) is kind
        assert again.to_bytes() == sketch.to_bytes()
        assert again.id == sketch.id
        assert again.merge(sketch).estimate(["a"]).tolist() == [18]


@BOTH
def test_seeds(kind: Any) -> None:
    assert kind(seed=1).id == kind(seed=1).id
    ids = {kind(seed=seed).id for seed in (1, "1", b"1", 2, None, None)} | {kind(seed=1, width=64).id}
    assert len(ids) == 7
    text = "seed must be a whole number, text or bytes, got True."
    assert refusal(ParameterError, lambda: kind(seed=True)) == text


def test_merging_unlike_sketches_is_refused() -> None:
    text = (
        "merge needs sketches of the same kind, depth, width, max_weight and seed; give both the same seed."
    )
    others = [
        CountMin(seed=2),
        CountMin(),
        CountMin(depth=4, seed=1),
        CountMin(width=64, seed=1),
        CountSketch(seed=1),
        CountMin(seed=1, max_weight=1),
    ]
    for other in others:
        assert refusal(ParameterError, lambda other=other: CountMin(seed=1).merge(other)) == text
    numbers, words = CountMin(seed=1), CountMin(seed=1)
    numbers.update([1])
    words.update(["1"])
    text = "merge needs sketches of the same key type, got int64 and string."
    assert refusal(ParameterError, lambda: numbers.merge(words)) == text
    text = "merge takes a linear sketch, got int."
    assert refusal(ParameterError, lambda: numbers.merge(3)) == text


@BOTH
def test_deleting_below_zero_is_refused_and_changes_nothing(kind: Any) -> None:
    sketch = kind(seed=1)
    sketch.update(["a", "b"])
    before = sketch.to_bytes()
    assert refusal(DataError, lambda: sketch.update(["a", "a", "b"], weights=[-1, -1, -1])) == BELOW
    assert refusal(DataError, lambda: kind().add("a", weight=-1)) == BELOW
    assert sketch.to_bytes() == before
    sketch.update(["a", "a"], weights=[-2, 2])  # within a batch the order does not matter
    assert sketch.to_bytes() == before


def test_count_min_sees_a_key_below_zero_behind_others() -> None:
    sketch = CountMin(seed=1)
    sketch.update(["a"] * 5)
    assert refusal(DataError, lambda: sketch.update(["b"], weights=[-1])) == BELOW


@BOTH
def test_a_part_that_is_missing_shows_in_the_merge(kind: Any) -> None:
    part = kind(seed=1, partial=True)
    part.update(["a"], weights=[-1])
    text = "the merged sketch would hold fewer than zero events of some key; a part is missing."
    assert refusal(DataError, lambda: kind(seed=1).merge(part)) == text
    text = "a partial sketch has no counts of its own; merge it into a whole one."
    assert refusal(NotProvedError, lambda: part.estimate(["a"])) == text
    assert refusal(NotProvedError, lambda: part.error_bound) == text


@BOTH
def test_keys_of_another_type_are_refused(kind: Any) -> None:
    sketch = kind()
    sketch.update([1, 2])
    assert (
        refusal(KeyTypeError, lambda: sketch.estimate(["1"])) == "keys must be int64 as before, got string."
    )
    assert refusal(KeyTypeError, lambda: sketch.update(["1"])) == "keys must be int64 as before, got string."
    text = "keys must be a batch, got one str; to count one key use add."
    assert refusal(KeyTypeError, lambda: sketch.estimate("1")) == text
    assert refusal(KeyTypeError, lambda: sketch.estimate([1, None])) == "keys to look up must not be null."
    assert sketch.estimate(np.array([1], np.int16)).tolist() == [1]
    assert kind().estimate(["a", "b"]).tolist() == [0, 0]
    assert kind().estimate([]).tolist() == []


@BOTH
def test_weights_are_checked(kind: Any) -> None:
    sketch = kind(max_weight=3)
    text = "weights must lie between -3 and 3, the sketch's max_weight."
    assert refusal(ParameterError, lambda: sketch.update(["a"], weights=[4])) == text
    assert refusal(ParameterError, lambda: sketch.update(["a"], weights=[-4])) == text
    text = "weights must have one whole number for each key, and no key may be null."
    assert refusal(ParameterError, lambda: sketch.update(["a", None], weights=[1, 1])) == text
    assert refusal(ParameterError, lambda: sketch.update(["a", "b"], weights=[1])) == text
    text = "weights must be one row of whole numbers."
    for bad in ([0.5], [True], ["1"], [[1]], [[1], [1, 2]], [float("nan")], 1):
        assert refusal(ParameterError, lambda bad=bad: sketch.update(["a"], weights=bad)) == text
    assert sketch.total == 0
    sketch.update([], weights=[])
    huge = "weights must lie between -2147483647 and 2147483647, the sketch's max_weight."
    assert refusal(ParameterError, lambda: kind().update(["a"], weights=[2**31])) == huge


@BOTH
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"depth": 0}, "depth must be at least 1, got 0."),
        ({"depth": 1025}, "depth must be at most 1024, got 1025."),
        ({"depth": True}, "depth must be a whole number, got True."),
        ({"width": 1}, "width must be at least 2, got 1."),
        ({"width": 1000}, "width must be a power of two up to 67108864, got 1000."),
        ({"width": 1 << 27}, "width must be a power of two up to 67108864, got 134217728."),
        ({"width": 2.0}, "width must be a whole number, got 2.0."),
        ({"max_weight": 0}, "max_weight must be at least 1, got 0."),
        ({"partial": "no"}, "partial must be True or False, got 'no'."),
        ({"max_weight": 1 << 31}, "max_weight must be at most 2147483647, got 2147483648."),
    ],
)
def test_sizes_are_checked(kind: Any, arguments: dict[str, Any], text: str) -> None:
    assert refusal(ParameterError, lambda: kind(**arguments)) == text


def test_long_keys_are_refused() -> None:
    sketch = CountMin()
    text = "A key is longer than 65535 bytes; shorten or hash such keys first."
    assert refusal(DataError, lambda: sketch.update(["a" * 65536])) == text
    sketch.update(["a" * 65535])


@pytest.mark.parametrize("weights", [None, [1] * 300_001])
def test_a_batch_with_a_long_key_is_not_counted_in_part(weights: Any) -> None:
    """The keys come in several arrays, and the last of them is refused."""
    sketch = CountMin(seed=1)
    keys = ["a"] * 300_000 + ["b" * 65536]
    batches = list(key_arrays(keys))
    assert len(batches) > 1
    assert refusal(DataError, lambda: sketch.update(keys, weights)).startswith("A key is longer than")
    assert sketch.to_bytes() == CountMin(seed=1).to_bytes()


@pytest.mark.parametrize("bad", ["a" * 65536, 5, 2.5])
def test_a_refused_key_does_not_take_those_beside_it_along(bad: Any) -> None:
    sketch, expected = CountMin(seed=1), CountMin(seed=1)
    sketch.add("a")
    refusal(HushcountError, lambda: (sketch.add(bad), sketch.total))
    sketch.add("b")
    expected.update(["a", "b"])
    assert sketch.to_bytes() == expected.to_bytes()


def test_kinds_are_checked() -> None:
    text = "kind must be one of count-min, count-sketch, got bloom."
    assert refusal(ParameterError, lambda: RowHash("bloom", 1, 2, b"")) == text


@BOTH
def test_forged_bytes_are_refused(kind: Any) -> None:
    def forged(**changes: Any) -> Any:
        sketch = kind(depth=2, width=4, seed=1)
        sketch.update(["a", "b"])
        said = sketch.contents()
        cells = changes.pop("cells", said.arrays["cells"])
        return lambda: load(encode(Contents(said.kind, {**said.fields, **changes}, {"cells": cells})))

    text = "The sketch is damaged: its contents contradict each other."
    changes: list[dict[str, Any]] = [
        {"depth": 3},
        {"width": 3},
        {"key": "ab"},
        {"key_type": None},
        {"total": "2"},
        {"total": -2},
        {"max_weight": 0},
        {"partial": "no"},
        {"key_type": type_to_text(pa.list_(pa.int8()))},
        {"key_type": type_to_text(pa.large_string())},
        {"cells": np.zeros(8, np.uint8)},
        {"cells": np.zeros(7, np.int64)},
    ]
    for change in changes:
        assert refusal(SketchFileError, forged(**change)) == text
    assert forged()().total == 2


def test_bounds_are_those_of_markov() -> None:
    sketch = CountMin(depth=4, width=64)
    sketch.update(np.arange(1000))
    assert sketch.error_bound == 42  # e 1000 / 64
    assert sketch.failure == pytest.approx(np.exp(-4))
    signed = CountSketch(depth=5, width=64)
    signed.update(np.arange(1000))
    assert signed.error_bound == 62  # 4 1000 / 64
    assert signed.failure == pytest.approx(2 * at_least_half(5, 1 / 8))
    assert at_least_half(4, 0.5) == pytest.approx(11 / 16)


def test_the_median_of_an_even_number_of_rows() -> None:
    hashing = RowHash("count-sketch", 4, 2, b"")
    values = np.array([[1], [-7], [4], [10]])
    assert hashing.estimate(values, np.zeros((4, 1), np.uint64)).tolist() == [2]  # floor of (1 + 4) / 2
    signs = np.array([[0], [1], [0], [0]], np.uint64)
    assert hashing.estimate(values, signs).tolist() == [5]


@pytest.mark.parametrize(
    ("kind", "keys", "cells"),
    [
        (CountMin, [1, 2, -3], [[1, 0, 0, 0, 0, 10, 100, 0], [0, 100, 0, 1, 0, 0, 0, 10]]),
        (CountMin, ["a", "", "hello world"], [[0, 10, 1, 0, 0, 0, 0, 100], [0, 0, 0, 0, 10, 100, 1, 0]]),
        (CountSketch, [1, 2, -3], [[110, 0, 0, 0, 0, 0, -1, 0], [0, 1, 0, 0, 0, -10, -100, 0]]),
        (
            CountSketch,
            ["a", "", "hello world"],
            [[0, 0, 0, 0, 0, -1, 0, 110], [0, -100, 0, -10, 0, 0, 0, -1]],
        ),
    ],
)
def test_places_never_change(kind: Any, keys: Any, cells: Any) -> None:
    """Saved sketches and oracles rest on where keys lie."""
    sketch = kind(depth=2, width=8, seed=1)
    sketch.update(keys, weights=[1, 10, 100])
    assert sketch.shape().cells.tolist() == cells


def user_rows(users, keys):
    return pa.StructArray.from_arrays([pa.array(users), pa.array(keys)], ["user", "key"])


def test_users_count_once_per_cell_whatever_the_batches(monkeypatch):
    users, keys = [1, 1, 1, 2, 2, 3], ["a", "b", "c", "a", "b", "a"]
    hashing = RowHash("count-min", 3, 2, bytes(32))
    whole = UserCountMin(hashing, max_keys=3)
    whole.update(user_rows(users, keys))
    cells = whole.shape().cells
    assert cells.max() == 3
    assert whole.total == 6
    monkeypatch.setattr("hushcount.sketches.users.HASHED_TOGETHER", 1)
    parts = UserCountMin(hashing, max_keys=3)
    for place in range(6):
        parts.update(user_rows(users[place : place + 1], keys[place : place + 1]))
    assert parts.total == 6
    assert (parts.shape().cells == cells).all()
    assert parts.key_type == pa.string()


def test_users_in_cells_have_a_public_size():
    sketch = UserCountMin(RowHash("count-min", 5, 4, bytes(32)), max_keys=8)
    empty = sketch.public()
    sketch.update(user_rows([1], [7]))
    assert sketch.public() == empty == sketch.shape().public()
    assert (empty.moved, empty.unit.rows) == (20, 8)


def test_keys_with_signs() -> None:
    sketch = TrackedSketch("count-min", counters=4, depth=3, width=64)
    sketch.update(["a", "b", "a", "c"])
    sketch.update(["a", "d", "b"], weights=[-1, 1, 0])
    assert (sketch.total, sketch.counters, sketch.key_type, sketch.error_bound) == (6, 4, pa.string(), 1)
    shape = sketch.shape()
    assert sorted(shape.keys.to_pylist()) == ["a", "b", "c", "d"]
    values = shape.cells.cells.ravel()[shape.cells.hashing.places(shape.hashes)]
    found = dict(zip(shape.keys.to_pylist(), shape.cells.hashing.estimate(values, shape.hashes), strict=True))
    assert found == {"a": 1, "b": 1, "c": 1, "d": 1}


def test_nothing_is_tracked_of_nothing() -> None:
    shape = TrackedSketch("count-sketch", counters=4, depth=3, width=64).shape()
    assert (len(shape.keys), shape.hashes.shape, shape.events) == (0, (3, 0), 0)


def test_deletions_before_additions() -> None:
    """A private stream may delete what it has not added: noise does not care."""
    sketch = TrackedSketch("count-min", counters=4, depth=3, width=64)
    sketch.update(["a"], weights=[-1])
    assert (len(sketch.shape().keys), sketch.total) == (0, 1)


def test_the_hash_key_is_fresh() -> None:
    """The envelope is proved for a random hash, so there is no seed to give."""
    made = [TrackedSketch("count-min", counters=4, depth=3, width=64) for _ in range(2)]
    first, second = (sketch.shape().cells.hashing.key for sketch in made)
    assert first != second
    with pytest.raises(TypeError):
        TrackedSketch("count-min", counters=4, depth=3, width=64, seed=1)  # type: ignore[call-arg]


def test_weights_are_signs() -> None:
    sketch = TrackedSketch("count-min", counters=4, depth=3, width=64)
    text = "weights must lie between -1 and 1, the sketch's max_weight."
    assert refusal(ParameterError, lambda: sketch.update(["a"], weights=[2])) == text


def test_bytes(tmp_path: Any) -> None:
    sketch = TrackedSketch("count-sketch", counters=4, depth=3, width=64)
    sketch.update(list("abcabcdde"))
    sketch.save(tmp_path / "a.hc", position={"rows": 1})
    for again in (load(tmp_path / "a.hc"), copy.copy(sketch)):
        assert again.to_bytes() == sketch.to_bytes()
        assert (again.total, again.id) == (9, sketch.id)
        assert again.shape().hashes.tolist() == sketch.shape().hashes.tolist()


def test_forged_bytes_of_tracked_sketches_are_refused() -> None:
    sketch = TrackedSketch("count-min", counters=4, depth=3, width=64)
    sketch.update(["a", "b", "a"], weights=[1, 1, -1])
    said = sketch.contents()
    cells = said.fields["cells"]
    text = "The sketch is damaged: its contents contradict each other."
    changes: list[dict[str, Any]] = [
        *({"total": total} for total in (0, 1, 4, "3", 3.0, True)),
        *({"cells": {**cells, "max_weight": weight}} for weight in (None, 0, -1)),
        {"cells": {**cells, "partial": False}},
        {"cells": {**cells, "key_type": type_to_text(pa.int64())}},
    ]

    def forged(change: dict[str, Any]) -> bytes:
        return encode(Contents(said.kind, {**said.fields, **change}, said.arrays))

    for change in changes:
        assert refusal(SketchFileError, lambda change=change: load(forged(change))) == text
    assert load(forged({})).total == 3


@pytest.mark.parametrize("keys", [np.arange(5000) % 700, pa.array([f"key {i % 700}" for i in range(5000)])])
def test_a_keyed_sketch_adds_signs_at_the_places_of_its_hashes(keys: Any) -> None:
    """More keys than a block of the kernel; what is deleted leaves no trace."""
    sketch = KeyedCountSketch(depth=3, width=64, seed=1)
    weights = np.arange(5000) % 5 - 1
    sketch.update(keys, weights=np.maximum(weights, 0))
    hashes = sketch.hashing.hashes(to_kernel(pa.array(keys), pa.array(keys).type))
    expected = np.zeros((3, 64), np.int64)
    for row in range(3):
        signs = 1 - 2 * (hashes[row] & np.uint64(1)).astype(np.int64)
        np.add.at(
            expected[row], (hashes[row] >> np.uint64(1)).astype(np.int64), signs * np.maximum(weights, 0)
        )
    assert (sketch.cells == expected).all()
    sketch.update(keys, weights=-np.maximum(weights, 0))
    assert not sketch.cells.any()
    sketch.update(keys)
    assert sketch.cells.any()
    assert sketch.merge(sketch).total == 10_000
