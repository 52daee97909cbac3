"""Sketch files: what was written comes back, and whatever does not fit is refused in one sentence."""

from __future__ import annotations

import copy
import os
import pickle
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.forging import KINDS, MISFIT, NUMBERS, TEXT, filled, put_together, refusal, taken_apart

from hushcount.errors import DataError, SketchFileError
from hushcount.sketches.kinds import load, load_with_position

CHECKSUM = "The sketch is damaged: its contents do not match its checksum."
FOREIGN = "The sketch is not a hushcount sketch."


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keys", [[], TEXT, NUMBERS], ids=["empty", "text", "numbers"])
def test_bytes_come_back_as_the_same_sketch(kind: str, keys: list[Any]) -> None:
    sketch = filled(kind, keys)
    data = sketch.to_bytes()
    again = load(data)
    assert type(again) is type(sketch)
    assert again.to_bytes() == data
    assert (again.id, again.total, again.key_type) == (sketch.id, len(keys), sketch.key_type)
    assert again.shape().keys.equals(sketch.shape().keys)
    assert again.shape().counts.tolist() == sketch.shape().counts.tolist()
    assert again.error_bound == sketch.error_bound
    again.update(keys)
    assert again.total == 2 * len(keys)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sketch_that_was_saved_empty_can_still_be_filled(kind: str) -> None:
    sketch = load(KINDS[kind]().to_bytes())
    sketch.update(TEXT)
    assert sketch.total == len(TEXT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_and_pickles_are_sketches_of_their_own(kind: str, copied: Callable[[Any], Any]) -> None:
    sketch = filled(kind, TEXT)
    before = sketch.to_bytes()
    other = copied(sketch)
    assert other.to_bytes() == before
    other.update(["tea"])
    assert sketch.to_bytes() == before
    assert other.total == sketch.total + 1


@pytest.mark.parametrize("kind", KINDS)
def test_waiting_keys_are_written_too(kind: str) -> None:
    sketch = KINDS[kind]()
    for key in TEXT:
        sketch.add(key)
    assert load(sketch.to_bytes()).total == len(TEXT)


def test_the_position_is_kept_beside_the_sketch(tmp_path: Path) -> None:
    position = {"rows": 12, "name": "é"}
    filled("exact", TEXT).save(tmp_path / "a.hc", position=position)
    assert load_with_position(tmp_path / "a.hc")[1] == position
    assert load_with_position(filled("exact", TEXT).to_bytes())[1] is None


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.hc"
    old = os.umask(0)
    try:
        path.write_bytes(b"before")
        path.chmod(0o666)
        filled("space-saving", TEXT).save(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load(str(path)).total == len(TEXT)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.hc"
    filled("exact", NUMBERS).save(path)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError) as error:
        filled("exact", TEXT).save(path)
    assert str(error.value) == f"Cannot write {path}: no space left on device."
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.hc"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_damaged_byte_is_noticed(kind: str) -> None:
    data = filled(kind, TEXT).to_bytes()
    for index in range(len(data)):
        for damage in (1, 0x80, 0xFF):
            broken = bytearray(data)
            broken[index] ^= damage
            assert refusal(bytes(broken)).startswith("The sketch ")


@pytest.mark.parametrize("kind", KINDS)
def test_every_truncation_is_noticed(kind: str) -> None:
    data = filled(kind, NUMBERS).to_bytes()
    for length in range(len(data)):
        assert refusal(data[:length]) == (FOREIGN if length < 8 else CHECKSUM)
    assert refusal(data + b"\0") == CHECKSUM


def test_foreign_and_newer_files_are_named(tmp_path: Path) -> None:
    header, arrays = taken_apart(filled("exact", TEXT).to_bytes())
    newer = "The sketch was written by a newer hushcount (format 2, this one reads up to 1)."
    assert refusal(put_together(header, arrays, version=2)) == newer
    assert refusal(put_together(header, arrays, version=0)) == MISFIT
    assert refusal(b"PAR1" * 20) == FOREIGN
    path = tmp_path / "empty.hc"
    path.write_bytes(b"")
    with pytest.raises(SketchFileError) as error:
        load(path)
    assert str(error.value) == f"{path} is not a hushcount sketch."


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        load(tmp_path / "none.hc")
    assert str(error.value) == f"{tmp_path / 'none.hc'} does not exist."
    with pytest.raises(DataError) as error:
        load(tmp_path)
    assert str(error.value) == f"Cannot read {tmp_path}: is a directory."
