"""SpaceSaving: the heaviest keys of a stream in a fixed number of counters."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.privacy import check_count
from hushcount.shapes import FloorCounters, Public
from hushcount.sketches import table
from hushcount.sketches.base import CounterSketch, alone
from hushcount.sketches.held import Held, check_memory
from hushcount.sketches.merged import MergedCounters, Side, heights, merge
from hushcount.sketches.table import CounterTable, Entries, Rule

if TYPE_CHECKING:
    from hushcount.files.container import Contents

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

    @abstractmethod
    def shape(self) -> FloorCounters:
        """Return the floor and the candidates."""

    def merge(self, other: object) -> MergedCounters:
        """Return a sketch of both streams. Merging raises the sensitivity, so the result has its own type.

        Parameters
        ----------
        other : SpaceSaving, MisraGries or what they merge to
            A sketch of other events, with as many counters and keys of the same type.
        """
        return merge(self, other)

    @alone
    def side(self) -> Side:
        """Return the candidates above the floor, which are the counters of Misra-Gries, to be merged."""
        shape = self.shape()
        held = Held(*heights(shape, self._key_type), floor=shape.floor, total=self._total)
        return Side(held, shape.candidates, (self.id,), self.unit)

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
    @alone
    def error_bound(self) -> int:
        """The floor: the smallest counter if all are in use, else 0."""
        return _floor(self.entries(), self.counters)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(self.counters - 1, self.counters, unit=self.unit, shape=FloorCounters)

    @alone
    def shape(self) -> FloorCounters:
        """Return floor and candidates: if all counters are in use, without the key to be evicted next."""
        entries = self.entries()
        floor = _floor(entries, self.counters)
        kept = np.ones(len(entries), bool)
        if floor:
            kept[np.flatnonzero(entries.counts == floor)[-1]] = False
        keys = self.key_array(entries).filter(pa.array(kept))
        size = self.counters
        return FloorCounters(keys, entries.counts[kept], floor, size - 1, size, self.unit)

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


def check_counters(counters: int) -> int:
    """Return a number of counters that a sketch can have, or raise."""
    if check_count("counters", counters, least=2) > LARGEST_COUNTERS:
        raise ParameterError(f"counters must be at most {LARGEST_COUNTERS}, got {counters}.")
    return int(counters)


def _spread(of_bytes: bool) -> int:
    """Return how many slots a table has for each counter."""
    return SPREAD_BYTES if of_bytes else SPREAD_WORDS


def _floor(entries: Entries, counters: int) -> int:
    """Return the smallest count if all counters are in use, else 0."""
    return int(entries.counts.min()) if len(entries) == counters else 0
