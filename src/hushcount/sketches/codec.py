"""Sketches as bytes: a versioned header, arrays, a checksum; whatever does not fit is refused.

Layout: magic (8 bytes), version (u32), length of the header (u32), the header as JSON, the arrays one
after the other (little-endian), SHA-256 of all before. The file is raw data, so only its owner may read it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from hushcount.errors import DataError, SketchFileError
from hushcount.files.atomic import PRIVATE, atomic_file

MAGIC = b"HUSHCNT\0"
VERSION = 1
ORACLE = "oracle"
_CHECKSUM = 32
_FRONT = 16

Arrays = dict[str, np.ndarray[Any, Any]]
Made = TypeVar("Made")

_CLASSES = {
    "space-saving": ("hushcount.sketches.space_saving", "SpaceSaving"),
    "misra-gries": ("hushcount.sketches.misra_gries", "MisraGries"),
    "exact": ("hushcount.sketches.exact", "Exact"),
    "merged": ("hushcount.sketches.merged", "MergedCounters"),
    "user-misra-gries": ("hushcount.sketches.user_misra_gries", "UserMisraGries"),
    "count-min": ("hushcount.sketches.linear", "CountMin"),
    "count-sketch": ("hushcount.sketches.linear", "CountSketch"),
    "tracked": ("hushcount.sketches.tracked", "TrackedSketch"),
    "hierarchy": ("hushcount.sketches.levels", "HierarchySketch"),
}


_DTYPES = ("<i8", "<u8", "|u1")

# Whatever may come up when bytes with a good checksum do not describe a sketch.
_MISFITS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    pa.ArrowException,
)


class Saved(Protocol):
    """What a sketch gives to be written, and takes to be made again."""

    def parts(self) -> tuple[str, dict[str, Any], Arrays]:
        """The kind, the header fields and the arrays."""
        ...


def encode(sketch: Saved, position: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a sketch, with the position in its source if there is one."""
    kind, fields, arrays = sketch.parts()
    layout = [[name, array.dtype.newbyteorder("<").str, len(array)] for name, array in arrays.items()]
    header = {"kind": kind, "fields": fields, "arrays": layout, "position": position}
    text = json.dumps(header, sort_keys=True).encode()
    front = MAGIC + VERSION.to_bytes(4, "little") + len(text).to_bytes(4, "little")
    body = b"".join([front, text, *(_little(array).tobytes() for array in arrays.values())])
    return body + hashlib.sha256(body).digest()


def save(sketch: Saved, path: str | os.PathLike[str], position: Mapping[str, Any] | None = None) -> None:
    """Write a sketch atomically, readable by its owner only."""
    data = encode(sketch, position)
    with atomic_file(path, PRIVATE) as stream:
        stream.write(data)


def load(source: str | os.PathLike[str] | bytes) -> Any:
    """Make a sketch again from a file or from bytes."""
    return load_with_position(source)[0]


def load_with_position(source: str | os.PathLike[str] | bytes) -> tuple[Any, dict[str, Any] | None]:
    """Make a sketch again, and the position that was saved beside it."""
    name, data = _read(source)
    _check(name, data)

    def make() -> tuple[Any, dict[str, Any] | None]:
        header, body = _split(data)
        if header["kind"] == ORACLE:
            raise SketchFileError(f"{name} is an oracle, not a sketch; ask it with hushcount oracle query.")
        module, kind = _CLASSES[header["kind"]]
        sketch = getattr(import_module(module), kind).from_parts(header["fields"], _arrays(header, body))
        return sketch, header["position"]

    return _fitted(name, make)


def load_oracle(source: str | os.PathLike[str] | bytes, of: Callable[[Any, Arrays], Made]) -> Made:
    """Make an oracle again `of` its fields and arrays."""
    name, data = _read(source)
    _check(name, data)

    def make() -> Made:
        header, body = _split(data)
        if header["kind"] != ORACLE:
            raise SketchFileError(f"{name} is a sketch, not an oracle; make one of it with hc.oracle.")
        return of(header["fields"], _arrays(header, body))

    return _fitted(name, make)


def _fitted(name: str, make: Callable[[], Made]) -> Made:
    try:
        return make()
    except SketchFileError:
        raise
    except _MISFITS:
        raise SketchFileError(f"{name} is damaged: its parts do not fit together.") from None


def _read(source: str | os.PathLike[str] | bytes) -> tuple[str, bytes]:
    if isinstance(source, bytes):
        return "The sketch", source
    try:
        return str(source), Path(source).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{source} does not exist.") from None
    except OSError as error:
        raise DataError(
            f"Cannot read {source}: {(error.strerror or 'input/output error').lower()}."
        ) from None


def _check(name: str, data: bytes) -> None:
    if data[: len(MAGIC)] != MAGIC:
        raise SketchFileError(f"{name} is not a hushcount sketch.")
    version = int.from_bytes(data[8:12], "little")
    if version > VERSION:
        raise SketchFileError(
            f"{name} was written by a newer hushcount (format {version}, this one reads up to {VERSION})."
        )
    if len(data) < _FRONT + _CHECKSUM or hashlib.sha256(data[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        raise SketchFileError(f"{name} is damaged: its checksum does not fit.")


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    if int.from_bytes(data[8:12], "little") != VERSION:
        raise ValueError("version")
    stop = _FRONT + int.from_bytes(data[12:_FRONT], "little")
    header: dict[str, Any] = json.loads(data[_FRONT:stop])
    if not isinstance(header["position"], dict | None):
        raise ValueError("position")
    return header, data[stop:-_CHECKSUM]


def _arrays(header: Mapping[str, Any], body: bytes) -> Arrays:
    arrays: Arrays = {}
    offset = 0
    for name, kind, length in header["arrays"]:
        if kind not in _DTYPES or type(length) is not int or length < 0 or name in arrays:
            raise ValueError("arrays")
        dtype = np.dtype(kind)
        arrays[name] = np.frombuffer(body, dtype, length, offset).astype(dtype.newbyteorder("="))
        offset += length * dtype.itemsize
    if offset != len(body):
        raise ValueError("arrays")
    return arrays


def _little(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def type_to_text(kind: pa.DataType | None) -> str | None:
    """A key type as text for the header."""
    if kind is None:
        return None
    return str(pa.schema([("key", kind)]).serialize().to_pybytes().hex())


def type_from_text(text: str | None) -> pa.DataType | None:
    """The key type that the header names."""
    if text is None:
        return None
    return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text))).field(0).type
