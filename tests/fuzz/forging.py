"""Sketch files with a good checksum and anything inside."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushcount.errors import SketchFileError
from hushcount.files.container import MAGIC, VERSION
from hushcount.sketches.counters import MisraGries, SpaceSaving
from hushcount.sketches.exact import Exact
from hushcount.sketches.kinds import load

Arrays = dict[str, np.ndarray[Any, Any]]


def taken_apart(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file."""
    stop = 16 + int.from_bytes(data[12:16], "little")
    header = json.loads(data[16:stop])
    arrays: Arrays = {}
    for name, kind, length in header["arrays"]:
        arrays[name] = np.frombuffer(data, kind, length, stop).copy()
        stop += arrays[name].nbytes
    return header, arrays


def put_together(header: Any, arrays: Arrays, version: int = VERSION) -> bytes:
    """A file of these parts; the layout in the header is made to fit the arrays."""
    if isinstance(header, dict) and "arrays" in header:
        layout = [[name, array.dtype.str, len(array)] for name, array in arrays.items()]
        header = {**header, "arrays": layout}
    return sealed(json.dumps(header, sort_keys=True).encode(), arrays, version)


def sealed(header: bytes, arrays: Arrays, version: int = VERSION) -> bytes:
    """A file with this text for a header, whatever it is."""
    front = MAGIC + version.to_bytes(4, "little") + len(header).to_bytes(4, "little")
    body = front + header + b"".join(array.tobytes() for array in arrays.values())
    return body + hashlib.sha256(body).digest()


MISFIT = "The sketch is damaged: its contents contradict each other."
TEXT = ["salt", "", "tea", "tea", "milk", "äöü", "tea", "milk", "rye"]
NUMBERS = [2**62, -1, 2**62, 5, 2**62, 7, 7, -(2**63), 0]
KINDS: dict[str, Callable[[], Any]] = {
    "space-saving": lambda: SpaceSaving(3),
    "misra-gries": lambda: MisraGries(3),
    "exact": Exact,
}


def filled(kind: str, keys: list[Any]) -> Any:
    sketch = KINDS[kind]()
    sketch.update(keys)
    return sketch


def refusal(data: bytes) -> str:
    with pytest.raises(SketchFileError) as error:
        load(data)
    return str(error.value)
