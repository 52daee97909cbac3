"""SpaceSaving: the heaviest keys of a stream in a fixed number of counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.privacy import check_count
from hushcount.shapes import FloorCounters, Public
from hushcount.sketches import codec
from hushcount.sketches.base import entries_from, entry_arrays, header_of, restore
from hushcount.sketches.counter_sketch import CounterSketch
from hushcount.sketches.table import CounterTable, Entries, Rule

if TYPE_CHECKING:
    from hushcount.sketches.merged import MergedCounters

LARGEST_COUNTERS = 1 << 22
SPREAD_WORDS = 6
SPREAD_BYTES = 5


class SpaceSaving(CounterSketch):
    """Counters for at most `counters` keys; a new key takes over the smallest counter.

    Among the keys of the smallest count, the one updated most recently gives way. A tracked key's count
    is at least its true count and at most `error_bound` above it; a key that is not tracked occurred at
    most `error_bound` times.

    >>> sketch = SpaceSaving(counters=2)
    >>> sketch.update(["a", "b", "a", "c"])
    >>> sketch.estimate(["a", "b", "c"]).tolist(), sketch.error_bound
    ([2, 0, 2], 2)
    """

    def __init__(self, counters: int = 4096) -> None:
        self.counters = check_counters(counters)
        super().__init__()

    @property
    def error_bound(self) -> int:
        """The floor: the smallest counter if all are in use, else 0."""
        return _floor(self._keys.entries(), self.counters)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(self.counters - 1, self.counters, unit=self.unit, shape=FloorCounters)

    def shape(self) -> FloorCounters:
        """Floor and candidates: tracked keys without the one next in line for eviction, if all are in use."""
        entries = self._keys.entries()
        floor = _floor(entries, self.counters)
        kept = np.ones(len(entries), bool)
        if floor:
            kept[np.flatnonzero(entries.counts == floor)[-1]] = False
        keys = self._key_array(entries).filter(pa.array(kept))
        size = self.counters
        return FloorCounters(keys, entries.counts[kept], floor, size - 1, size, self.unit)

    def merge(self, other: Any) -> MergedCounters:
        """A new summary of both streams; how its neighbours differ is another matter, so is its type."""
        from hushcount.sketches.merged import merge

        return merge(self, other)

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""
        entries = self._keys.entries()
        return "space-saving", header_of(self._keys, counters=self.counters), entry_arrays(entries)

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> SpaceSaving:
        """The sketch of which this was written."""
        sketch = cls(fields["counters"])
        restore(sketch._keys, fields, entries_from(arrays))
        return sketch

    def _table(self, of_bytes: bool) -> CounterTable:
        spread = SPREAD_BYTES if of_bytes else SPREAD_WORDS
        return CounterTable(self.counters, Rule.SPACE_SAVING, of_bytes=of_bytes, spread=spread)


def check_counters(counters: int) -> int:
    """Return a number of counters that a sketch can have, or raise."""
    if check_count("counters", counters, least=2) > LARGEST_COUNTERS:
        raise ParameterError(f"counters must be at most {LARGEST_COUNTERS}, got {counters}.")
    return int(counters)


def _floor(entries: Entries, counters: int) -> int:
    return int(entries.counts.min()) if len(entries) == counters else 0
