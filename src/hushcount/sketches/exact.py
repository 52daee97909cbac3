"""Exact counts of all keys: for data whose distinct keys fit in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.compiled.arrays import Counts
from hushcount.keys.arrays import ByteKeys, Keys
from hushcount.privacy import USER, PrivacyUnit, check_count
from hushcount.shapes import Histogram, ManyKeys, Public
from hushcount.sketches.base import CounterSketch, alone
from hushcount.sketches.table import CounterTable, Entries, Rule

if TYPE_CHECKING:
    from hushcount.files.container import Contents
    from hushcount.keys.memory import Data

SPREAD = 3
FIRST_COUNTERS = 1 << 12


class GrowingTable:
    """A counter table that doubles before it could ever evict."""

    decrements = 0

    def __init__(self, of_bytes: bool) -> None:
        self.of_bytes = of_bytes
        self._table = self._of(FIRST_COUNTERS)

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the table has reserved."""
        return self._table.nbytes

    def count(self, keys: Keys) -> None:
        """Count keys."""
        for some in _slices(keys):
            self._reserve(self._table.used + len(some) + 1)
            self._table.count(some)

    def lookup(self, keys: Keys) -> Counts:
        """Return the counts of keys, 0 for those not seen."""
        return self._table.lookup(keys)

    def entries(self) -> Entries:
        """Return all keys."""
        return self._table.entries()

    def restore(self, entries: Entries) -> None:
        """Fill an empty table."""
        self._reserve(len(entries) + 1)
        self._table.restore(entries)

    def _reserve(self, counters: int) -> None:
        """Make the table large enough for this many keys."""
        if counters <= self._table.counters:
            return
        entries = self._table.entries()
        self._table = self._of(max(counters, 2 * self._table.counters))
        self._table.restore(entries)

    def _of(self, counters: int) -> CounterTable:
        return CounterTable(counters, Rule.EXACT, of_bytes=self.of_bytes, spread=SPREAD)


class Exact(CounterSketch[GrowingTable]):
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


@dataclass(slots=True)
class UserHistogram:
    """Exact numbers of users by key, given that no user was counted for more than `max_keys` keys.

    Parameters
    ----------
    exact : Exact
        The counts; each user was counted once for each of at most `max_keys` keys.
    max_keys : int
        The largest number of keys of one user.
    """

    exact: Exact
    max_keys: int
    unit: PrivacyUnit = USER

    def __post_init__(self) -> None:
        self.max_keys = check_count("max_keys", self.max_keys)

    @property
    def total(self) -> int:
        """The number of (user, key) pairs counted."""
        return self.exact.total

    def update(self, keys: Data) -> None:
        """Count the keys of users, each once per user."""
        self.exact.update(keys)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(unit=self.unit, moved=self.max_keys, shape=ManyKeys)

    def shape(self) -> ManyKeys:
        """Return all keys; one user can change at most `max_keys` counts, each by 1."""
        histogram = self.exact.shape()
        return ManyKeys(histogram.keys, histogram.counts, self.max_keys, unit=self.unit)


def _slices(keys: Keys) -> list[Keys]:
    """Cut keys into slices so short that the reserve for one, if all its keys are new, stays small."""
    step = FIRST_COUNTERS
    if isinstance(keys, ByteKeys):
        return [ByteKeys(keys.data, keys.offsets[i : i + step + 1]) for i in range(0, len(keys), step)]
    return [keys[i : i + step] for i in range(0, len(keys), step)]
