"""Keys written as text, for every type that a key can have.

Python's own dates end with the year 9999 and know no zone such as `GMT+05:30`; Arrow's text shows a wrong
year beyond its calendar. A result must not be lost after hours of counting because of one such key, so every
64-bit time can be written here, and `check_writable` tells before counting whether the values of a type can.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial

import numpy as np
import pyarrow as pa

from hushcount.errors import DataError

DAY = 86_400
DAYS_IN_400_YEARS = 146_097
FIRST_SECOND, LAST_SECOND = -62_135_510_400, 253_402_214_400  # a day within the years 1 and 9999
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_FIXED = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?")
_ZERO = frozenset(("UTC", "Z", "GMT", "UT", "UCT", "Etc/UTC", "Etc/GMT"))


def key_text(array: pa.Array) -> pa.Array:
    """Write the values of an array as text; equal values of one type have equal texts.

    Dates and times look like 2024-02-29 12:30:00.000001+01:00, in the zone of the type; the fraction is left
    out where it is zero. Years beyond 9999 have a sign and as many digits as they need, the year before the
    year 1 is 0000 and the one before that -0001 (ISO 8601). Bytes that are not text are written as escapes.

    Parameters
    ----------
    array
        Keys, nulls included; of any type that a column of keys can have.

    Returns
    -------
    pa.Array
        The texts, of type string; null where the key is null.

    Raises
    ------
    DataError
        If `check_writable` refuses the type.

    Examples
    --------
    >>> key_text(pa.array([0, (1 << 63) - 1], pa.timestamp("us", "GMT+05:30"))).to_pylist()
    ['1970-01-01 05:30:00+05:30', '+294247-01-10 09:30:54.775807+05:30']
    >>> key_text(pa.array([b"tea", b"\\xff", None])).to_pylist()
    ['tea', '\\\\xff', None]
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return key_text(array.dictionary).take(array.indices)
    if isinstance(array, pa.ExtensionArray):
        return key_text(array.storage)
    written = _writer(kind)
    if written is None:
        return array.cast(pa.string())
    numbers = array if _is_bytes(kind) else array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    texts = [None if value is None else written(value) for value in numbers.to_pylist()]
    return pa.array(texts, pa.string())


def check_writable(kind: pa.DataType) -> None:
    """Raise unless every value of a type can be written as text, so that no counted result is lost.

    Parameters
    ----------
    kind
        The type of a column of keys.

    Raises
    ------
    DataError
        If the type has a time zone that is not known here, or is no type of keys.

    Examples
    --------
    >>> check_writable(pa.timestamp("us", "Europe/Berlin"))
    >>> check_writable(pa.timestamp("us", "Mars/Phobos"))
    Traceback (most recent call last):
    hushcount.errors.DataError: The time zone Mars/Phobos of the keys is not known here; convert them to UTC.
    """
    if pa.types.is_dictionary(kind):
        check_writable(kind.value_type)
    elif isinstance(kind, pa.BaseExtensionType):
        check_writable(kind.storage_type)
    elif _writer(kind) is None and not _has_plain_text(kind):
        raise DataError(f"Keys of type {kind} cannot be written; cast them to text or whole numbers.")


def _has_plain_text(kind: pa.DataType) -> bool:
    """Return whether Arrow's own text of a type is right for all its values."""
    types = pa.types
    plain = (types.is_integer, types.is_boolean, types.is_decimal, types.is_floating, types.is_null)
    return is_text(kind) or any(check(kind) for check in plain)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is text, however it is laid out."""
    types = pa.types
    return any(check(kind) for check in (types.is_string, types.is_large_string, types.is_string_view))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(check(kind) for check in kinds)


def _writer(kind: pa.DataType) -> Callable[..., str] | None:
    """Return the function that writes one value of a type, or None where Arrow writes it."""
    if _is_bytes(kind):
        return lambda value: value.decode("utf-8", "backslashreplace")
    if pa.types.is_date32(kind):
        return _date
    if pa.types.is_date64(kind):
        return partial(_instant, unit="ms", zone=None, midnight=False)
    if pa.types.is_time(kind):
        return partial(_clock, unit=kind.unit)
    if pa.types.is_timestamp(kind):
        return partial(_instant, unit=kind.unit, zone=None if kind.tz is None else zone_of(kind.tz))
    return None


def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name: of the time zone database, or an offset such as GMT+05:30 or +0530.

    >>> zone_of("GMT+05:30").utcoffset(None)
    datetime.timedelta(seconds=19800)
    """
    from zoneinfo import ZoneInfo

    if name in _ZERO:
        return UTC
    if fixed := _FIXED.fullmatch(name):
        sign, *parts = fixed.groups(default="0")
        hours, minutes, seconds = map(int, parts)
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        if minutes < 60 and seconds < 60 and offset < timedelta(days=1):
            return timezone(offset if sign == "+" else -offset)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # a KeyError is how a missing zone is reported
        failure = DataError(f"The time zone {name} of the keys is not known here; convert them to UTC.")
    raise failure


def _date(days: int) -> str:
    """Write a day, counted from 1970-01-01 in the Gregorian calendar, which numpy knows for all years."""
    year, month, day = str(np.datetime64(days, "D")).rsplit("-", 2)
    sign = "+" if int(year) > 9999 else "-" if int(year) < 0 else ""
    return f"{sign}{abs(int(year)):04}-{month}-{day}"


def _clock(ticks: int, unit: str) -> str:
    """Write a time of day."""
    seconds, fraction = divmod(ticks, _PER_SECOND[unit])
    minutes, second = divmod(seconds, 60)
    shown = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{shown}.{fraction:0{_DIGITS[unit]}}" if fraction else shown


def _instant(ticks: int, unit: str, zone: tzinfo | None, midnight: bool = True) -> str:
    """Write a point in time, in its zone if it has one; without `midnight` a time of 00:00:00 is left out."""
    offset = 0 if zone is None else _offset(ticks // _PER_SECOND[unit], zone)
    days, rest = divmod(ticks + offset * _PER_SECOND[unit], DAY * _PER_SECOND[unit])
    if not rest and not midnight:
        return _date(days)
    return f"{_date(days)} {_clock(rest, unit)}{'' if zone is None else _offset_text(offset)}"


def _offset(seconds: int, zone: tzinfo) -> int:
    """Return how many seconds a zone is ahead of UTC at a time.

    Python's calendar has the years 1 to 9999. The Gregorian calendar repeats every 400 years, and so do the
    rules of a zone before its first and after its last change, so other years borrow one of those.
    """
    if seconds > LAST_SECOND:
        seconds = LAST_SECOND - (LAST_SECOND - seconds) % (DAYS_IN_400_YEARS * DAY)
    elif seconds < FIRST_SECOND:
        seconds = FIRST_SECOND + (seconds - FIRST_SECOND) % (DAYS_IN_400_YEARS * DAY)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    offset = moment.astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _offset_text(offset: int) -> str:
    hours, rest = divmod(abs(offset), 3600)
    shown = f"{'-' if offset < 0 else '+'}{hours:02}:{rest // 60:02}"
    return f"{shown}:{rest % 60:02}" if rest % 60 else shown
