"""Keys on their way into a kernel and back: 64-bit words, or bytes with offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Octets, Words
from hushcount.errors import KeyTypeError

_STORAGE = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


@dataclass(frozen=True, slots=True)
class ByteKeys:
    """Byte strings one after the other: string i is data[offsets[i] : offsets[i + 1]]."""

    data: Octets
    offsets: npt.NDArray[np.uint32] | Words

    def __len__(self) -> int:
        return len(self.offsets) - 1


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


def from_kernel(keys: Keys, kind: pa.DataType) -> pa.Array:
    """Return the Arrow array of keys that a kernel stored."""
    if isinstance(keys, ByteKeys):
        return _array_of_bytes(keys, kind)
    if pa.types.is_boolean(kind):
        return pa.array(keys.astype(bool))
    if kind == pa.uint64():
        return pa.array(keys)
    storage = _STORAGE[kind.bit_width]
    signed = keys.view(np.int64)
    if pa.types.is_unsigned_integer(kind):
        return pa.array(signed).cast(kind)
    return pa.array(signed).cast(storage).view(kind)


def sum_by_key(keys: list[pa.Array], counts: list[Counts]) -> tuple[pa.Array, Counts]:
    """Return the distinct keys and the sums of their counts."""
    table = pa.table({"key": pa.chunked_array(keys), "count": np.concatenate(counts)})
    summed = table.group_by("key").aggregate([("count", "sum")])
    whole = pa.concat_arrays([pa.array([], summed["key"].type), *summed["key"].chunks])
    return whole, np.asarray(summed["count_sum"].to_numpy(), np.int64)


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
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int64())
    elif kind == pa.uint64():
        return np.asarray(array.to_numpy(zero_copy_only=True), np.uint64)
    elif not pa.types.is_integer(kind):
        array = array.view(_STORAGE[kind.bit_width])
    signed = array.cast(pa.int64()).to_numpy(zero_copy_only=True)
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
