"""Keys that are held with counts of at least 1: what merged and user-level sketches keep and write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.keys.arrays import ByteKeys, Keys, from_kernel, to_kernel
from hushcount.keys.memory import asked_arrays
from hushcount.sketches.base import entries_from, entry_arrays
from hushcount.sketches.codec import Arrays, type_from_text, type_to_text
from hushcount.sketches.consistency import check_keys
from hushcount.sketches.table import LARGEST_TOTAL, Entries

Counts = npt.NDArray[np.int64]
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Held:
    """Distinct keys, their counts, what was taken off every count, and how many keys were counted."""

    keys: pa.Array | None
    counts: Counts
    floor: int = 0
    total: int = 0

    @classmethod
    def nothing(cls) -> Held:
        """Before the first key."""
        return cls(None, np.zeros(0, np.int64))

    @property
    def key_type(self) -> pa.DataType | None:
        """The type of the keys, once there are any."""
        return None if self.keys is None else self.keys.type

    def key_array(self) -> pa.Array:
        """The keys; an empty array before the first."""
        return pa.array([], pa.string()) if self.keys is None else self.keys

    def estimate(self, keys: Any) -> Counts:
        """Counts of keys, 0 for those not held."""
        arrays = list(asked_arrays(keys))
        if self.keys is None:
            return np.zeros(sum(map(len, arrays)), np.int64)
        return np.concatenate([np.zeros(0, np.int64), *(self._counts_of(array) for array in arrays)])

    def _counts_of(self, array: pa.Array) -> Counts:
        same = from_kernel(to_kernel(array, self.key_type), self.key_type)
        places = pc.index_in(same, value_set=self.keys)
        found = pc.fill_null(pc.take(pa.array(self.counts), places), 0)
        return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)

    def fields(self) -> dict[str, Any]:
        """What is written of it in a header."""
        return {"floor": self.floor, "total": self.total, "key_type": type_to_text(self.key_type)}

    def arrays(self) -> Arrays:
        """What is written of it in arrays."""
        if self.keys is None:
            return entry_arrays(Entries(np.zeros(0, np.uint64), self.counts))
        return entry_arrays(Entries(_trimmed(to_kernel(self.keys, self.keys.type)), self.counts))

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: Arrays, counters: int) -> Held:
        """What was written; raises ValueError where that describes nothing."""
        entries, kind = entries_from(arrays), type_from_text(fields["key_type"])
        floor, total = fields["floor"], fields["total"]
        counts = entries.counts
        need("total", type(total) is int and (kind is not None) <= total <= LARGEST_TOTAL)
        need("counts", counts.dtype == np.int64 and len(counts) == len(entries.keys) <= counters)
        need("counts", bool(np.all((counts >= 1) & (counts <= total))))
        need("floor", type(floor) is int and 0 <= floor <= total // (counters + 1))
        need("counts", int(counts.sum()) + floor * (counters + 1) <= total)
        if kind is None:
            need("keys", len(counts) == 0)
            return cls(None, counts, floor, total)
        check_keys(entries.keys, kind)
        keys = from_kernel(entries.keys, kind) if len(counts) else pa.array([], kind)
        need("keys", pc.count_distinct(keys).as_py() == len(keys))
        return cls(keys, counts, floor, total)


def _trimmed(keys: Keys) -> Keys:
    """The same keys without bytes before the first and after the last."""
    if not isinstance(keys, ByteKeys):
        return keys
    first, last = int(keys.offsets[0]), int(keys.offsets[-1])
    return ByteKeys(keys.data[first:last], keys.offsets.astype(np.uint64) - np.uint64(first))


def check_id(identity: Any) -> str:
    """Return the id of a sketch that was read, or raise ValueError."""
    need("id", isinstance(identity, str) and len(identity) == 32 and _HEX.issuperset(identity))
    return str(identity)


def need(part: str, holds: bool) -> None:
    """Raise ValueError with the name of the part unless it holds."""
    if not holds:
        raise ValueError(part)
