"""A linear sketch with the keys to ask it for: signs, bytes, forgeries."""

from __future__ import annotations

import copy
from typing import Any

import pyarrow as pa
import pytest

from hushcount.errors import ParameterError, SketchFileError
from hushcount.files.container import Contents, encode, type_to_text
from hushcount.sketches.kinds import load
from hushcount.sketches.tracked import TrackedSketch


def refusal(error: type[Exception], call: Any) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


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


def test_forged_bytes_are_refused() -> None:
    sketch = TrackedSketch("count-min", counters=4, depth=3, width=64)
    sketch.update(["a", "b", "a"], weights=[1, 1, -1])
    said = sketch.contents()
    cells = said.fields["cells"]
    text = "The sketch is damaged: its contents contradict each other."
    changes: list[dict[str, Any]] = [
        *({"total": total} for total in (0, 1, 4, "3", 3.0, True)),
        *({"cells": {**cells, "max_weight": weight}} for weight in (None, 2)),
        {"cells": {**cells, "partial": False}},
        {"cells": {**cells, "key_type": type_to_text(pa.int64())}},
    ]

    def forged(change: dict[str, Any]) -> bytes:
        return encode(Contents(said.kind, {**said.fields, **change}, said.arrays))

    for change in changes:
        assert refusal(SketchFileError, lambda change=change: load(forged(change))) == text
    assert load(forged({})).total == 3
