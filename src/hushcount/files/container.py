"""The one format of everything that hushcount writes for itself: sketches, checkpoints, oracles, states.

    magic    8 bytes    HUSHCNT and a zero byte
    version  4 bytes    1
    length   4 bytes    of the header
    header              JSON: kind, fields, arrays (name, type and length of each), position
    arrays              one after the other
    checksum 32 bytes   SHA-256 of everything before

Numbers are little-endian. `position` is how far a checkpoint has read its source; all else writes null.
Manifests of local campaigns are JSON and have their own reader; so do releases, which are made for people.

Nothing in a file is trusted: this module checks magic, version, checksum and layout, and whoever asks for a
kind checks the rest inside `fitted`. An array is only as large as the bytes that the file really has.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from hushcount.errors import DataError, SketchFileError, cannot_read
from hushcount.files.atomic import PRIVATE, atomic_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Arrays = Mapping[str, npt.NDArray[np.generic]]

MAGIC = b"HUSHCNT\0"
VERSION = 1
ORACLE = "oracle"
LDP_STATE = "ldp-aggregator"
# Before there was one container, states of local campaigns had a magic of their own. Their header is what
# `fields` is now, and their arrays are not described in it: they are handed over as one, named "body".
EARLIER_STATE = b"HUSHLDP\0"

_FRONT = 16
_CHECKSUM = 32
_TYPES = ("<i8", "<u8", "|u1")

Fields = dict[str, Any]
Source = str | os.PathLike[str] | bytes
Made = TypeVar("Made")

# What may be raised when a file with a good checksum describes nothing that hushcount could have written.
_CONTRADICTIONS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,  # too deeply nested JSON; types that Arrow has not implemented
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file says.

    Parameters
    ----------
    kind : str
        What was written, such as "space-saving" or "oracle".
    fields : dict
        Header fields that JSON can express.
    arrays : mapping of str to array
        Arrays of int64, uint64 or uint8, by name.
    position : dict, optional
        Of a checkpoint: how far it has read its source.
    """

    kind: str
    fields: Fields
    arrays: Arrays = field(default_factory=dict)
    position: Fields | None = None


def encode(contents: Contents) -> bytes:
    """Return the bytes of a file with these contents."""
    arrays = contents.arrays.items()
    little = {name: array.astype(array.dtype.newbyteorder("<"), copy=False) for name, array in arrays}
    header = {
        "kind": contents.kind,
        "fields": contents.fields,
        "arrays": [[name, array.dtype.str, len(array)] for name, array in little.items()],
        "position": contents.position,
    }
    text = json.dumps(header, sort_keys=True).encode()
    front = MAGIC + VERSION.to_bytes(4, "little") + len(text).to_bytes(4, "little")
    body = b"".join([front, text, *(array.tobytes() for array in little.values())])
    return body + hashlib.sha256(body).digest()


def write(path: str | os.PathLike[str], contents: Contents, mode: int = PRIVATE) -> None:
    """Write a file whole or not at all; by default only its owner may read it."""
    data = encode(contents)
    with atomic_file(path, mode) as stream:
        stream.write(data)


def read(source: Source, what: str = "sketch") -> Contents:
    """Return the contents of a file, or raise `SketchFileError` if it has none that can be trusted.

    Parameters
    ----------
    source : path or bytes
        The file, or what it holds.
    what : str
        What the caller expects, for messages: "sketch", "oracle".

    Returns
    -------
    Contents
        Kind, fields, arrays and position; whether they describe something is for the caller to check.
    """
    name = name_of(source, what)
    data = memoryview(source if isinstance(source, bytes) else _file(source, what))
    _check(name, data, what)
    return fitted(name, lambda: _contents(data))


def is_container(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a file that begins like one of hushcount; what cannot be read is none."""
    try:
        if not os.path.isfile(path):  # reading from a pipe would take its bytes away
            return False
        with open(path, "rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def name_of(source: Source, what: str = "sketch") -> str:
    """Return how messages call a source: its path, or "The sketch" for bytes."""
    return f"The {what}" if isinstance(source, bytes) else str(source)


def fitted(name: str, make: Callable[[], Made]) -> Made:
    """Return what `make` makes of a file; raise `SketchFileError` if the file contradicts itself.

    The new exception has no context: the one it replaces may quote a key.
    """
    try:
        return make()
    except SketchFileError:
        raise
    except _CONTRADICTIONS:
        pass
    raise SketchFileError(f"{name} is damaged: its contents contradict each other.")


def _file(path: str | os.PathLike[str], what: str) -> bytes:
    """Return the bytes of a file; one that is none of ours is not read beyond its first bytes."""
    try:
        with open(path, "rb") as file:
            magic = file.read(len(MAGIC))
            return magic + file.read() if magic in (MAGIC, EARLIER_STATE) else magic
    except FileNotFoundError:
        failure = DataError(f"{path} does not exist.")
    except OSError as error:
        failure = DataError(cannot_read(path, error))
    raise failure


def _check(name: str, data: memoryview, what: str) -> None:
    """Raise unless magic, version and checksum are right."""
    if data[: len(MAGIC)] not in (MAGIC, EARLIER_STATE):
        raise SketchFileError(f"{name} is not a hushcount {what}.")
    version = int.from_bytes(data[8:12], "little")
    if version > VERSION:
        raise SketchFileError(
            f"{name} was written by a newer hushcount (format {version}, this one reads up to {VERSION})."
        )
    if len(data) < _FRONT + _CHECKSUM or hashlib.sha256(data[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        raise SketchFileError(f"{name} is damaged: its contents do not match its checksum.")


def _contents(data: memoryview) -> Contents:
    """Return the contents of a file whose checksum is right; raise any of the contradictions."""
    if int.from_bytes(data[8:12], "little") != VERSION:
        raise ValueError("version")
    stop = _FRONT + int.from_bytes(data[12:_FRONT], "little")
    header = json.loads(bytes(data[_FRONT:stop]))
    body = data[stop:-_CHECKSUM]
    if data[: len(MAGIC)] == EARLIER_STATE:
        layout = [["body", "|u1", len(body)]]
        header = {"kind": LDP_STATE, "fields": header, "arrays": layout, "position": None}
    kind, fields, position = header["kind"], header["fields"], header["position"]
    if not (isinstance(kind, str) and isinstance(fields, dict) and isinstance(position, dict | None)):
        raise TypeError("header")
    return Contents(kind, fields, _arrays(header["arrays"], body), position)


def _arrays(layout: list[tuple[str, str, int]], body: memoryview) -> Arrays:
    """Return copies of the arrays that the layout describes; they take up the whole body."""
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    offset = 0
    for name, kind, length in layout:
        if kind not in _TYPES or type(length) is not int or length < 0 or name in arrays:
            raise ValueError("arrays")
        arrays[name] = _array(kind, body[offset:], length)
        offset += arrays[name].nbytes
    if offset != len(body):
        raise ValueError("arrays")
    return arrays


def _array(kind: str, body: memoryview, length: int) -> npt.NDArray[np.generic]:
    """Return the first `length` values in the byte order of this machine."""
    import numpy as np  # here, so that a client of a local campaign, whose state has no arrays, needs none

    dtype = np.dtype(kind)
    return np.frombuffer(body, dtype, length).astype(dtype.newbyteorder("="))


def type_to_text(kind: pa.DataType | None) -> str | None:
    """Return the Arrow type of keys as text for a header; None if there are no keys yet."""
    import pyarrow as pa

    return None if kind is None else str(pa.schema([("key", kind)]).serialize().to_pybytes().hex())


def type_from_text(text: str | None) -> pa.DataType | None:
    """Return the Arrow type that a header names; raise ValueError if it names none."""
    import pyarrow as pa

    if text is None:
        return None
    try:
        return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text))).field(0).type
    except (pa.ArrowException, IndexError):
        raise ValueError("type") from None
