"""Rows by time: which of them are in a window, decided by the time of each row alone."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import ParameterError
from hushcount.keys.plain import in_one_piece
from hushcount.keys.text import is_text

if TYPE_CHECKING:
    from hushcount.keys.columns import Columns

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Microseconds in a unit of Arrow times; of nanoseconds there are 1000 in one.
UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
LARGEST = (1 << 63) - 1
LOG_TIME = re.compile(  # 18/Nov/2026:06:00:00 +0100
    r"(?P<day>[0-9]{2})/(?P<month>[A-Z][a-z]{2})/(?P<year>[0-9]{4}):(?P<clock>[0-9:]{8})"
    r"( (?P<zone>[+-][0-9]{4}))?"
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """Keeps the rows whose time is from `start` up to but not including `stop`.

    Parameters
    ----------
    name : str
        The column of the times: Arrow times or dates, or text such as 2026-11-15T06:00:00Z or, as in access
        logs, 15/Nov/2026:06:00:00 +0000.
    start, stop : int
        Microseconds since 1970 in UTC.
    zone : str
        The time zone of times that have none.
    """

    name: str
    start: int
    stop: int
    zone: str = "UTC"

    @property
    def condition(self) -> tuple[str, int, int, str]:
        """What tells these rows from others of the same data."""
        return self.name, self.start, self.stop, self.zone

    def check(self, kind: pa.DataType) -> pa.DataType:
        """Return a type that times can have, or raise."""
        if pa.types.is_dictionary(kind):
            return self.check(kind.value_type)
        if not (
            is_text(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_null(kind)
        ):
            raise ParameterError(f"time must be a column of times or of ISO text, got {kind}.")
        return kind

    def within(self, column: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Return whether each row is in the window; a time that is missing or unreadable is in none."""
        array = in_one_piece(column)
        self.check(array.type)
        if pa.types.is_null(array.type):
            return pa.array([False] * len(array))
        if pa.types.is_date(array.type):
            array = array.cast(pa.timestamp("ms"))
        found = self._of_times(array) if pa.types.is_timestamp(array.type) else self._of_text(array)
        return found.fill_null(False)

    def _of_times(self, array: pa.Array) -> pa.Array:
        """Compare Arrow times in their own unit, so that none is rounded.

        A time that clocks show twice is the earlier one; one that they skip is the instant of the change.
        """
        if array.type.tz is None and self.zone != "UTC":
            array = pc.assume_timezone(array, self.zone, ambiguous="earliest", nonexistent="latest")
        unit = array.type.unit
        numbers = array.cast(pa.int64())
        first, end = (_in_unit(instant, unit) for instant in (self.start, self.stop))
        return pc.and_(pc.greater_equal(numbers, first), pc.less(numbers, end))

    def _of_text(self, array: pa.Array) -> pa.Array:
        """Read each different text once, and place it on the same clock as Arrow times."""
        coded = array.dictionary_encode()
        times = [_read(text) for text in coded.dictionary.to_pylist()]
        plain = pa.array(
            [None if time is None or time.tzinfo else time for time in times], pa.timestamp("us")
        )
        zoned = pa.array([_since(time) for time in times], pa.int64()).cast(pa.timestamp("us", "UTC"))
        inside = pc.coalesce(self._of_times(plain), self._of_times(zoned))
        return inside.take(coded.indices)


def _read(text: str | None) -> datetime | None:
    """Return a time in ISO text or as access logs write it, None if it cannot be read."""
    with suppress(ValueError):
        return datetime.fromisoformat(text or "")
    found = LOG_TIME.fullmatch(text or "")
    if found is None or found["month"] not in MONTHS:
        return None
    month = MONTHS.index(found["month"]) + 1
    with suppress(ValueError):
        return datetime.fromisoformat(
            f"{found['year']}-{month:02}-{found['day']}T{found['clock']}{found['zone'] or ''}"
        )
    return None


def _since(time: datetime | None) -> int | None:
    """Return the microseconds since 1970 of a time with a zone, None for others."""
    return None if time is None or time.tzinfo is None else (time - EPOCH) // MICROSECOND


def _in_unit(instant: int, unit: str) -> pa.Scalar:
    """Return the first number of a unit that is not before an instant, within 64 bits."""
    number = instant * 1000 if unit == "ns" else -(-instant // UNITS[unit])
    return pa.scalar(max(-LARGEST, min(number, LARGEST)), pa.int64())


def without_others(times: TimeColumn, columns: Columns) -> list[pa.Array | pa.ChunkedArray]:
    """Return the columns before the last, which is that of the times, with the rows in the window."""
    *others, when = columns
    inside = times.within(when)
    return [column.filter(inside) for column in others]
