"""SpaceSaving: the heaviest keys of a stream in a fixed number of counters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.privacy import check_count
from hushcount.sketches import codec
from hushcount.sketches.base import Counting, entries_from, entry_arrays, header_of, restore
from hushcount.sketches.counter_table import CounterTable, Entries, Rule
from hushcount.sketches.keys import from_kernel
from hushcount.sketches.shapes import FloorCounters

if TYPE_CHECKING:
    from hushcount.sketches.merged import MergedCounters

LARGEST_COUNTERS = 1 << 22
SPREAD_WORDS = 6
SPREAD_BYTES = 5


class SpaceSaving:
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
        self._keys = Counting(self._table)

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

    @property
    def error_bound(self) -> int:
        """The floor: the smallest counter if all are in use, else 0."""
        return _floor(self._keys.entries(), self.counters)

    def update(self, keys: Any) -> None:
        """Count a batch of keys in its order: any array, frame column or iterable."""
        self._keys.update(keys)

    def add(self, key: Any) -> None:
        """Count one key."""
        self._keys.add(key)

    def estimate(self, keys: Any) -> npt.NDArray[np.int64]:
        """Counts of keys, 0 for those not tracked."""
        return self._keys.lookup(keys)

    def shape(self) -> FloorCounters:
        """Floor and candidates: tracked keys without the one next in line for eviction, if all are in use."""
        entries = self._keys.entries()
        floor = _floor(entries, self.counters)
        kept = np.ones(len(entries), bool)
        if floor:
            kept[np.flatnonzero(entries.counts == floor)[-1]] = False
        keys = (
            from_kernel(entries.keys, self._keys.key_type or pa.string()) if len(entries) else _no_keys(self)
        )
        return FloorCounters(
            keys.filter(pa.array(kept)), entries.counts[kept], floor, self.counters - 1, self.counters
        )

    def merge(self, other: Any) -> MergedCounters:
        """A new summary of both streams; how its neighbours differ is another matter, so is its type."""
        from hushcount.sketches.merged import merge

        return merge(self, other)

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
    from hushcount.errors import ParameterError

    if check_count("counters", counters, least=2) > LARGEST_COUNTERS:
        raise ParameterError(f"counters must be at most {LARGEST_COUNTERS}, got {counters}.")
    return int(counters)


def _floor(entries: Entries, counters: int) -> int:
    return int(entries.counts.min()) if len(entries) == counters else 0


def _no_keys(sketch: SpaceSaving) -> pa.Array:
    return pa.array([], sketch.key_type or pa.string())
