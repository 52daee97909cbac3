"""Whether what was read of a sketch describes one: kernels trust their tables, so this comes first.

Raises ValueError with the name of the part; the codec makes one sentence of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from hushcount.errors import HushcountError
from hushcount.keys.arrays import ByteKeys, Keys, from_kernel, held_as, is_bytes, to_kernel
from hushcount.keys.columns import KeyColumns
from hushcount.sketches._kernels.table import LONGEST
from hushcount.sketches.table import LARGEST_TOTAL, Entries

_HEX = frozenset("0123456789abcdef")


def check_fields(fields: Mapping[str, Any], entries: Entries, kind: pa.DataType | None, floor: int) -> None:
    """The header fields against the entries: every event is in a counter, or was lost to a decrement."""
    identity, total = fields["id"], fields["total"]
    _need("id", isinstance(identity, str) and len(identity) == 32 and _HEX.issuperset(identity))
    _need("total", type(total) is int and 0 <= total <= LARGEST_TOTAL)
    _need("type", len({kind is None, total == 0, len(entries) == 0}) == 1)
    _need("floor", type(floor) is int and 0 <= floor <= total)
    _need("counts", entries.counts.dtype == np.int64 and len(entries.keys) == len(entries))
    _need("counts", bool(np.all((entries.counts >= max(floor, 1)) & (entries.counts <= total))))
    _need("counts", int(entries.counts.sum()) + floor == total)
    counters = fields.get("counters", len(entries))
    _need("counters", len(entries) <= counters and (not floor or len(entries) == counters))
    _need("order", "order" not in fields or len(fields["order"]) == 32)


def check_keys(keys: Keys, kind: pa.DataType) -> None:
    """The keys against their type: each is a value of it, written in the one way it can be written."""
    _need("type", kind == held_as(kind) and _can_be_keys(kind))
    _need("keys", isinstance(keys, ByteKeys) == is_bytes(kind))
    if isinstance(keys, ByteKeys):
        _check_offsets(keys)
        from_kernel(keys, kind).validate(full=True)
    else:
        _need("words", keys.dtype == np.uint64)
        again = to_kernel(from_kernel(keys, kind), kind)
        _need("words", not isinstance(again, ByteKeys) and np.array_equal(again, keys))


def _check_offsets(keys: ByteKeys) -> None:
    data, offsets = keys.data, keys.offsets
    _need("data", data.dtype == np.uint8 and offsets.dtype == np.uint64)
    _need("offsets", bool(len(offsets) and offsets[0] == 0 and offsets[-1] == len(data)))
    _need("offsets", bool(np.all(offsets[:-1] <= offsets[1:])))
    _need("offsets", bool(np.all(np.diff(offsets) <= LONGEST)))


def _can_be_keys(kind: pa.DataType) -> bool:
    try:
        return KeyColumns.of(None, "auto").typed([kind]).types == (kind,)
    except HushcountError:
        return False


def _need(part: str, holds: bool) -> None:
    if not holds:
        raise ValueError(part)
