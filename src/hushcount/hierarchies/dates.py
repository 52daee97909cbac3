"""Years, months, days and hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.hierarchies._kernels.dates import DAY, MONTH, YEAR, parse_dates
from hushcount.hierarchies.base import (
    MARKER,
    ROOT,
    by_value,
    octets,
    shared_levels,
    takes_bytes,
    with_nulls,
    without_low_bits,
    wrong_type,
)

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Mask
    from hushcount.hierarchies.base import Levels

BITS = 28
LAST_YEAR = 9999
_PER_HOUR = {"s": 3600, "ms": 3_600_000, "us": 3_600_000_000, "ns": 3_600_000_000_000}
_MILLISECONDS_PER_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class Date:
    """Year, month, day and hour, of the years 0 to 9999.

    Keys are ISO 8601 text (2024, 2024-05, 2024-05-17, 2024-05-17T13:45:59.5+02:00, also with a blank for the
    T), dates, or timestamps. Text with a zone and timestamps with one are brought to UTC. What a key does
    not say is padded.

    >>> hierarchy = Date()
    >>> leaves = hierarchy.leaves(pa.array(["2024-05-17T00:30+02:00", "2024-05-17"]))
    >>> hierarchy.labels(leaves, [4, 4]).to_pylist()
    ['2024-05-16T22', '2024-05-17T·']
    """

    @property
    def name(self) -> str:
        """Public text that says which hierarchy it is."""
        return "date"

    @property
    def height(self) -> int:
        """Year, month, day, hour."""
        return 4

    @property
    def leaf_type(self) -> pa.DataType:
        """Dates are packed into numbers."""
        return pa.uint64()

    @property
    def shifts(self) -> npt.NDArray[np.uint64]:
        """How many bits are cleared at each level."""
        return np.array([BITS, YEAR, MONTH, DAY, 0], np.uint64)

    def leaves(self, keys: pa.Array) -> pa.Array:
        """Packed dates; null where a key is none."""
        return by_value(keys, self._parsed)

    def shared(self, leaves: pa.Array, before: pa.Scalar | None = None) -> Levels:
        """The level of the shortest span of time each sorted date shares with the one before it."""
        return shared_levels(leaves, before, self.shifts)

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """The year, month, day or hour of dates."""
        return without_low_bits(leaves, self.shifts[level])

    def labels(self, leaves: pa.Array, levels: Sequence[int] | Levels) -> pa.Array:
        """Text such as 2024-05-17T13, as far as the level goes."""
        pairs = zip(leaves.to_pylist(), levels, strict=True)
        return pa.array([_label(leaf, int(level)) for leaf, level in pairs], pa.string())

    def _parsed(self, keys: pa.Array) -> pa.Array:
        kind = keys.type
        if pa.types.is_timestamp(kind):
            hours = _numbers(keys, pa.int64()) // _PER_HOUR[kind.unit]
            return with_nulls(_packed(hours // 24, hours % 24 + 1), keys)
        if pa.types.is_date32(kind):
            days = _numbers(keys, pa.int32()).astype(np.int64)
            return with_nulls(_packed(days, np.zeros(len(days), np.int64)), keys)
        if pa.types.is_date64(kind):
            days = _numbers(keys, pa.int64()) // _MILLISECONDS_PER_DAY
            return with_nulls(_packed(days, np.zeros(len(days), np.int64)), keys)
        if not takes_bytes(kind):
            raise wrong_type(self.name, "text, dates or timestamps", kind)
        read = octets(keys)
        return with_nulls(parse_dates(read.data, read.offsets), keys)


def _numbers(keys: pa.Array, storage: pa.DataType) -> npt.NDArray[np.int64]:
    return np.asarray(keys.view(storage).fill_null(0).to_numpy(zero_copy_only=False))


def _packed(days: npt.NDArray[np.int64], hours: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint64], Mask]:
    """Days since 1970 and hours + 1 as leaves, and which of them are of the years 0 to 9999."""
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    day = (dates - months.astype("datetime64[D]")).astype(np.int64) + 1
    month = months.astype(np.int64)
    year = month // 12 + 1970
    packed = (year << YEAR) | ((month % 12 + 1) << MONTH) | (day << DAY) | hours
    return packed.view(np.uint64), (year >= 0) & (year <= LAST_YEAR)


def _label(leaf: int, level: int) -> str:
    if level == 0:
        return ROOT
    month, day, hour = (leaf >> MONTH) & 15, (leaf >> DAY) & 31, leaf & 31
    parts = (
        f"{leaf >> YEAR:04d}",
        "-" + _two(month, month),
        "-" + _two(day, day),
        "T" + _two(hour, hour - 1),
    )
    return "".join(parts[:level])


def _two(stored: int, value: int) -> str:
    return f"{value:02d}" if stored else MARKER
