"""Keys as they are kept, and back.

Kernels keep them as 64-bit words or as bytes with offsets, DuckDB as whole numbers or bytes.

A key of several columns is bytes: for each value its length in digits, a colon, and its bytes; a missing
value, where it is kept, is a minus sign and a colon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts, Mask, Octets, Words
from hushcount.errors import KeyTypeError

MISSING = b"-:"  # a value of a key of several columns


@dataclass(frozen=True, slots=True)
class ByteKeys:
    """Byte strings one after the other: string i is data[offsets[i] : offsets[i + 1]]."""

    data: Octets
    offsets: npt.NDArray[np.uint32] | Words

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class CodedKeys:
    """Byte strings that rows share: row i is values[codes[i]], and no code is out of range."""

    values: ByteKeys
    codes: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)


Keys = Words | ByteKeys


def held_as(kind: pa.DataType) -> pa.DataType:
    """Return the type in which a sketch stores keys: large text and bytes as plain ones."""
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    return kind


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether keys of this type are stored as bytes, not as words."""
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))


def to_kernel(array: pa.Array, kind: pa.DataType) -> Keys:
    """Return keys as a kernel reads them, in the type of the sketch; raise if their type is another."""
    held = held_as(array.type)
    if held != kind:
        array = _same_family(array, kind)
    return _bytes_of(array) if is_bytes(kind) else _words_of(array)


def coded_keys(array: pa.DictionaryArray) -> CodedKeys:
    """Return text or bytes behind a dictionary as a kernel reads them; `behind_dictionary` has checked it."""
    codes = array.indices if array.indices.type == pa.int32() else array.indices.cast(pa.int32())
    return CodedKeys(_bytes_of(array.dictionary), np.asarray(codes.to_numpy(zero_copy_only=True), np.int32))


def from_kernel(keys: Keys, kind: pa.DataType) -> pa.Array:
    """Return the Arrow array of keys that a kernel stored."""
    if isinstance(keys, ByteKeys):
        return _array_of_bytes(keys, kind)
    if kind == pa.uint64():
        return pa.array(keys)
    return pa.array(keys.view(np.int64)).cast(number_type(kind)).cast(kind)


def sum_by_key(keys: list[pa.Array], counts: list[Counts]) -> tuple[pa.Array, Counts]:
    """Return the distinct keys and the sums of their counts."""
    table = pa.table({"key": pa.chunked_array(keys), "count": np.concatenate(counts)})
    summed = table.group_by("key").aggregate([("count", "sum")])
    whole = pa.concat_arrays([pa.array([], summed["key"].type), *summed["key"].chunks])
    return whole, np.asarray(summed["count_sum"].to_numpy(), np.int64)


def changes(values: pa.Array, last: pa.Scalar | None) -> Mask:
    """Return where a value differs from the one before it; `last` came before the first.

    >>> changes(pa.array(["a", "a", "b"]), pa.scalar("a")).tolist()
    [False, False, True]
    """
    differ = np.ones(len(values), np.bool_)
    if len(values):
        differ[1:] = pc.not_equal(values[1:], values[:-1]).to_numpy(zero_copy_only=False)
        differ[0] = last is None or not last.equals(values[0])
    return differ


def number_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the whole numbers that stand for values: days, ticks, 0 or 1."""
    if pa.types.is_integer(kind):
        return kind
    if pa.types.is_boolean(kind):
        return pa.uint8()
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def stored(column: pa.Array) -> pa.Array:
    """Return values as whole numbers or bytes, which DuckDB gives back exactly; a cast restores them.

    >>> stored(pa.array(["é"])).to_pylist()
    [b'\\xc3\\xa9']
    """
    return column.cast(pa.binary() if is_bytes(held_as(column.type)) else number_type(column.type))


def _same_family(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return whole numbers in the width of the sketch, or raise for other keys and for numbers too large."""
    both_integers = pa.types.is_integer(array.type) and pa.types.is_integer(kind)
    try:
        if both_integers:
            return array.cast(kind)
    except pa.ArrowInvalid:
        pass
    raise KeyTypeError(f"keys must be {kind} as before, got {held_as(array.type)}.")


def _words_of(array: pa.Array) -> Words:
    """Return whole numbers, dates and times as 64-bit words: their value, or its two's complement."""
    if array.type == pa.uint64():
        return np.asarray(array.to_numpy(zero_copy_only=True), np.uint64)
    signed = array.cast(number_type(array.type)).cast(pa.int64()).to_numpy(zero_copy_only=True)
    return np.asarray(signed.view(np.uint64))


def _bytes_of(array: pa.Array) -> ByteKeys:
    """Return text or bytes without a copy."""
    kind = array.type
    if pa.types.is_fixed_size_binary(kind):
        array = array.cast(pa.binary())
        kind = array.type
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    offsets = np.frombuffer(array.buffers()[1], np.int64 if wide else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    values = array.buffers()[2]
    data = np.frombuffer(values, np.uint8) if values is not None else np.empty(0, np.uint8)
    if not len(array):
        offsets = np.zeros(1, np.int64)
    return ByteKeys(data, offsets.view(np.uint64) if offsets.itemsize == 8 else offsets.view(np.uint32))


def _array_of_bytes(keys: ByteKeys, kind: pa.DataType) -> pa.Array:
    """Return byte strings as an array of text or bytes."""
    offsets = keys.offsets.astype(np.int64)
    array = pa.Array.from_buffers(
        pa.large_binary(), len(keys), [None, pa.py_buffer(offsets), pa.py_buffer(keys.data)]
    )
    return array.cast(kind) if not pa.types.is_string(kind) else array.cast(pa.large_string()).cast(kind)


def encode_rows(columns: Sequence[pa.Array], padded: bool = False) -> pa.Array:
    """Return one binary key per row, different for different rows; rows with a null are dropped.

    If `padded`, only rows without any value are dropped, and a null among others is written as missing.

    >>> encode_rows([pa.array(["a", None, "b:"]), pa.array([10, 2, 3])]).to_pylist()
    [b'1:a2:10', b'2:b:1:3']
    """
    valid = reduce(pc.or_ if padded else pc.and_, [column.is_valid() for column in columns])
    parts = [_written(_as_bytes(column.filter(valid))) for column in columns]
    return pc.binary_join_element_wise(*parts, pa.scalar(b""))


def _written(values: pa.Array) -> pa.Array:
    """Return each value behind its length."""
    sizes = _digits(pc.binary_length(values))
    written = pc.binary_join_element_wise(sizes, values, pa.scalar(b":"))
    return pc.fill_null(written, pa.scalar(MISSING, written.type)) if written.null_count else written


def decode_rows(keys: pa.Array, names: Sequence[str], types: Sequence[pa.DataType]) -> pa.Table:
    """Return the columns that `encode_rows` was given, with their types."""
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


def _as_bytes(column: pa.Array) -> pa.Array:
    """Return the values of a column as bytes; equal bytes mean equal values."""
    values = stored(column)
    return values if pa.types.is_binary(values.type) else _digits(values)


def _digits(numbers: pa.Array) -> pa.Array:
    return numbers.cast(pa.string()).cast(pa.binary())


def _restored(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Return the column of which `_as_bytes` made these values."""
    column = pa.array(values, pa.binary())
    if is_bytes(held_as(kind)):
        return column.cast(kind)
    return column.cast(pa.string()).cast(number_type(kind)).cast(kind)
