"""Arrow buffers that come from outside are checked before any kernel reads them.

An Arrow array is trusted by whoever computes with it: an offset or an index that points outside of its buffer
is read all the same, and the process crashes or shows foreign memory. Files, streams and other libraries can
hand in such arrays, by mistake or on purpose. A batch of rows that share long values is cut into slices whose
rows stay within a number of bytes once each has its own copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError

# Bytes to which the rows of a slice may expand when each takes its own copy of a shared value.
EXPANDED = 1 << 26
_HIGH_BITS = np.uint64(0x8080808080808080)
Sizes = npt.NDArray[np.int64]
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


def checked_slices(
    batch: pa.RecordBatch, names: Sequence[str], most: int, label: str
) -> Iterator[list[pa.Array]]:
    """Yield slices of some columns of a file; raise if they refer to values outside of their buffers."""
    columns = [batch.column(name) for name in names]
    for column in columns:
        check_buffers(column, label)
    yield from slices(columns, most)


def slices(columns: Sequence[pa.Array], most: int) -> Iterator[list[pa.Array]]:
    """Yield consecutive slices of the columns, of at most `most` rows.

    Rows of a dictionary or of views can share a value, which is copied for each row later on. A slice whose
    rows would then take more than `EXPANDED` bytes is cut further, down to single rows.

    >>> long = pa.array(["x" * (1 << 24)] * 10).dictionary_encode()
    >>> [len(column) for [column] in slices([long], 100)]
    [4, 4, 2]
    """
    rows = len(columns[0])
    for start in range(0, rows, most):
        whole = [column.slice(start, most) for column in columns]
        sizes = [shared for column in whole if (shared := _shared_sizes(column)) is not None]
        if not sizes:
            yield whole
            continue
        ends = np.cumsum(np.sum(sizes, axis=0))
        cut = 0
        while cut < len(ends):
            used = int(ends[cut - 1]) if cut else 0
            stop = max(int(np.searchsorted(ends, used + EXPANDED, "right")), cut + 1)
            yield [column.slice(cut, stop - cut) for column in whole]
            cut = stop


def is_shared(kind: pa.DataType) -> bool:
    """Return whether rows of a type can share a value."""
    types = pa.types
    views = types.is_string_view(kind) or types.is_binary_view(kind)
    return bool(types.is_dictionary(kind) or types.is_run_end_encoded(kind) or views)


def _shared_sizes(column: pa.Array) -> Sizes | None:
    """Return the bytes of each row's value if rows share values and may be too many, else None."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind) and has_offsets(kind.value_type):
        if longest(column.dictionary) * len(column) <= EXPANDED:  # as is usual
            return None
        return _plain(pc.binary_length(column.dictionary).take(column.indices))
    if types.is_run_end_encoded(kind) and has_offsets(kind.value_type):
        runs = pa.RunEndEncodedArray.from_arrays(column.run_ends, pc.binary_length(column.values))
        return _plain(pc.run_end_decode(runs.slice(column.offset, len(column))))
    if types.is_string_view(kind) or types.is_binary_view(kind):
        # A view is 16 bytes, of which the first four are the length of its value.
        views = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)
        return views[column.offset : column.offset + len(column), 0].astype(np.int64)
    return None


def _plain(sizes: pa.Array) -> Sizes:
    return np.asarray(sizes.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
