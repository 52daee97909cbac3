"""What all counter sketches share: a buffer for single keys, the key type, totals, identity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.errors import DataError
from hushcount.keys.arrays import ByteKeys, Keys, held_as, is_bytes, to_kernel
from hushcount.keys.memory import asked_arrays, key_arrays
from hushcount.secure import fresh_key
from hushcount.sketches.codec import type_from_text, type_to_text
from hushcount.sketches.consistency import check_fields, check_keys
from hushcount.sketches.table import LARGEST_TOTAL, Entries

BUFFER = 4096


class Table(Protocol):
    """Counters of keys behind a sketch."""

    def count(self, keys: Keys) -> None:
        """Count keys in their order."""
        ...

    def lookup(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Counts of keys, 0 for those not tracked."""
        ...

    def entries(self) -> Entries:
        """All tracked keys."""
        ...


class Counting:
    """Keys in, a table of counters behind; the table is made when the type of the keys is known.

    `table_of(of_bytes)` makes an empty table.
    """

    def __init__(self, table_of: Callable[[bool], Any]) -> None:
        self.id = fresh_key().hex()
        self.total = 0
        self.key_type: pa.DataType | None = None
        self.table: Any = None
        self._table_of = table_of
        self._buffer: list[Any] = []

    def update(self, keys: Any) -> None:
        """Count a batch of keys in its order."""
        self.flush()
        self._count(keys)

    def add(self, key: Any) -> None:
        """Count one key; a few thousand wait together."""
        if self._buffer and type(key) is not type(self._buffer[-1]):
            self.flush()  # so that a key of another type fails without those that wait
        self._buffer.append(key)
        if len(self._buffer) >= BUFFER:
            self.flush()

    def flush(self) -> None:
        """Count the keys that wait."""
        waiting, self._buffer = self._buffer, []
        if waiting:
            self._count(waiting)

    def open(self, kind: pa.DataType) -> None:
        """Fix the type of the keys and make the table."""
        self.key_type = held_as(kind)
        self.table = self._table_of(is_bytes(self.key_type))

    def lookup(self, keys: Any) -> npt.NDArray[np.int64]:
        """Counts of keys, 0 for those not tracked."""
        self.flush()
        arrays = list(asked_arrays(keys))
        if self.table is None:
            return np.zeros(sum(map(len, arrays)), np.int64)
        found = [self.table.lookup(to_kernel(array, self.key_type)) for array in arrays]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def entries(self) -> Entries:
        """All tracked keys with their counts."""
        self.flush()
        if self.table is None:
            return Entries(np.zeros(0, np.uint64), np.zeros(0, np.int64))
        entries: Entries = self.table.entries()
        return entries

    def _count(self, keys: Any) -> None:
        for array in key_arrays(keys):
            if not len(array):
                continue
            if self.table is None:
                self.open(array.type)
            if self.total + len(array) > LARGEST_TOTAL:
                raise DataError(f"A sketch counts at most {LARGEST_TOTAL} events; start another.")
            self.table.count(to_kernel(array, self.key_type))
            self.total += len(array)


def entry_arrays(entries: Entries) -> dict[str, np.ndarray[Any, Any]]:
    """Entries as arrays to be written."""
    if isinstance(entries.keys, ByteKeys):
        keys: dict[str, np.ndarray[Any, Any]] = {"data": entries.keys.data, "offsets": entries.keys.offsets}
    else:
        keys = {"words": entries.keys}
    return {**keys, "counts": entries.counts}


def entries_from(arrays: dict[str, np.ndarray[Any, Any]]) -> Entries:
    """Entries from arrays that were read."""
    if "words" in arrays:
        return Entries(arrays["words"], arrays["counts"])
    return Entries(ByteKeys(arrays["data"], arrays["offsets"]), arrays["counts"])


def header_of(keys: Counting, **fields: Any) -> dict[str, Any]:
    """The header fields that all counter sketches write."""
    return {"id": keys.id, "total": keys.total, "key_type": type_to_text(keys.key_type), **fields}


def restore(
    keys: Counting, fields: Mapping[str, Any], entries: Entries, floor: int = 0, order: bytes = b""
) -> None:
    """Fill new counters with what was written; `order` is the hash key of a table that ranks by hash."""
    kind = type_from_text(fields["key_type"])
    check_fields(fields, entries, kind, floor)
    keys.id = fields["id"]
    keys.total = fields["total"]
    if kind is not None:
        check_keys(entries.keys, kind)
        keys.open(kind)
        if order:
            keys.table.rewind(order, floor)
        keys.table.restore(entries)
        if len(keys.table.entries()) != len(entries):  # a key that came twice took its own place
            raise ValueError("keys")
