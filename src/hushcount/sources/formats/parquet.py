"""Parquet by pyarrow: one column chunk at a time, straight from the file."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import parquet

from hushcount.errors import DataError
from hushcount.keys.buffers import checked_slices
from hushcount.keys.memory import BATCH_ROWS
from hushcount.keys.plain import is_text
from hushcount.sources.formats.inputs import Input
from hushcount.sources.formats.registry import Names, Piece

# Reading through a buffer of this size instead of whole column chunks keeps memory low.
BUFFER = 1 << 20
# Plain text takes at least four bytes per value (its length): fewer means dictionary pages.
DICTIONARY_BYTES = 3.0
# Batches of longer keys have fewer rows, down to a sixteenth.
BATCH_BYTES = 4 << 20


class ParquetReader:
    """Reads row groups in order, without buffering them whole.

    Text whose column is dictionary-encoded, at the start and the end of the file, is left so: that costs a
    third to a half of the decoding, while asking for it on plain pages costs five times as much (measured).
    """

    defect = "is not a whole Parquet file (damaged, truncated or of another format)"

    def schema(self, file: Input) -> pa.Schema:
        """Names and types of the columns."""
        return parquet.read_schema(file.location)

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield batches of rows; row groups that are skipped whole are not read."""
        opened, length = _opened(file.location, names)
        with opened:
            metadata = opened.metadata
            first, done = _first_group(metadata, skip)
            if done:
                yield Piece(None, done, _share(file, done, metadata))
            groups = range(first, metadata.num_row_groups)
            for batch in opened.iter_batches(length, row_groups=groups, columns=list(names)):
                for cut in checked_slices(batch, names, length, file.name):
                    done += len(cut[0])
                    yield Piece(cut, len(cut[0]), _share(file, done, metadata))
            if done != metadata.num_rows:
                raise DataError(f"{file.name} has another number of rows than it states.")


def _opened(path: str | None, names: Names) -> tuple[parquet.ParquetFile, int]:
    """Open a file, and say how many rows to read at a time."""
    opened = parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER)
    bytes_per_value = {name: _bytes_per_value(opened, name) for name in names}
    length = int(BATCH_BYTES / max(sum(bytes_per_value.values()), 1.0))
    length = max(BATCH_ROWS // 16, min(BATCH_ROWS, length))
    kinds, metadata = opened.schema_arrow, opened.metadata
    shared = [name for name in names if is_text(kinds.field(name).type)]
    shared = [name for name in shared if bytes_per_value[name] <= DICTIONARY_BYTES]
    if not shared:
        return opened, length
    opened.close()
    return parquet.ParquetFile(
        path, metadata=metadata, read_dictionary=shared, pre_buffer=False, buffer_size=BUFFER
    ), length


def _bytes_per_value(opened: parquet.ParquetFile, name: str) -> float:
    """Return how many bytes a value of a column takes in the first or the last row group, if it is larger."""
    metadata, largest = opened.metadata, 0.0
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    ends = {0, metadata.num_row_groups - 1} if metadata.num_rows and name in paths else set()
    for group in ends:
        # Asked for a damaged chunk, pyarrow would end the process; made to read from it, it raises.
        if next(opened.iter_batches(1, row_groups=[group], columns=[name]), None) is not None:
            chunk = metadata.row_group(group).column(paths.index(name))
            largest = max(largest, chunk.total_uncompressed_size / max(chunk.num_values, 1))
    return largest


def _first_group(metadata: parquet.FileMetaData, skip: int) -> tuple[int, int]:
    """Return the first row group to read, and the number of rows before it."""
    rows = 0
    for group in range(metadata.num_row_groups):
        length = metadata.row_group(group).num_rows
        if rows + length > skip:
            return group, rows
        rows += length
    return metadata.num_row_groups, rows


def _share(file: Input, rows: int, metadata: parquet.FileMetaData) -> int:
    return (file.size or 0) * rows // max(int(metadata.num_rows), 1)
