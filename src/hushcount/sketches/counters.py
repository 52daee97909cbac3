"""SpaceSaving and Misra-Gries: the heaviest keys of a stream in a fixed number of counters."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Mask
from hushcount.files.container import Contents
from hushcount.keys.memory import Data
from hushcount.privacy import check_count
from hushcount.secure import fresh_key
from hushcount.shapes import FloorCounters, Public
from hushcount.sketches import table
from hushcount.sketches.base import CounterSketch, alone
from hushcount.sketches.coded.batch import PreparedKeys
from hushcount.sketches.held import Held, check_memory, need
from hushcount.sketches.merged import MergedCounters, merge
from hushcount.sketches.several import check_room
from hushcount.sketches.table import CounterTable, Entries, Rule

if TYPE_CHECKING:
    from hushcount.sketches.foreign import ForeignMisraGries

LARGEST_COUNTERS = 1 << 22
SPREAD_WORDS = 6
SPREAD_BYTES = 5


class StreamCounters(CounterSketch):
    """A sketch of one stream in a fixed number of counters."""

    rule: ClassVar[Rule]

    def __init__(self, counters: int = 4096) -> None:
        self.counters = check_counters(counters)
        super().__init__()

    @staticmethod
    def memory_bound(counters: int, max_key_bytes: int = 0) -> int:
        """Return the most bytes of memory that a sketch takes, whatever is counted.

        Parameters
        ----------
        counters : int
            The number of counters.
        max_key_bytes : int
            The length of the longest key in bytes; 0 for numbers, dates and other keys of up to 64 bits.
        """
        return table.memory_bound(check_counters(counters), _spread(max_key_bytes > 0), max_key_bytes)

    @property
    @abstractmethod
    def candidates(self) -> int:
        """The number of keys that a release may publish at most."""

    @abstractmethod
    def _floor(self, entries: Entries) -> int:
        """Return the floor of the sketch whose entries these are."""

    def _kept(self, counts: Counts, floor: int) -> Mask:
        """Return which entries are candidates."""
        return np.ones(len(counts), np.bool_)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(self.candidates, self.candidates + 1, unit=self.unit, shape=FloorCounters)

    @alone
    def shape(self) -> FloorCounters:
        """Return the floor, and the candidates with their counts, of which the floor is a part."""
        entries, size = self.entries(), self.candidates
        floor = self._floor(entries)
        kept = self._kept(entries.counts, floor)
        keys = self.key_array(entries).filter(pa.array(kept))
        return FloorCounters(keys, entries.counts[kept], floor, size, size + 1, self.unit)

    def merge(self, other: object) -> MergedCounters:
        """Return a sketch of both streams. Merging raises the sensitivity, so the result has its own type.

        Parameters
        ----------
        other : SpaceSaving, MisraGries or what they merge to
            A sketch of other events, with as many counters and keys of the same type.
        """
        return merge(self, other)

    @alone
    def as_merged(self) -> MergedCounters:
        """Return the candidates above the floor, which are the counters of Misra-Gries."""
        shape = self.shape()
        above = shape.counts > shape.floor
        keys = None if self._key_type is None else shape.keys.filter(pa.array(above))
        held = Held(keys, shape.counts[above] - shape.floor, shape.floor, self._total)
        return MergedCounters(shape.candidates, held, (self.id,), self.unit)

    def prepared(self, keys: Data) -> PreparedKeys:
        """Return a batch ready to be counted, or raise; the sketch does not change."""
        batch = PreparedKeys.shared(keys, self._key_type)
        if batch is None:
            return super().prepared(keys)
        check_room(self._total, batch.rows)
        return batch

    def _new_table(self, of_bytes: bool) -> CounterTable:
        return CounterTable(self.counters, self.rule, of_bytes=of_bytes, spread=_spread(of_bytes))


class SpaceSaving(StreamCounters):
    """Counters for at most `counters` keys; a new key takes over the smallest counter.

    Among the keys of the smallest count, the one updated most recently is evicted. A tracked key's count
    is at least its true count and at most `error_bound` above it; a key that is not tracked occurred at
    most `error_bound` times. Memory never exceeds `memory_bound`.

    Parameters
    ----------
    counters : int
        The number of keys that can be tracked, 2 to 4,194,304.

    Examples
    --------
    >>> sketch = SpaceSaving(counters=2)
    >>> sketch.update(["a", "b", "a", "c"])
    >>> sketch.estimate(["a", "b", "c"]).tolist(), sketch.error_bound
    ([2, 0, 2], 2)
    """

    rule = Rule.SPACE_SAVING

    @property
    def candidates(self) -> int:
        """All keys but one: the key to be evicted next is not published."""
        return self.counters - 1

    @property
    @alone
    def error_bound(self) -> int:
        """The floor: the smallest counter if all are in use, else 0."""
        return self._floor(self.entries())

    def _floor(self, entries: Entries) -> int:
        """Return the smallest count if all counters are in use, else 0."""
        return int(entries.counts.min()) if len(entries) == self.counters else 0

    def _kept(self, counts: Counts, floor: int) -> Mask:
        """Return all entries, without the key to be evicted next if all counters are in use."""
        kept = super()._kept(counts, floor)
        if floor:
            kept[np.flatnonzero(counts == floor)[-1]] = False
        return kept

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        return self._saved_as("space-saving", counters=self.counters)

    @classmethod
    def from_contents(cls, contents: Contents) -> SpaceSaving:
        """Return the sketch that `contents` described, or raise if it describes none."""
        sketch = cls(contents.fields["counters"])
        check_memory(cls.memory_bound(sketch.counters), contents.arrays)
        sketch._restore(contents)
        return sketch


class MisraGries(StreamCounters):
    """`counters` keys; a key's counter is at most its true count, and at most `error_bound` below it.

    When all counters are in use and none is zero, a new key decrements every counter (Lebeda and Tětek 2023,
    Algorithm 1). A key whose counter is zero stays until another needs the counter. Of several such keys the
    first in the order of a keyed hash is evicted, an order that no stream can influence.

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

    @staticmethod
    def from_counters(keys: Data, counts: Data, *, counters: int) -> ForeignMisraGries:
        """Return the Misra-Gries table of another program, which `hc.release` publishes by pmg-standard.

        The other program must have counted one stream in its order, each event as 1, by the rule of Misra and
        Gries: with all counters in use, a new key lowers every counter by 1 and is not kept. Nothing in a
        table shows whether it did; for other rules see docs/foreign-sketches.md.

        Parameters
        ----------
        keys : array, frame column or iterable
            The keys of the table, each once.
        counts : array, frame column or iterable
            The counter of each key, whole numbers; keys with 0 are left out.
        counters : int
            How many counters the other program had, used or not: a public number.

        Examples
        --------
        >>> MisraGries.from_counters(["tea", "milk"], [5000, 3], counters=64).estimate(["tea"]).tolist()
        [5000]
        """
        from hushcount.sketches.foreign import ForeignMisraGries

        return ForeignMisraGries.of(keys, counts, counters)

    @property
    def candidates(self) -> int:
        """All keys, those whose counter is zero included."""
        return self.counters

    @property
    @alone
    def error_bound(self) -> int:
        """How often all counters were decremented."""
        self.flush()
        return 0 if self._table is None else self._table.decrements

    def _floor(self, entries: Entries) -> int:
        """Return the number of decrements."""
        return self.error_bound

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


def check_counters(counters: int) -> int:
    """Return a number of counters that a sketch can have, or raise."""
    return check_count("counters", counters, least=2, most=LARGEST_COUNTERS)


def _spread(of_bytes: bool) -> int:
    """Return how many slots a table has for each counter."""
    return SPREAD_BYTES if of_bytes else SPREAD_WORDS
