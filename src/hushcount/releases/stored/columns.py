"""Columns of keys in JSON, exactly as Arrow holds them.

Text is text, bytes are hexadecimal digits, decimals and floating point numbers are texts, and dates and times
are whole numbers of the unit of their type, counted from 1970. A text that is not UTF-8 is a list of its
bytes. Columns that are dictionaries or extension types are written as the values that they hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
from pyarrow import types

from hushcount.keys.text import is_text
from hushcount.releases.stored.exact import (
    Plain,
    fields_from,
    flag_from,
    list_from,
    number_plain,
    text_from,
    whole_from,
    whole_plain,
)

Codec = tuple[pa.DataType, Callable[..., Plain], Callable[[Plain], object]]

WIDEST = 1 << 20  # bytes of a type of fixed width
_ZONED = re.compile(r"timestamp\[(s|ms|us|ns), tz=([^\[\]]{1,64})\]")
_DECIMAL = re.compile(r"(decimal(?:32|64|128|256))\(([0-9]{1,2}), (-?[0-9]{1,2})\)")
_FIXED = re.compile(r"fixed_size_binary\[([0-9]{1,7})\]")
_DECIMALS = {f"decimal{bits}": getattr(pa, f"decimal{bits}") for bits in (32, 64, 128, 256)}


# Types whose values are handed over as they are, and how one value is written and read; the rest are bytes.
_ITSELF: tuple[tuple[Callable[[pa.DataType], bool], Callable[..., Plain], Callable[[Plain], object]], ...] = (
    (types.is_decimal, str, lambda value: Decimal(text_from(value))),
    (types.is_boolean, bool, flag_from),
    (types.is_integer, whole_plain, whole_from),
    (types.is_null, whole_plain, whole_from),
)


def table_plain(table: pa.Table) -> list[Plain]:
    """Return the columns of a table: name, type and values of each."""
    return [column_plain(name, table[name]) for name in table.column_names]


def table_from(columns: Plain) -> pa.Table:
    """Return the table that `table_plain` wrote, or raise."""
    read = list_from(columns, column_from)
    names = [name for name, _ in read]
    if len(set(names)) < len(names):
        raise ValueError("columns")
    return pa.table([array for _, array in read], names)


def column_plain(name: str, column: pa.ChunkedArray | pa.Array) -> Plain:
    """Return the name, type and values of one column."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = _stored(whole)
    return {"name": name, "type": type_plain(array.type), "values": _values_plain(array)}


def column_from(value: Plain) -> tuple[str, pa.Array]:
    """Return the name and the values of one column, or raise."""
    fields = fields_from(value, ("name", "type", "values"))
    kind = type_from(fields["type"])
    return text_from(fields["name"]), _values_from(kind, fields["values"])


def type_plain(kind: pa.DataType) -> str:
    """Return the text of a type of keys; raise ValueError if there is none."""
    if type_from(str(kind)) != kind:
        raise ValueError("type")
    return str(kind)


def type_from(value: Plain) -> pa.DataType:
    """Return the type that a text names, or raise.

    >>> type_from("timestamp[us, tz=Europe/Berlin]")
    TimestampType(timestamp[us, tz=Europe/Berlin])
    """
    text = text_from(value)
    if zoned := _ZONED.fullmatch(text):
        return pa.timestamp(zoned[1], zoned[2])
    if exact := _DECIMAL.fullmatch(text):
        return _DECIMALS[exact[1]](int(exact[2]), int(exact[3]))
    if fixed := _FIXED.fullmatch(text):
        if int(fixed[1]) > WIDEST:
            raise ValueError("type")
        return pa.binary(int(fixed[1]))
    return pa.type_for_alias(text)


def _stored(array: pa.Array) -> pa.Array:
    """Return the values that a dictionary or an extension type holds."""
    if types.is_dictionary(array.type):
        return _stored(array.dictionary_decode())
    return _stored(array.storage) if isinstance(array, pa.ExtensionArray) else array


def _values_plain(array: pa.Array) -> list[Plain]:
    """Return the values of a column, null where there is none."""
    carrier, write, _ = _codec(array.type)
    carried = array.view(carrier) if types.is_temporal(array.type) else array.cast(carrier)
    return [None if value is None else write(value) for value in carried.to_pylist()]


def _values_from(kind: pa.DataType, values: Plain) -> pa.Array:
    """Return the values of a column of this type, or raise."""
    carrier, _, read = _codec(kind)
    array = pa.array(list_from(values, lambda value: None if value is None else read(value)), carrier)
    return array.view(kind) if types.is_temporal(kind) else array.cast(kind, safe=not is_text(kind))


def _codec(kind: pa.DataType) -> Codec:
    """Return the type in which values are handed over, and how one value is written and read."""
    if is_text(kind):
        return pa.binary(), _text_plain, _text_from
    if types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64(), whole_plain, whole_from
    if types.is_floating(kind):
        return pa.float64(), number_plain, _float_from
    for check, write, read in _ITSELF:
        if check(kind):
            return kind, write, read
    return kind, bytes.hex, lambda value: bytes.fromhex(text_from(value))


def _text_plain(value: bytes) -> Plain:
    """Return text as it is, and what is not UTF-8 as a list of its bytes."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return list(value)


def _text_from(value: Plain) -> bytes:
    """Return the bytes of a text, or raise."""
    if isinstance(value, list):
        return bytes(list_from(value, lambda byte: whole_from(byte, 0, 255)))
    return text_from(value).encode()


def _float_from(value: Plain) -> float:
    """Return a floating point number, or raise; "nan" and "inf" are numbers here, as they can be keys."""
    number = float(text_from(value))
    if number_plain(number) != value:
        raise ValueError("number")
    return number
