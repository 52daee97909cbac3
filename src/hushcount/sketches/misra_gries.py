"""Misra-Gries (Lebeda and Tětek 2023, Algorithm 1).

When all counters are in use and none is zero, a new key decrements every counter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.secure import fresh_key
from hushcount.shapes import FloorCounters, Public
from hushcount.sketches.base import alone
from hushcount.sketches.held import check_memory, need
from hushcount.sketches.space_saving import StreamCounters
from hushcount.sketches.table import CounterTable, Rule

if TYPE_CHECKING:
    from hushcount.files.container import Contents
    from hushcount.keys.memory import Data


class MisraGries(StreamCounters):
    """`counters` keys; a key's counter is at most its true count, and at most `error_bound` below it.

    A key whose counter is zero stays until another needs the counter. Of several such keys the first in the
    order of a keyed hash is evicted, an order that no stream can influence.

    Parameters
    ----------
    counters : int
        The number of keys that can be tracked, 2 to 4,194,304.

    Examples
    --------
    >>> sketch = MisraGries(counters=2)
    >>> sketch.update(["a", "b", "a", "c"])
    >>> sketch.estimate(["a", "b", "c"]).tolist(), sketch.error_bound
    ([1, 0, 0], 1)
    """

    rule = Rule.MISRA_GRIES

    def __init__(self, counters: int = 4096) -> None:
        super().__init__(counters)
        self._order = fresh_key()
        self._first_floor = 0  # of a sketch that was read, the floor it was written with

    @property
    @alone
    def error_bound(self) -> int:
        """How often all counters were decremented."""
        self.flush()
        return 0 if self._table is None else self._table.decrements

    @alone
    def estimate(self, keys: Data) -> Counts:
        """Return the counters of keys, 0 for those not tracked.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys to look up; none may be null.
        """
        counts: Counts = np.maximum(super().estimate(keys) - self.error_bound, 0)
        return counts

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(self.counters, self.counters + 1, unit=self.unit, shape=FloorCounters)

    @alone
    def shape(self) -> FloorCounters:
        """Return the decrements as floor, and all tracked keys with their counters above it."""
        entries = self.entries()
        keys, size = self.key_array(entries), self.counters
        return FloorCounters(keys, entries.counts, self.error_bound, size, size + 1, self.unit)

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        order, floor = self._order.hex(), self.error_bound
        return self._saved_as("misra-gries", counters=self.counters, floor=floor, order=order)

    @classmethod
    def from_contents(cls, contents: Contents) -> MisraGries:
        """Return the sketch that `contents` described, or raise if it describes none."""
        fields = contents.fields
        need("order", len(fields["order"]) == 32)
        sketch = cls(fields["counters"])
        check_memory(cls.memory_bound(sketch.counters), contents.arrays)
        sketch._order = bytes.fromhex(fields["order"])
        sketch._first_floor = fields["floor"]
        sketch._restore(contents, fields["floor"])
        return sketch

    def _new_table(self, of_bytes: bool) -> CounterTable:
        table = super()._new_table(of_bytes)
        table.rewind(self._order, self._first_floor)  # so that all copies evict in the same order
        return table
