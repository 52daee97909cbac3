"""Arrow buffers that come from outside are checked before any kernel reads them.

An Arrow array is trusted by whoever computes with it: an offset or an index that points outside of its buffer
is read all the same, and the process crashes or shows foreign memory. Files, streams and other libraries can
hand in such arrays, by mistake or on purpose.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError

_HIGH_BITS = np.uint64(0x8080808080808080)
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]


def check_buffers(array: pa.Array, label: str = "The data") -> None:
    """Raise unless all offsets and indices of an array lie within its buffers.

    Parameters
    ----------
    array
        An array from outside: of a file, a stream or another library.
    label
        The subject of the error's sentence, such as "Column 'url'".

    Raises
    ------
    DataError
        If the array is damaged.

    Examples
    --------
    >>> check_buffers(pa.array(["tea", None]))
    """
    if not _is_sound(array):
        raise DataError(f"{label} is damaged: it refers to values outside of its Arrow buffers.")


def check_column(column: pa.Array | pa.ChunkedArray, label: str) -> None:
    """Raise unless all chunks of a column are sound; `label` is the subject of the sentence."""
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        check_buffers(chunk, label)


def _is_sound(array: pa.Array) -> bool:
    if isinstance(array, pa.ExtensionArray):
        return _is_sound(array.storage)
    try:
        array.validate(full=not (has_offsets(array.type) or pa.types.is_dictionary(array.type)))
    except (pa.ArrowException, OverflowError):
        return False
    if pa.types.is_dictionary(array.type):
        return _is_sound(array.dictionary) and _are_indices(array.indices, len(array.dictionary))
    return not has_offsets(array.type) or _are_offsets(_offsets(array))


def _are_offsets(offsets: Offsets) -> bool:
    """Return whether offsets never decrease; `validate` has compared the first and the last with the data."""
    return bool((offsets[1:] >= offsets[:-1]).all())


def _are_indices(indices: pa.Array, values: int) -> bool:
    bounds = pc.min_max(indices).as_py()
    return bounds["min"] is None or (bounds["min"] >= 0 and bounds["max"] < values)


def has_offsets(kind: pa.DataType) -> bool:
    """Return whether values of a type are bytes one after the other, with an array of offsets."""
    types = pa.types
    plain = types.is_string(kind) or types.is_binary(kind)
    return bool(plain or types.is_large_string(kind) or types.is_large_binary(kind))


def _offsets(array: pa.Array) -> Offsets:
    if not len(array):
        return np.zeros(1, np.int32)
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    rows, data = slice(array.offset, array.offset + len(array) + 1), array.buffers()[1]
    return np.frombuffer(data, np.int64)[rows] if wide else np.frombuffer(data, np.int32)[rows]


def lengths(array: pa.Array) -> Offsets:
    """Return the bytes of each value of text or bytes, of those under nulls too.

    >>> lengths(pa.array(["tea", "é"])).tolist()
    [3, 2]
    """
    offsets = _offsets(array)
    return offsets[1:] - offsets[:-1]


def longest(array: pa.Array) -> int:
    """Return the bytes of the longest value of text or bytes, under nulls too."""
    return int(lengths(array).max(initial=0))


def is_utf8(array: pa.Array) -> bool:
    """Return whether an array of text, its buffers checked, is valid UTF-8: cheaply where it is ASCII.

    >>> is_utf8(pa.array(["plain", "naïve"]))
    True
    """
    if _is_ascii(array):
        return True
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_ascii(array: pa.Array) -> bool:
    """Return whether no byte has its high bit set: eight bytes at a time, and at most seven on each side."""
    offsets, data = _offsets(array), array.buffers()[2]
    if data is None or len(array) == 0:
        return True
    first, last = int(offsets[0]), int(offsets[-1])
    start, stop = first // 8 * 8, min(-(-last // 8) * 8, len(data) // 8 * 8)
    count = max(stop - start, 0) // 8
    words = np.frombuffer(data, np.uint64, count, start) if count else np.empty(0, np.uint64)
    rest = np.frombuffer(data, np.uint8)[max(start, stop) : last]
    return not (np.bitwise_or.reduce(words) & _HIGH_BITS) and not (rest & 0x80).any()
