"""Misra-Gries (Lebeda and Tětek 2023, Algorithm 1): counters that all decrease when a new key finds none
at zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hushcount.secure import fresh_key
from hushcount.shapes import FloorCounters, Public
from hushcount.sketches import codec
from hushcount.sketches.base import entries_from, entry_arrays, header_of, restore
from hushcount.sketches.counter_sketch import CounterSketch
from hushcount.sketches.space_saving import SPREAD_BYTES, SPREAD_WORDS, check_counters
from hushcount.sketches.table import CounterTable, Rule

if TYPE_CHECKING:
    from hushcount.sketches.merged import MergedCounters


class MisraGries(CounterSketch):
    """`counters` keys; a key's counter is at most its true count, and at most `error_bound` below it.

    A key whose counter is at zero stays until another needs the counter; among those the first in the
    order of a keyed hash gives way, which no stream can influence.

    >>> sketch = MisraGries(counters=2)
    >>> sketch.update(["a", "b", "a", "c"])
    >>> sketch.estimate(["a", "b", "c"]).tolist(), sketch.error_bound
    ([1, 0, 0], 1)
    """

    def __init__(self, counters: int = 4096) -> None:
        self.counters = check_counters(counters)
        self._order = fresh_key()
        super().__init__()

    @property
    def error_bound(self) -> int:
        """How often all counters were decremented."""
        self._keys.flush()
        return self._keys.table.floor if self._keys.table is not None else 0

    def estimate(self, keys: Any) -> npt.NDArray[np.int64]:
        """Counters of keys, 0 for those not tracked."""
        return np.maximum(self._keys.lookup(keys) - self.error_bound, 0)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(self.counters, self.counters + 1, unit=self.unit, shape=FloorCounters)

    def shape(self) -> FloorCounters:
        """The decrements as floor, and all tracked keys with their counters above it."""
        entries = self._keys.entries()
        keys = self._key_array(entries)
        floor, size = self.error_bound, self.counters
        return FloorCounters(keys, entries.counts, floor, size, size + 1, self.unit)

    def merge(self, other: Any) -> MergedCounters:
        """A new summary of both streams; how its neighbours differ is another matter, so is its type."""
        from hushcount.sketches.merged import merge

        return merge(self, other)

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""
        entries = self._keys.entries()
        order = self._order.hex()
        fields = header_of(self._keys, counters=self.counters, floor=self.error_bound, order=order)
        return "misra-gries", fields, entry_arrays(entries)

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> MisraGries:
        """The sketch of which this was written."""
        sketch = cls(fields["counters"])
        sketch._order = bytes.fromhex(fields["order"])
        restore(sketch._keys, fields, entries_from(arrays), fields["floor"], sketch._order)
        return sketch

    def _table(self, of_bytes: bool) -> CounterTable:
        spread = SPREAD_BYTES if of_bytes else SPREAD_WORDS
        table = CounterTable(self.counters, Rule.MISRA_GRIES, of_bytes=of_bytes, spread=spread)
        table.rewind(self._order, floor=0)  # ranked from the first key on as any copy of it will be
        return table
