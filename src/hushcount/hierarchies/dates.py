"""Years, months, days and hours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hushcount.hierarchies._kernels.dates import DAY, MONTH, YEAR, parse_dates
from hushcount.hierarchies.base import MARKER, IntegerHierarchy, checked_octets, integer_leaves

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts, Mask, Words

BITS = 28
LAST_YEAR = 9999
_PER_HOUR = {"s": 3600, "ms": 3_600_000, "us": 3_600_000_000, "ns": 3_600_000_000_000}
_MILLISECONDS_PER_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class Date(IntegerHierarchy):
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
        """The public name of the hierarchy."""
        return "date"

    @property
    def height(self) -> int:
        """Year, month, day, hour."""
        return 4

    @property
    def shifts(self) -> Words:
        """How many bits are cleared at each level."""
        return np.array([BITS, YEAR, MONTH, DAY, 0], np.uint64)

    def _read(self, keys: pa.Array) -> pa.Array:
        """Return packed dates; null if a key is none."""
        kind = keys.type
        if pa.types.is_timestamp(kind):
            hours = _numbers(keys, pa.int64()) // _PER_HOUR[kind.unit]
            return integer_leaves(*_packed(hours // 24, hours % 24 + 1), keys)
        if pa.types.is_date(kind):
            daily = pa.types.is_date32(kind)
            stored = _numbers(keys, pa.int32() if daily else pa.int64()).astype(np.int64)
            days = stored if daily else stored // _MILLISECONDS_PER_DAY
            return integer_leaves(*_packed(days, np.zeros(len(days), np.int64)), keys)
        read = checked_octets(keys, self.name, "text, dates or timestamps")
        parsed = parse_dates(read.data, read.offsets)
        return integer_leaves(parsed, parsed >= 0, keys)

    def _label(self, leaf: int | bytes, level: int) -> str:
        """Return text such as 2024-05-17T13, as far as the level goes."""
        assert isinstance(leaf, int)
        month, day, hour = (leaf >> MONTH) & 15, (leaf >> DAY) & 31, leaf & 31
        parts = (
            f"{leaf >> YEAR:04d}",
            "-" + _two(month, month),
            "-" + _two(day, day),
            "T" + _two(hour, hour - 1),
        )
        return "".join(parts[:level])


def _numbers(keys: pa.Array, storage: pa.DataType) -> Counts:
    """Return the numbers that Arrow stores dates and times as; 0 for a null."""
    return np.asarray(keys.view(storage).fill_null(0).to_numpy(zero_copy_only=False))


def _packed(days: Counts, hours: Counts) -> tuple[Counts, Mask]:
    """Return days since 1970 and hours + 1 as leaves, and which of them are of the years 0 to 9999."""
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    day = (dates - months.astype("datetime64[D]")).astype(np.int64) + 1
    month = months.astype(np.int64)
    year = month // 12 + 1970
    packed = (year << YEAR) | ((month % 12 + 1) << MONTH) | (day << DAY) | hours
    return packed, (year >= 0) & (year <= LAST_YEAR)


def _two(stored: int, value: int) -> str:
    """Return two digits, or the marker of a part that a date lacks."""
    return f"{value:02d}" if stored else MARKER
