"""Python and numpy values as Arrow arrays: each kind of value has one declared type.

The key of a value must be a function of that value alone. Arrow would take the type of a whole list from its
first values and coerce the others, so that one date in front turns a thousand times into one day. Here the
kind of every value is found first; values of two kinds are refused, and so is a value that its declared type
cannot store exactly.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import attempt

if TYPE_CHECKING:
    from hushcount.keys.memory import Data

MICROSECOND = datetime.timedelta(microseconds=1)
EPOCH = datetime.datetime(1970, 1, 1)
FIRST_ROWS = 16
LARGE_ARRAY = 1 << 24  # bytes
COARSE_UNITS = ("m", "h", "W", "M", "Y")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value: the type in which it is stored, how, and the classes of its values.

    Arrow stores values of the class `plain` exactly. `stored` prepares those of any other class, or raises.
    Whether a time is of a kind is known from the value alone, so such kinds have no classes.
    """

    type: pa.DataType
    plain: type | None
    stored: Callable[[Data], object]
    classes: tuple[type, ...] = ()


def mixed_types(error: Exception) -> HushcountError:
    """Return what to say when values do not have one type; the error itself quotes them."""
    if isinstance(error, OverflowError):
        return DataError("The data has whole numbers beyond 64 bits; pass them as text, or as numpy uint64.")
    if isinstance(error, UnicodeError):
        return DataError("The data has text that is not valid UTF-8.")
    if isinstance(error, InexactTimeError):
        return DataError("The data has times that whole microseconds cannot hold; round them first.")
    return DataError(
        "The data mixes types, or holds none that can be keys; make them all text or whole numbers."
    )


class InexactTimeError(ValueError):
    """A time that microseconds cannot store."""


class Objects:
    """Turns Python values, of one kind in all calls, into Arrow arrays of its declared type.

    >>> objects = Objects()
    >>> objects.array(["tea", None]).to_pylist(), str(objects.declared)
    (['tea', None], 'string')
    """

    def __init__(self) -> None:
        self._kind: Kind | None = None

    @property
    def declared(self) -> pa.DataType:
        """The type of the arrays; null before the first value."""
        return pa.null() if self._kind is None else self._kind.type

    def array(self, values: Sequence[object]) -> pa.Array:
        """Return the values as an array, or raise; None, not-a-number, not-a-time and pandas' NA are null."""
        return attempt(mixed_types, self._array, values)

    def check(self, values: Sequence[object]) -> set[type]:
        """Return the classes of the values, or raise if their kinds differ or one cannot be a key."""
        classes = set(map(type, values))
        for found in classes:
            for kind in _kinds(found, values):
                if self._kind not in (None, kind):
                    raise mixed_types(TypeError())
                self._kind = kind
        return classes

    def _array(self, values: Sequence[object]) -> pa.Array | pa.ChunkedArray:
        classes = self.check(values)
        kind = self._kind
        if kind is None:
            return pa.nulls(len(values))
        if not classes <= {kind.plain, type(None)}:
            values = [None if _is_null(value) else kind.stored(value) for value in values]
        return pa.array(values, kind.type)


def object_arrays(values: Iterator[object], rows: int) -> Iterator[pa.Array]:
    """Yield the values in arrays of at most `rows`, all of one kind; of few rows where values are long."""
    objects, step = Objects(), min(rows, FIRST_ROWS)
    while chunk := list(islice(values, step)):
        array = objects.array(chunk)
        chunk.clear()
        step = min(4 * step, rows) if array.nbytes < LARGE_ARRAY else max(step // 4, 1)
        yield array


def numpy_array(array: np.ndarray[tuple[int], np.dtype[np.generic]]) -> pa.Array:
    """Return a numpy array as Arrow: native bytes, and plain units for the times that Arrow lacks."""
    if array.dtype.kind == "M":
        unit, count = np.datetime_data(str(array.dtype))
        if count > 1 or unit in COARSE_UNITS:
            array = _in_unit(array, "s" if unit in COARSE_UNITS else unit)
    return pa.array(array.astype(array.dtype.newbyteorder("="), copy=False))


def _in_unit(
    times: np.ndarray[tuple[int], np.dtype[np.generic]], unit: str
) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """Return times in another unit, or raise if that is not exact."""
    converted = times.astype(f"datetime64[{unit}]")
    if not ((converted.astype(times.dtype) == times) | np.isnat(times)).all():
        raise InexactTimeError
    return converted


def _is_null(value: object) -> bool:
    """Return whether a value is missing, by itself and whatever container holds it."""
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    if isinstance(value, float | np.floating | decimal.Decimal):
        return bool(value != value)  # noqa: PLR0124
    return value is None or type(value).__name__ in ("NaTType", "NAType")  # of pandas


def _kinds(found: type, values: Sequence[object]) -> set[Kind]:
    """Return the kinds of the values of one class; that of a time is known from the value alone."""
    kind = next((kind for kind in _KINDS if issubclass(found, kind.classes)), None)
    if kind is not None and kind not in (FLOAT, DATE):
        return {kind}
    filled = [value for value in values if type(value) is found and not _is_null(value)]
    if issubclass(found, datetime.datetime | np.datetime64):
        return {_time_kind(value) for value in filled}
    if kind is None and filled:
        raise mixed_types(TypeError())
    return {kind} if kind is not None and filled else set()


def _time_kind(value: Data) -> Kind:
    """Return the kind of a date with a time; numpy's days are dates, and its other times have no zone."""
    if isinstance(value, np.datetime64):
        return DATE if np.datetime_data(value.dtype) == ("D", 1) else NAIVE
    return NAIVE if value.utcoffset() is None else AWARE


def _microseconds(value: Data) -> int:
    """Return a time as microseconds since 1970, in UTC if it has a zone; raise if that is not exact."""
    if isinstance(value, np.datetime64):
        return _ticks(value, "us")
    if getattr(value, "nanosecond", 0):  # which pandas counts apart
        raise InexactTimeError
    offset = value.utcoffset() or datetime.timedelta()
    return int((value.replace(tzinfo=None) - EPOCH - offset) // MICROSECOND)


def _ticks(value: np.datetime64, unit: str) -> int:
    """Return a numpy time as a whole number of units since 1970, or raise."""
    return int(_in_unit(np.array([value]), unit).astype(np.int64)[0])


def _day(value: Data) -> object:
    return _ticks(value, "D") if isinstance(value, np.datetime64) else value


def _clock(value: Data) -> object:
    if value.tzinfo is not None:
        raise TypeError  # Arrow would forget the zone
    return value


TEXT = Kind(pa.string(), str, str.__str__, (str,))
BYTES = Kind(pa.binary(), bytes, lambda value: bytes(memoryview(value)), (bytes, bytearray, memoryview))
BOOLEAN = Kind(pa.bool_(), bool, bool, (bool, np.bool_))
INTEGER = Kind(pa.int64(), int, int, (numbers.Integral,))
FLOAT = Kind(
    pa.float64(), float, float, (float, np.floating)
)  # no keys, which is said where types are checked
DATE = Kind(pa.date32(), datetime.date, _day, (datetime.date,))
NAIVE = Kind(pa.timestamp("us"), datetime.datetime, _microseconds)
AWARE = Kind(pa.timestamp("us", "UTC"), None, _microseconds)
CLOCK = Kind(pa.time64("us"), None, _clock, (datetime.time,))
UUID = Kind(pa.binary(16), None, lambda value: value.bytes, (uuid.UUID,))
_KINDS = (TEXT, BYTES, BOOLEAN, INTEGER, FLOAT, DATE, CLOCK, UUID)  # in this order: a bool is an int too
