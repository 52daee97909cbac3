"""Several columns as one key: for each value its length in digits, a colon, and its bytes.

A missing value, where it is kept, is a minus sign and a colon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

MISSING = b"-:"


def encode(columns: Sequence[pa.Array], padded: bool = False) -> pa.Array:
    """Return one binary key per row, different for different rows; rows with a null are dropped.

    If `padded`, only rows without any value are dropped, and a null among others is written as missing.

    >>> encode([pa.array(["a", None, "b:"]), pa.array([10, 2, 3])]).to_pylist()
    [b'1:a2:10', b'2:b:1:3']
    """
    valid = reduce(pc.or_ if padded else pc.and_, [column.is_valid() for column in columns])
    parts = [_written(_bytes(column.filter(valid))) for column in columns]
    return pc.binary_join_element_wise(*parts, pa.scalar(b""))


def _written(values: pa.Array) -> pa.Array:
    """Return each value behind its length."""
    sizes = _digits(pc.binary_length(values))
    written = pc.binary_join_element_wise(sizes, values, pa.scalar(b":"))
    return pc.fill_null(written, pa.scalar(MISSING, written.type)) if written.null_count else written


def decode(keys: pa.Array, names: Sequence[str], types: Sequence[pa.DataType]) -> pa.Table:
    """Return the columns that `encode` was given, with their types."""
    rows = [tuple(_values(key)) for key in keys.to_pylist()]
    columns = zip(*rows, strict=True) if rows else [() for _ in names]
    arrays = [_restored(values, kind) for values, kind in zip(columns, types, strict=True)]
    return pa.table(dict(zip(names, arrays, strict=True)))


def _values(key: bytes) -> Iterator[bytes]:
    """Yield the values of which a key is made."""
    start = 0
    while start < len(key):
        colon = key.index(b":", start)
        end = colon + 1 + int(key[start:colon])
        yield key[colon + 1 : end]
        start = end


def _bytes(column: pa.Array) -> pa.Array:
    """Return the values of a column as bytes; equal bytes mean equal values."""
    if _is_bytes(column.type):
        return column.cast(pa.binary())
    return _digits(column.cast(_number(column.type)))


def _digits(numbers: pa.Array) -> pa.Array:
    return numbers.cast(pa.string()).cast(pa.binary())


def _restored(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Return the column of which `_bytes` made these values."""
    column = pa.array(values, pa.binary())
    if _is_bytes(kind):
        return column.cast(kind)
    return column.cast(pa.string()).cast(_number(kind)).cast(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    plain = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return bool(plain or types.is_string(kind) or types.is_large_string(kind))


def _number(kind: pa.DataType) -> pa.DataType:
    """Return the type of the whole numbers that stand for values: days, ticks, 0 or 1."""
    if pa.types.is_integer(kind):
        return kind
    if pa.types.is_boolean(kind):
        return pa.uint8()
    return pa.int32() if kind.bit_width == 32 else pa.int64()
