"""Exact counts of all keys: the reference, where memory is no matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hushcount.keys.arrays import ByteKeys, Keys
from hushcount.shapes import Histogram, Public
from hushcount.sketches import codec
from hushcount.sketches.base import entries_from, entry_arrays, header_of, restore
from hushcount.sketches.counter_sketch import CounterSketch
from hushcount.sketches.table import CounterTable, Entries, Rule

SPREAD = 3
FIRST_COUNTERS = 1 << 12


class Exact(CounterSketch):
    """A count for every key; memory grows with the number of distinct keys.

    >>> sketch = Exact()
    >>> sketch.update([7, 8, 7])
    >>> sketch.estimate([7, 8, 9]).tolist(), sketch.error_bound
    ([2, 1, 0], 0)
    """

    error_bound = 0

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(unit=self.unit, shape=Histogram)

    def shape(self) -> Histogram:
        """All keys with their counts."""
        entries = self._keys.entries()
        return Histogram(self._key_array(entries), entries.counts, self.unit)

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

    def _table(self, of_bytes: bool) -> GrowingTable:
        return GrowingTable(of_bytes)


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
