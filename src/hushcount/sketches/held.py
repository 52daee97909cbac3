"""Keys with counts of at least 1, as merged and user-level sketches keep them; and checks of what was read.

Kernels trust their tables, so whatever comes from a file is checked here first. A check raises ValueError
with the name of the part; the container makes one sentence of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts
from hushcount.errors import HushcountError, SketchFileError
from hushcount.files.container import type_from_text, type_to_text
from hushcount.keys.arrays import ByteKeys, Keys, from_kernel, held_as, is_bytes, to_kernel
from hushcount.keys.columns import KeyColumns
from hushcount.keys.memory import Data
from hushcount.keys.plain import LARGEST_SKETCHED
from hushcount.sketches.table import LARGEST_TOTAL, NO_ENTRIES, Entries, looked_up

if TYPE_CHECKING:
    from hushcount.files.container import Arrays, Contents, Fields

# Bytes that any file may ask for, however small it is: a sketch of 1,000,000 counters needs fewer.
LARGEST_UNFOUNDED = 1 << 28
_HEX = frozenset("0123456789abcdef")
_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Held:
    """Distinct keys, their counts, what was taken off every count, and the number of keys counted."""

    keys: pa.Array | None
    counts: Counts
    floor: int = 0
    total: int = 0

    @classmethod
    def nothing(cls) -> Held:
        """Return the state before the first key."""
        return cls(None, np.zeros(0, np.int64))

    @property
    def key_type(self) -> pa.DataType | None:
        """The type of the keys; None before the first."""
        return None if self.keys is None else self.keys.type

    def key_array(self) -> pa.Array:
        """Return the keys; an empty array before the first."""
        return pa.array([], pa.string()) if self.keys is None else self.keys

    def estimate(self, keys: Data) -> Counts:
        """Return the counts of keys, 0 for those not tracked."""
        return looked_up(keys, self.key_type, self._counts_of)

    def _counts_of(self, keys: Keys) -> Counts:
        places = pc.index_in(from_kernel(keys, self.key_type), value_set=self.keys)
        found = pc.fill_null(pc.take(pa.array(self.counts), places), 0)
        return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)

    def fields(self) -> Fields:
        """Return the header fields that are written."""
        return {"floor": self.floor, "total": self.total, "key_type": type_to_text(self.key_type)}

    def arrays(self) -> Arrays:
        """Return the arrays that are written."""
        if self.keys is None:
            return entry_arrays(NO_ENTRIES)
        return entry_arrays(Entries(_trimmed(to_kernel(self.keys, self.keys.type)), self.counts))

    @classmethod
    def from_contents(cls, contents: Contents, counters: int) -> Held:
        """Return what was written; raise ValueError if it cannot have been."""
        fields, entries = contents.fields, entries_from(contents.arrays)
        kind, counts = type_from_text(fields["key_type"]), entries.counts
        floor, total = fields["floor"], fields["total"]
        need("total", type(total) is int and (kind is not None) <= total <= LARGEST_TOTAL)
        need("counts", len(counts) == len(entries.keys) <= counters)
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
    """Return the same keys without bytes before the first and after the last."""
    if not isinstance(keys, ByteKeys):
        return keys
    first, last = int(keys.offsets[0]), int(keys.offsets[-1])
    return ByteKeys(keys.data[first:last], keys.offsets.astype(np.uint64) - np.uint64(first))


def entry_arrays(entries: Entries) -> Arrays:
    """Return entries as arrays to be written."""
    if isinstance(entries.keys, ByteKeys):
        return {"data": entries.keys.data, "offsets": entries.keys.offsets, "counts": entries.counts}
    return {"words": entries.keys, "counts": entries.counts}


def entries_from(arrays: Arrays) -> Entries:
    """Return the entries of arrays that were read."""
    counts = array_of(arrays, "counts", np.int64)
    if "words" in arrays:
        return Entries(array_of(arrays, "words", np.uint64), counts)
    keys = ByteKeys(array_of(arrays, "data", np.uint8), array_of(arrays, "offsets", np.uint64))
    return Entries(keys, counts)


def array_of(arrays: Arrays, name: str, kind: type[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return an array that was read, or raise if it is of another type."""
    array = arrays[name]
    need(name, array.dtype == kind)
    return array.view(kind)


def check_counts(fields: Fields, entries: Entries, kind: pa.DataType | None, floor: int) -> None:
    """Raise unless fields and entries agree: every event is in a counter, or was lost to a decrement."""
    total = fields["total"]
    need("total", type(total) is int and 0 <= total <= LARGEST_TOTAL)
    need("type", len({kind is None, total == 0, len(entries) == 0}) == 1)
    need("floor", type(floor) is int and 0 <= floor <= total)
    need("counts", len(entries.keys) == len(entries))
    need("counts", bool(np.all((entries.counts >= max(floor, 1)) & (entries.counts <= total))))
    need("counts", int(entries.counts.sum()) + floor == total)
    counters = fields.get("counters", len(entries))
    need("counters", len(entries) <= counters and (not floor or len(entries) == counters))


def check_keys(keys: Keys, kind: pa.DataType) -> None:
    """Raise unless each key is a value of the type, written in the one way it can be written."""
    need("type", kind == held_as(kind) and _can_be_keys(kind))
    need("keys", isinstance(keys, ByteKeys) == is_bytes(kind))
    if isinstance(keys, ByteKeys):
        _check_offsets(keys)
        from_kernel(keys, kind).validate(full=True)
    else:
        again = to_kernel(from_kernel(keys, kind), kind)
        need("words", not isinstance(again, ByteKeys) and np.array_equal(again, keys))


def _check_offsets(keys: ByteKeys) -> None:
    offsets = keys.offsets
    need("offsets", bool(len(offsets) and offsets[0] == 0 and offsets[-1] == len(keys.data)))
    need("offsets", bool(np.all(offsets[:-1] <= offsets[1:])))
    need("offsets", bool(np.all(np.diff(offsets) <= LARGEST_SKETCHED)))


def _can_be_keys(kind: pa.DataType) -> bool:
    try:
        return KeyColumns.of(None, "auto").typed([kind]).types == (kind,)
    except HushcountError:
        return False


def check_memory(asked: int, arrays: Arrays) -> None:
    """Raise if a file asks for much more memory than what it holds: whoever made it could ask for any.

    A full sketch of short keys takes 18 to 40 times as many bytes as its file.
    """
    size = sum(array.nbytes for array in arrays.values())
    if asked > max(LARGEST_UNFOUNDED, 128 * size):
        raise SketchFileError(
            f"The sketch asks for {asked / 1e9:.1f} GB of memory but holds few keys, so it was not opened;"
            " count the data again with fewer counters."
        )


def check_id(identity: object) -> str:
    """Return the id of a sketch that was read, or raise ValueError."""
    need("id", isinstance(identity, str) and len(identity) == 32 and _HEX.issuperset(identity))
    return str(identity)


def need(part: str, holds: bool) -> None:
    """Raise ValueError with the name of the part unless it holds."""
    if not holds:
        raise ValueError(part)
