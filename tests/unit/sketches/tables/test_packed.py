"""Sketch files of many keys: short, exact, and refused if anything in them was changed."""

import numpy as np
import pyarrow as pa
import pytest
from tests.fuzz.forging import put_together, taken_apart

import hushcount as hc
from hushcount.errors import SketchFileError
from hushcount.sketches.held import entry_arrays
from hushcount.sketches.kinds import load
from hushcount.sketches.tables.packed import FEWEST, packed, unpacked

KINDS = [lambda: hc.SpaceSaving(2000), lambda: hc.MisraGries(2000), hc.Exact]


def filled(kind, text):
    draws = np.random.default_rng(5)
    keys = (draws.zipf(1.2, 40_000) % 5000).astype(np.int64)
    sketch = kind()
    sketch.update(pa.array([f"key {key}" * (1 + key % 4) for key in keys]) if text else keys)
    return sketch


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_short_and_exact(kind, text):
    sketch = filled(kind, text)
    data, entries = sketch.to_bytes(), sketch.entries()
    again = load(data)
    assert again.to_bytes() == data
    assert same(entry_arrays(again.entries()), entry_arrays(entries))
    letters = len(entries.keys.data) if text else 0
    header = 1000
    assert len(data) <= header + letters + (20 if text else 12) * len(entries)


@pytest.mark.parametrize("least", [0, 1, 1 << 40])
@pytest.mark.parametrize("bits", [0, 7, 8, 9, 16, 17, 33, 60])
def test_numbers_of_every_size(least, bits):
    draws = np.random.default_rng(bits)
    counts = least + draws.integers(0, 1 << bits, FEWEST, endpoint=True)
    for few in (0, 3):  # large ones
        counts[:few] += 1 << 50
        whole = {"words": np.arange(FEWEST, dtype=np.uint64), "counts": counts}
        assert same(unpacked(packed(whole)), whole)


def test_few_keys_and_earlier_files_are_as_they_were():
    few = {"words": np.arange(3, dtype=np.uint64), "counts": np.array([5, 6, 7])}
    assert packed(few) is few
    many = {"words": np.arange(FEWEST, dtype=np.uint64), "counts": np.arange(FEWEST)}
    assert unpacked(many) is many


@pytest.mark.parametrize("text", [False, True])
def test_a_changed_file_is_refused_or_another_sketch(text):
    header, arrays = taken_apart(filled(KINDS[0], text).to_bytes())
    draws = np.random.default_rng(7)
    small = [name for name in arrays if name not in ("words", "data")]
    for trial in range(300):
        forged = {name: array.copy() for name, array in arrays.items()}
        name = small[trial % len(small)]
        octets = forged[name].view(np.uint8)
        if not len(octets):
            continue
        octets[draws.integers(min(len(octets), 64))] ^= draws.integers(1, 256)
        data = put_together(header, forged)
        try:
            sketch = load(data)
        except SketchFileError:
            continue
        assert sketch.to_bytes() == data
    for name in small:
        cut = (
            {**arrays, name: arrays[name][:-1]} if len(arrays[name]) else {**arrays, name: np.ones(1, "<u8")}
        )
        for forged in (cut, {each: arrays[each] for each in arrays if each != name}):
            with pytest.raises(SketchFileError):
                load(put_together(header, forged))
