"""Parquet by pyarrow: one column chunk at a time, straight from the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hushcount.errors import DataError
from hushcount.keys.buffers import check_buffers
from hushcount.keys.memory import BATCH_ROWS
from hushcount.keys.plain import is_text
from hushcount.keys.slices import slices
from hushcount.sources.formats.inputs import Input
from hushcount.sources.formats.registry import Names, Piece

# Reading through a buffer of this size instead of whole column chunks keeps memory low.
BUFFER = 1 << 20
# Plain text takes at least four bytes a value (its length): fewer means dictionary pages.
DICTIONARY_BYTES = 3.0
# Batches of longer keys have fewer rows, down to a sixteenth.
BATCH_BYTES = 4 << 20


class ParquetReader:
    """Reads row groups in order, without buffering them whole.

    Text whose column is dictionary-encoded throughout is left so: measured, that costs a third
    to a half of the decoding, while asking for it on plain pages costs five times as much.
    """

    defect = "is not a whole Parquet file (damaged, truncated or of another format)"

    def schema(self, file: Input) -> pa.Schema:
        """Names and types of the columns."""
        return parquet.read_schema(file.location)

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield batches of rows; row groups that are skipped whole are not read."""
        with _opened(file.location, names) as opened:
            metadata = opened.metadata
            first, done = _first_group(metadata, skip)
            if done:
                yield Piece(None, done, _share(file, done, metadata))
            groups = range(first, metadata.num_row_groups)
            length = _batch_rows(metadata, names)
            for batch in opened.iter_batches(length, row_groups=groups, columns=list(names)):
                columns = [batch.column(name) for name in names]
                for column in columns:
                    check_buffers(column)
                for cut in slices(columns, length):
                    done += len(cut[0])
                    yield Piece(cut, len(cut[0]), _share(file, done, metadata))
            if done != metadata.num_rows:
                raise DataError(f"{file.name} has another number of rows than it states.")


def _opened(path: Any, names: Names) -> parquet.ParquetFile:
    options: dict[str, Any] = {"pre_buffer": False, "buffer_size": BUFFER}
    opened = parquet.ParquetFile(path, **options)
    if len(names) > 1 or not _has_dictionaries(opened, names[0]):
        return opened
    metadata = opened.metadata
    opened.close()
    return parquet.ParquetFile(path, metadata=metadata, read_dictionary=list(names), **options)


def _has_dictionaries(opened: parquet.ParquetFile, name: str) -> bool:
    """Whether a text column is dictionary-encoded in every row group."""
    if not is_text(opened.schema_arrow.field(name).type):
        return False
    chunks = _chunks(opened.metadata, (name,))
    return all(chunk.total_uncompressed_size <= DICTIONARY_BYTES * chunk.num_values for chunk in chunks)


def _batch_rows(metadata: Any, names: Names) -> int:
    size = sum(int(chunk.total_uncompressed_size) for chunk in _chunks(metadata, names))
    rows = BATCH_BYTES * int(metadata.num_rows) // max(size, 1)
    return max(BATCH_ROWS // 16, min(BATCH_ROWS, rows))


def _chunks(metadata: Any, names: Names) -> Iterator[Any]:
    """What the file says of the key columns in each row group."""
    columns = [index for index in range(metadata.num_columns) if metadata.schema.column(index).path in names]
    for group in range(metadata.num_row_groups):
        yield from (metadata.row_group(group).column(index) for index in columns)


def _first_group(metadata: Any, skip: int) -> tuple[int, int]:
    """The first row group to read, and the rows before it."""
    rows = 0
    for group in range(metadata.num_row_groups):
        length = metadata.row_group(group).num_rows
        if rows + length > skip:
            return group, rows
        rows += length
    return metadata.num_row_groups, rows


def _share(file: Input, rows: int, metadata: Any) -> int:
    return (file.size or 0) * rows // max(int(metadata.num_rows), 1)
