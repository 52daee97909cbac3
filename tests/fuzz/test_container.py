"""Sketch files with a good checksum whose parts do not describe a sketch."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.fuzz.forging import (
    KINDS,
    MISFIT,
    NUMBERS,
    TEXT,
    filled,
    put_together,
    refusal,
    sealed,
    taken_apart,
)

from hushcount.errors import SketchFileError
from hushcount.files.container import type_to_text
from hushcount.releases.oracle import Oracle
from hushcount.sketches.kinds import load


def loaded_or_refused(data: bytes) -> Any:
    """The sketch, or None if it was refused in the one sentence."""
    sentence = ""
    try:
        return load(data)
    except SketchFileError as error:
        sentence = str(error)
    assert sentence == MISFIT
    return None


Change = Callable[[dict[str, Any], dict[str, Any]], Any]


def put(array: str, index: int, value: int) -> Change:
    return lambda _, arrays: arrays[array].__setitem__(index, value)


def cast(array: str, dtype: str) -> Change:
    return lambda _, arrays: arrays.update({array: arrays[array].astype(dtype)})


def cut(array: str) -> Change:
    return lambda _, arrays: arrays.update({array: arrays[array][:-1]})


def field(name: str, value: Any) -> Change:
    return lambda header, _: header["fields"].update({name: value})


def doubled(_: Any, arrays: dict[str, Any]) -> None:
    """Both of the first two keys the same; everything else fits."""
    if "words" in arrays:
        arrays["words"][1] = arrays["words"][0]
    else:
        arrays["data"][:] = ord("t")
        arrays["offsets"][:] = np.linspace(0, len(arrays["data"]) // 3 * 3, len(arrays["offsets"]))
        arrays["offsets"][-1] = len(arrays["data"])


def moved_count(_: Any, arrays: dict[str, Any]) -> None:
    """A negative count made good by another."""
    arrays["counts"][0] -= 100
    arrays["counts"][1] += 100


COMMON: dict[str, Change] = {
    "count below one": put("counts", 0, 0),
    "count negative": put("counts", 0, -5),
    "count negative, sum right": moved_count,
    "count above total": put("counts", 0, 1000),
    "count beyond its bits": put("counts", 0, 2**62),
    "one count less": cut("counts"),
    "counts unsigned": cast("counts", "<u8"),
    "counts floating": cast("counts", "<f8"),
    "counts narrow": cast("counts", "<i4"),
    "total too small": field("total", 8),
    "total too large": field("total", 10),
    "total beyond its bits": field("total", 2**70),
    "total a truth value": field("total", True),
    "total text": field("total", "9"),
    "id missing": lambda header, _: header["fields"].pop("id"),
    "id a number": field("id", 5),
    "id too short": field("id", "ab"),
    "id not hexadecimal": field("id", "é" * 32),
    "type none": field("key_type", None),
    "type no hexadecimal": field("key_type", "zz"),
    "type no schema": field("key_type", "00" * 40),
    "type floating": lambda header, _: header["fields"].update(key_type=_type("float64")),
    "type nested": lambda header, _: header["fields"].update(key_type=_type("list")),
    "type date": lambda header, _: header["fields"].update(key_type=_type("date32")),
    "type narrow": lambda header, _: header["fields"].update(key_type=_type("int8")),
    "type fixed": lambda header, _: header["fields"].update(key_type=_type("fixed")),
    "kind unknown": lambda header, _: header.update(kind="sample"),
    "kind a list": lambda header, _: header.update(kind=[]),
    "fields a list": lambda header, _: header.update(fields=[]),
    "position a list": lambda header, _: header.update(position=[]),
    "no position": lambda header, _: header.pop("position"),
    "no counts": lambda _, arrays: arrays.pop("counts"),
    "key twice": doubled,
}
OF_TEXT: dict[str, Change] = {
    "offset beyond the data": put("offsets", 1, 2**40),
    "offset back": put("offsets", 1, 2**64 - 1),
    "offsets not rising": put("offsets", 2, 0),
    "offset first not zero": put("offsets", 0, 1),
    "offsets short": cut("offsets"),
    "offsets signed": cast("offsets", "<i8"),
    "no offsets": lambda _, arrays: arrays.pop("offsets"),
    "data short": cut("data"),
    "data not UTF-8": put("data", 0, 255),
    "words as well": lambda _, arrays: arrays.update(words=np.zeros(3, "<u8")),
}
OF_NUMBERS: dict[str, Change] = {
    "words signed": cast("words", "<i8"),
    "words narrow": cast("words", "<u4"),
    "words short": cut("words"),
    "type truth values": lambda header, _: header["fields"].update(key_type=_type("bool")),
    "type text": lambda header, _: header["fields"].update(key_type=_type("string")),
}
BOUNDED: dict[str, Change] = {
    "fewer counters than keys": field("counters", 2),
    "one counter": field("counters", 1),
    "no counters": field("counters", 0),
    "counters huge": field("counters", 2**40),
    "counters text": field("counters", "3"),
    "counters missing": lambda header, _: header["fields"].pop("counters"),
}
RANKED: dict[str, Change] = {
    "floor negative": field("floor", -1),
    "floor above the counts": field("floor", 9),
    "floor lost": field("floor", 0),
    "floor with counters free": field("counters", 4),
    "order missing": field("order", ""),
    "order short": field("order", "00" * 8),
    "order long": field("order", "00" * 24),
    "order no hexadecimal": field("order", "zz" * 16),
}


def _type(name: str) -> str | None:
    kinds = {"list": pa.list_(pa.int64()), "fixed": pa.binary(2), "bool": pa.bool_()}
    return type_to_text(kinds.get(name) or pa.type_for_alias(name))


def forgeries() -> Iterator[Any]:
    for kind in KINDS:
        for label, keys, own in (("text", TEXT, OF_TEXT), ("numbers", NUMBERS, OF_NUMBERS)):
            changes = COMMON | own
            changes |= BOUNDED if kind != "exact" else {}
            changes |= RANKED if kind == "misra-gries" else {}
            for name, change in changes.items():
                yield pytest.param(kind, keys, change, id=f"{kind}-{label}-{name}")


@pytest.mark.parametrize(("kind", "keys", "change"), list(forgeries()))
def test_parts_that_do_not_fit_are_refused(kind: str, keys: list[Any], change: Change) -> None:
    header, arrays = taken_apart(filled(kind, keys).to_bytes())
    assert load(put_together(header, arrays)).total == len(keys)
    change(header, arrays)
    assert refusal(put_together(header, arrays)) == MISFIT


HEADERS = ["", "{", "null", "[]", "3", '"x"', "{}", "[" * 100_000, '{"kind": NaN}', "\x00", '{"a":1}x']


@pytest.mark.parametrize("text", HEADERS, ids=range(len(HEADERS)))
def test_headers_that_are_none(text: str) -> None:
    assert refusal(sealed(text.encode(), {})) == MISFIT
    assert refusal(sealed(b"\xff" + text.encode(), {})) == MISFIT


LAYOUTS = [
    None,
    [["counts", "<i8", -1]],
    [["counts", "<i8", True]],
    [["counts", "<i8", 2**70]],
    [["counts", "O", 1]],
    [["counts", ["<i8"], 1]],
    [["counts", "<i8"]],
    [[["counts"], "<i8", 0]],
    [["counts", "<i8", 1], ["counts", "<i8", 0]],
    [],
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=range(len(LAYOUTS)))
def test_layouts_that_do_not_fit(layout: Any) -> None:
    header, arrays = taken_apart(filled("exact", NUMBERS).to_bytes())
    text = json.dumps({**header, "arrays": layout}).encode()
    assert refusal(sealed(text, arrays)) == MISFIT


JUNK: list[Any] = [None, -1, 0, True, "x", 1.5, 1e308, [], {}, 2**70, "00", [1], "é"]


@pytest.mark.parametrize("kind", KINDS)
def test_any_field_may_be_anything(kind: str) -> None:
    header, arrays = taken_apart(filled(kind, TEXT).to_bytes())
    for name in header["fields"]:
        for junk in JUNK:
            forged = {**header, "fields": {**header["fields"], name: junk}}
            assert refusal(put_together(forged, arrays)) == MISFIT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keys", [TEXT, NUMBERS], ids=["text", "numbers"])
def test_arrays_changed_anywhere_are_refused_or_still_a_sketch(kind: str, keys: list[Any]) -> None:
    rng = np.random.default_rng(1)
    header, arrays = taken_apart(filled(kind, keys).to_bytes())
    accepted = 0
    for _ in range(600):
        forged = {name: array.copy() for name, array in arrays.items()}
        name = list(forged)[rng.integers(len(forged))]
        octets = forged[name].view(np.uint8)
        octets[rng.integers(len(octets))] ^= rng.integers(1, 256)
        data = put_together(header, forged)
        sketch = loaded_or_refused(data)
        if sketch is None:
            continue
        accepted += 1
        assert sketch.to_bytes() == data
        sketch.update(keys * 3)
        assert sketch.total == 4 * len(keys)
    assert accepted


def test_the_type_changed_anywhere_is_refused_or_still_a_sketch() -> None:
    header, arrays = taken_apart(filled("exact", NUMBERS).to_bytes())
    text = header["fields"]["key_type"]
    rng = np.random.default_rng(2)
    for index in range(len(text) // 2):
        octets = bytearray.fromhex(text)
        octets[index] ^= int(rng.integers(1, 256))
        forged = {**header, "fields": {**header["fields"], "key_type": octets.hex()}}
        sketch = loaded_or_refused(put_together(forged, arrays))
        assert sketch is None or len(sketch.shape().keys) == len(arrays["counts"])


EARLIER = Path(__file__).parents[1] / "vectors" / "files"
FILES = sorted(EARLIER.glob("*-v1.hc"))
SMALLEST_OF_ALL = 1 << 20  # bytes that a forged file of a few hundred bytes may cost


def opened(data: bytes) -> Any:
    """Return what a file holds, or None if it is refused in a sentence without any context."""
    refused: SketchFileError | None = None
    try:
        return Oracle.load(data) if b'"kind": "oracle"' in data else load(data)
    except SketchFileError as error:
        refused = error
    assert str(refused) in (MISFIT, MISFIT.replace("sketch", "oracle")) or "GB of memory" in str(refused)
    assert refused.__cause__ is None
    assert refused.__context__ is None
    return None


def junk_in(value: Any, rng: np.random.Generator) -> Any:
    """Return a value of a header with one place of it replaced by anything."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = list(value)[rng.integers(len(value))]
        return {**value, name: junk_in(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = int(rng.integers(len(value)))
        return [*value[:place], junk_in(value[place], rng), *value[place + 1 :]]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + int(rng.integers(-3, 4))
    return JUNK[rng.integers(len(JUNK))]


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_kind_of_file_with_anything_in_it(path: Path) -> None:
    """Seeded, 150 headers and 150 arrays for each kind: refused, or something that can be written again."""
    rng = np.random.default_rng(len(path.name))
    header, arrays = taken_apart(path.read_bytes())
    accepted = 0
    for turn in range(300):
        if turn % 2:
            forged, parts = {**header, "fields": junk_in(header["fields"], rng)}, arrays
        else:
            forged, parts = header, {name: array.copy() for name, array in arrays.items()}
            octets = parts[list(parts)[rng.integers(len(parts))]].view(np.uint8)
            if len(octets):
                octets[rng.integers(len(octets))] ^= rng.integers(1, 256)
        found = opened(put_together(forged, parts))
        if found is not None:
            accepted += 1
            assert opened(found.to_bytes()) is not None
    assert accepted < 300


def test_a_small_file_costs_little_memory() -> None:
    """Sizes in a header are compared with what the file holds before anything is made for them."""
    largest = {"depth": 1024, "width": 1 << 26, "counters": 1 << 22}
    for path in FILES:
        header, arrays = taken_apart(path.read_bytes())
        data = put_together({**header, "fields": grown(header["fields"], largest)}, arrays)
        tracemalloc.start()
        opened(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < SMALLEST_OF_ALL, path.name


def grown(fields: Any, sizes: dict[str, int]) -> Any:
    """Return fields with every size as large as it can be, those of inner parts too."""
    if isinstance(fields, list):
        return [grown(each, sizes) for each in fields]
    if not isinstance(fields, dict):
        return fields
    return {name: sizes.get(name, grown(value, sizes)) for name, value in fields.items()}
