"""Batches cut into slices whose rows stay within a number of bytes, even if all share one long value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.keys.buffers import check_buffers, has_offsets, longest

# Bytes to which the rows of a slice may expand when each takes its own copy of a shared value.
EXPANDED = 1 << 26
Sizes = npt.NDArray[np.int64]


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
