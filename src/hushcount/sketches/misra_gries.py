"""Misra-Gries (000, Algorithm 1): counters that all decrease when a new key finds none at zero."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.sketches import codec
from hushcount.sketches.base import Counting, entries_from, entry_arrays, header_of, restore
from hushcount.sketches.counter_table import CounterTable, Rule
from hushcount.sketches.keys import from_kernel
from hushcount.sketches.shapes import FloorCounters
from hushcount.sketches.space_saving import SPREAD_BYTES, SPREAD_WORDS, check_counters

if TYPE_CHECKING:
    from hushcount.sketches.merged import MergedCounters


class MisraGries:
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
        """How often all counters were decremented."""
        self._keys.flush()
        return self._keys.table.floor if self._keys.table is not None else 0

    def update(self, keys: Any) -> None:
        """Count a batch of keys in its order: any array, frame column or iterable."""
        self._keys.update(keys)

    def add(self, key: Any) -> None:
        """Count one key."""
        self._keys.add(key)

    def estimate(self, keys: Any) -> npt.NDArray[np.int64]:
        """Counters of keys, 0 for those not tracked."""
        return np.maximum(self._keys.lookup(keys) - self.error_bound, 0)

    def shape(self) -> FloorCounters:
        """The decrements as floor, and all tracked keys with their counters above it."""
        entries = self._keys.entries()
        kind = self._keys.key_type or pa.string()
        keys = from_kernel(entries.keys, kind) if len(entries) else pa.array([], kind)
        return FloorCounters(keys, entries.counts, self.error_bound, self.counters, self.counters + 1)

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
        table = self._keys.table
        order = table.hash_key.hex() if table is not None else ""
        fields = header_of(self._keys, counters=self.counters, floor=self.error_bound, order=order)
        return "misra-gries", fields, entry_arrays(entries)

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> MisraGries:
        """The sketch of which this was written."""
        sketch = cls(fields["counters"])
        restore(sketch._keys, fields, entries_from(arrays), fields["floor"], bytes.fromhex(fields["order"]))
        return sketch

    def _table(self, of_bytes: bool) -> CounterTable:
        spread = SPREAD_BYTES if of_bytes else SPREAD_WORDS
        return CounterTable(self.counters, Rule.MISRA_GRIES, of_bytes=of_bytes, spread=spread)
