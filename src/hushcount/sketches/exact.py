"""Exact counts of all keys: for data whose distinct keys fit in memory."""

from __future__ import annotations

from hushcount.compiled.arrays import Words
from hushcount.errors import NotProvedError
from hushcount.files.container import Contents
from hushcount.keys.arrays import ByteKeys, Keys, sum_by_key, to_kernel
from hushcount.shapes import Histogram, Public
from hushcount.sketches.base import CounterSketch, alone
from hushcount.sketches.merged import check_alike, check_apart
from hushcount.sketches.table import ONCE, CounterTable, Entries, Rule

SPREAD = 3
FIRST_COUNTERS = 1 << 12


class GrowingTable(CounterTable):
    """A counter table that doubles before it could ever evict."""

    def __init__(self, of_bytes: bool) -> None:
        super().__init__(FIRST_COUNTERS, Rule.EXACT, of_bytes=of_bytes, spread=SPREAD)

    def count(self, keys: Keys, times: Words = ONCE) -> None:
        """Count keys, key i for times[i] events."""
        done = 0
        for some in _slices(keys):
            self._reserve(self.used + len(some) + 1)
            super().count(some, times[done : done + len(some)])
            done += len(some)

    def restore(self, entries: Entries) -> None:
        """Fill an empty table."""
        self._reserve(len(entries) + 1)
        super().restore(entries)

    def _reserve(self, counters: int) -> None:
        """Make the table large enough for this many keys."""
        if counters > self.counters:
            entries = self.entries()
            self.clear(max(counters, 2 * self.counters))
            super().restore(entries)


class Exact(CounterSketch):
    """A count for every key; memory grows with the number of distinct keys.

    Examples
    --------
    >>> sketch = Exact()
    >>> sketch.update([7, 8, 7])
    >>> sketch.estimate([7, 8, 9]).tolist(), sketch.error_bound
    ([2, 1, 0], 0)
    """

    error_bound = 0

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(unit=self.unit, shape=Histogram)

    @alone
    def shape(self) -> Histogram:
        """Return all keys with their counts."""
        entries = self.entries()
        return Histogram(self.key_array(entries), entries.counts, self.unit)

    def merge(self, other: object) -> Exact:
        """Return the counts of both.

        Parameters
        ----------
        other : Exact
            Counts of other events, or other users, with keys of the same type.
        """
        if not isinstance(other, Exact):
            raise NotProvedError(f"exact counts merge with exact counts only, got {type(other).__name__}.")
        sides = [self, other]
        check_apart([self.id, other.id])
        check_alike([self.unit, other.unit], [self.key_type, other.key_type])
        shapes = [side.shape() for side in sides if side.key_type is not None]
        both = Exact()
        both.unit = self.unit
        if not shapes:
            return both
        kind = shapes[0].keys.type
        keys, counts = sum_by_key([shape.keys for shape in shapes], [shape.counts for shape in shapes])
        both.open(kind).restore(Entries(to_kernel(keys, kind), counts))
        both._total = sum(side.total for side in sides)
        return both

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        return self._saved_as("exact")

    @classmethod
    def from_contents(cls, contents: Contents) -> Exact:
        """Return the sketch that `contents` described, or raise if it describes none."""
        sketch = cls()
        sketch._restore(contents)
        return sketch

    def _new_table(self, of_bytes: bool) -> GrowingTable:
        return GrowingTable(of_bytes)


def _slices(keys: Keys) -> list[Keys]:
    """Cut keys into slices so short that the reserve for one, if all its keys are new, stays small."""
    step = FIRST_COUNTERS
    if isinstance(keys, ByteKeys):
        return [ByteKeys(keys.data, keys.offsets[i : i + step + 1]) for i in range(0, len(keys), step)]
    return [keys[i : i + step] for i in range(0, len(keys), step)]
