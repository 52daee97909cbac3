"""Exact counts of all keys: the reference, where memory is no matter."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.sketches import codec
from hushcount.sketches.base import Counting, entries_from, entry_arrays, header_of, restore
from hushcount.sketches.counter_table import CounterTable, Entries, Rule
from hushcount.sketches.keys import ByteKeys, Keys, from_kernel
from hushcount.sketches.shapes import Histogram

SPREAD = 3
FIRST_COUNTERS = 1 << 12


class Exact:
    """A count for every key; memory grows with the number of distinct keys.

    >>> sketch = Exact()
    >>> sketch.update([7, 8, 7])
    >>> sketch.estimate([7, 8, 9]).tolist(), sketch.error_bound
    ([2, 1, 0], 0)
    """

    error_bound = 0

    def __init__(self) -> None:
        self._keys = Counting(GrowingTable)

    @property
    def id(self) -> str:
        """A random name of this sketch, kept when it is saved."""
        return self._keys.id

    @property
    def total(self) -> int:
        """How many keys have been counted."""
        self._keys.flush()
        return self._keys.total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys, once there are any."""
        self._keys.flush()
        return self._keys.key_type

    def update(self, keys: Any) -> None:
        """Count a batch of keys: any array, frame column or iterable."""
        self._keys.update(keys)

    def add(self, key: Any) -> None:
        """Count one key."""
        self._keys.add(key)

    def estimate(self, keys: Any) -> npt.NDArray[np.int64]:
        """Counts of keys."""
        return self._keys.lookup(keys)

    def shape(self) -> Histogram:
        """All keys with their counts."""
        entries = self._keys.entries()
        kind = self._keys.key_type or pa.string()
        keys = from_kernel(entries.keys, kind) if len(entries) else pa.array([], kind)
        return Histogram(keys, entries.counts)

    def to_bytes(self, position: Mapping[str, Any] | None = None) -> bytes:
        """The sketch as bytes: raw data, to be kept as such."""
        return codec.encode(self, position)

    def save(self, path: str | os.PathLike[str], position: Mapping[str, Any] | None = None) -> None:
        """Write the sketch to a file for its owner alone: raw data, to be kept as such."""
        codec.save(self, path, position)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        """Copies and pickles go by the bytes of the sketch."""
        return codec.load, (self.to_bytes(),)

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""
        entries = self._keys.entries()
        return "exact", header_of(self._keys), entry_arrays(entries)

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> Exact:
        """The sketch of which this was written."""
        sketch = cls()
        restore(sketch._keys, fields, entries_from(arrays))
        return sketch


class GrowingTable:
    """A counter table that doubles before it could ever evict."""

    def __init__(self, of_bytes: bool) -> None:
        self.of_bytes = of_bytes
        self._table = self._of(FIRST_COUNTERS)

    def count(self, keys: Keys) -> None:
        """Count keys."""
        for part in _parts(keys):
            self._reserve(self._table.used + len(part) + 1)
            self._table.count(part)

    def lookup(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Counts of keys, 0 for those not seen."""
        return self._table.lookup(keys)

    def entries(self) -> Entries:
        """All keys."""
        return self._table.entries()

    def restore(self, entries: Entries) -> None:
        """Fill an empty table."""
        self._reserve(len(entries) + 1)
        self._table.restore(entries)

    def _reserve(self, counters: int) -> None:
        if counters <= self._table.counters:
            return
        entries = self._table.entries()
        self._table = self._of(max(counters, 2 * self._table.counters))
        self._table.restore(entries)

    def _of(self, counters: int) -> CounterTable:
        return CounterTable(counters, Rule.EXACT, of_bytes=self.of_bytes, spread=SPREAD)


def _parts(keys: Keys) -> list[Keys]:
    """Cut keys so small that the reserve for them stays small."""
    step = FIRST_COUNTERS
    if isinstance(keys, ByteKeys):
        return [ByteKeys(keys.data, keys.offsets[i : i + step + 1]) for i in range(0, len(keys), step)]
    return [keys[i : i + step] for i in range(0, len(keys), step)]
