"""Columnar formats by pyarrow: Arrow IPC, both the file and the stream layout, and Parquet.

Compressed Arrow data state to how many bytes they expand, which is bounded before anything expands. A record
batch of a file or stream is a message: metadata, written as a flatbuffer, then a body of buffers. Each
compressed buffer begins with the number of its bytes after decompression, so a few kilobytes may ask for
terabytes. Of Parquet, one column chunk at a time is read, straight from the file.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
from pyarrow import ipc, parquet

from hushcount.errors import DataError
from hushcount.keys.buffers import checked_slices
from hushcount.keys.memory import BATCH_ROWS
from hushcount.keys.plain import has_text_offsets
from hushcount.sources.formats.inputs import Input, RegularFile
from hushcount.sources.formats.registry import ARROW_FILE, Names, Piece

# Bytes to which the buffers of one compressed batch may expand together.
MOST = 1 << 30
SENTENCE = "{} has a compressed batch of rows that expands to more than 1 GiB: write it in smaller batches."
OLD = b"ARROW:experimental_compression"  # how the first compressed data were marked
DICTIONARY, BATCH = 2, 3  # kinds of messages
BLOCK = struct.Struct("<qi12x")  # where a message is in the file, and the length of its metadata
BUFFER = struct.Struct("<qq")  # where a buffer is in the body, and its length
LENGTH = struct.Struct("<q")
TAIL = struct.Struct("<i6s")  # the length of the footer, and the last bytes of a file
ReadAt = Callable[[int, int], bytes]  # how many bytes, from where


class ArrowReader:
    """Reads record batch by record batch, and only the key columns of each."""

    defect = "is not a whole Arrow file or stream (damaged, truncated or of another format)"

    def schema(self, file: Input) -> pa.Schema:
        """Names and types of the columns."""
        head = file.head()
        if head.startswith(ARROW_FILE):
            with _raw(file) as raw, ipc.open_file(raw) as opened:
                return opened.schema
        return ipc.read_schema(pa.BufferReader(head))

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield slices of the record batches."""
        fields = [self.schema(file).get_field_index(name) for name in names]
        options = ipc.IpcReadOptions(included_fields=fields)
        if file.head().startswith(ARROW_FILE):
            yield from _file_pieces(file, names, options)
        else:
            yield from _stream_pieces(file, names, options)


def _file_pieces(file: Input, names: Names, options: ipc.IpcReadOptions) -> Iterator[Piece]:
    size = file.size or 0
    with _raw(file) as raw, ipc.open_file(raw, options=options) as opened:
        _check_file(raw, file.name)
        count = opened.num_record_batches
        for index in range(count):
            for cut in checked_slices(opened.get_batch(index), names, BATCH_ROWS, file.name):
                yield Piece(cut, len(cut[0]), size * (index + 1) // count)


def _stream_pieces(file: Input, names: Names, options: ipc.IpcReadOptions) -> Iterator[Piece]:
    stream, position = file.open()
    checked = pa.PythonFile(_CheckedStream(stream, file.name), mode="r")
    with stream, ipc.open_stream(checked, options=options) as opened:
        for batch in opened:
            for cut in checked_slices(batch, names, BATCH_ROWS, file.name):
                yield Piece(cut, len(cut[0]), position())


def _check_file(raw: pa.NativeFile, label: str) -> None:
    """Raise if a batch of a file, or one of its dictionaries, would expand to too many bytes."""
    end = raw.size() - TAIL.size
    length, _ = TAIL.unpack(raw.read_at(TAIL.size, end))
    footer = raw.read_at(length, end - length)
    table = _Table(footer, _number(footer, 0))
    for place, count in (table.vector(2), table.vector(3)):  # of dictionaries, of record batches
        for at in range(place, place + BLOCK.size * count, BLOCK.size):
            offset, size = BLOCK.unpack_from(footer, at)
            framed = raw.read_at(size, offset)
            metadata = framed[8 if framed.startswith(b"\xff\xff\xff\xff") else 4 :]
            _check(metadata, partial(_read_from, raw, offset + size), label)


class _CheckedStream(io.RawIOBase):
    """The bytes of a stream, each message of it checked before it is handed on."""

    def __init__(self, stream: pa.NativeFile, label: str) -> None:
        self._messages = ipc.MessageReader.open_stream(stream)
        self._label = label
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to `size` bytes of the current message, or of the next; nothing at the end."""
        if not self._left:
            try:
                message = self._messages.read_next_message()
            except StopIteration:
                return b""
            metadata, body = message.metadata.to_pybytes(), message.body
            if body is not None:
                _check(metadata, lambda count, at: body[at : at + count].to_pybytes(), self._label)
            self._left = memoryview(message.serialize())
        count = len(self._left) if size is None or size < 0 else size
        given, self._left = self._left[:count], self._left[count:]
        return given.tobytes()


def _check(metadata: bytes, read: ReadAt, label: str) -> None:
    """Raise if the buffers of a message state that they expand to too many bytes; `read` reads its body."""
    message = _Table(metadata, _number(metadata, 0))
    kind = metadata[message.field(1)] if message.field(1) else 0
    if kind not in (DICTIONARY, BATCH):
        return
    rows = message.table(2)
    rows = rows.table(1) if kind == DICTIONARY else rows
    if not rows.field(3) and OLD not in metadata:  # not compressed
        return
    first, count = rows.vector(2)
    expanded = 0
    for at in range(first, first + BUFFER.size * count, BUFFER.size):
        offset, length = BUFFER.unpack_from(metadata, at)
        if length >= LENGTH.size:
            (stated,) = LENGTH.unpack(read(LENGTH.size, offset))
            expanded += max(stated, 0)  # -1 says that the buffer is stored as it is
    if expanded > MOST:
        raise DataError(SENTENCE.format(label))


def _read_from(raw: pa.NativeFile, start: int, count: int, at: int) -> bytes:
    """Return some bytes of a file, counted from `start`."""
    return bytes(raw.read_at(count, start + at))


def _number(data: bytes, at: int, form: str = "<I") -> int:
    """Return the whole number at a place of a flatbuffer."""
    return int(struct.unpack_from(form, data, at)[0])


class _Table:
    """A table of a flatbuffer: it names the places of its fields, of which any may be left out."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at
        self.names = at - _number(data, at, "<i")

    def field(self, index: int) -> int:
        """Return the place of a field, 0 if it is left out."""
        entry = 4 + 2 * index
        if entry >= _number(self.data, self.names, "<H"):
            return 0
        offset = _number(self.data, self.names + entry, "<H")
        return self.at + offset if offset else 0

    def table(self, index: int) -> _Table:
        """Return the table that a field refers to."""
        return _Table(self.data, self._target(index))

    def vector(self, index: int) -> tuple[int, int]:
        """Return where the elements of a field are, and how many; a field that is left out has none."""
        if not self.field(index):
            return 0, 0
        at = self._target(index)
        return at + 4, _number(self.data, at)

    def _target(self, index: int) -> int:
        at = self.field(index)
        return at + _number(self.data, at)


# Reading through a buffer of this size instead of whole column chunks keeps memory low.
READ_BUFFER = 1 << 20
# Plain text takes at least four bytes per value (its length): fewer means dictionary pages.
DICTIONARY_BYTES = 3.0
WITH_DICTIONARY = 12.0  # together with its share of the dictionary
# Batches of longer keys have fewer rows, down to a sixteenth.
BATCH_BYTES = 4 << 20
CODED_ROWS = (
    1 << 20
)  # of text behind a dictionary: four bytes each, and the more rows the fewer keys for each


class ParquetReader:
    """Reads row groups in order, without buffering them whole.

    Text whose column is dictionary-encoded, at the start and the end of the file, is left so: that costs a
    third to a half of the decoding, while asking for it on plain pages costs five times as much (measured).
    """

    defect = "is not a whole Parquet file (damaged, truncated or of another format)"

    def schema(self, file: Input) -> pa.Schema:
        """Names and types of the columns."""
        with _raw(file) as raw:
            return parquet.read_schema(raw)

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield batches of rows; row groups that are skipped whole are not read."""
        with _raw(file) as raw:
            yield from self._pieces(file, raw, names, skip)

    def _pieces(self, file: Input, raw: pa.NativeFile, names: Names, skip: int) -> Iterator[Piece]:
        opened, length = _opened(raw, names)
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


def _raw(file: Input) -> pa.NativeFile:
    """Open a file for reading anywhere; what arrives by a pipe has been copied to a file."""
    assert isinstance(file, RegularFile)
    return file.raw()


def _opened(raw: pa.NativeFile, names: Names) -> tuple[parquet.ParquetFile, int]:
    """Open a file, and say how many rows to read at a time."""
    opened = parquet.ParquetFile(raw, pre_buffer=False, buffer_size=READ_BUFFER)
    sizes = {name: _bytes_per_value(opened, name) for name in names}
    length = int(BATCH_BYTES / max(sum(whole for whole, _ in sizes.values()), 1.0))
    length = max(BATCH_ROWS // 16, min(BATCH_ROWS, length))
    kinds, metadata = opened.schema_arrow, opened.metadata
    shared = [name for name in names if has_text_offsets(kinds.field(name).type)]
    shared = [name for name in shared if _is_coded(*sizes[name])]
    if not shared:
        return opened, length
    opened.close()
    if len(shared) == len(names) == 1:
        length = CODED_ROWS
    return parquet.ParquetFile(
        raw, metadata=metadata, read_dictionary=shared, pre_buffer=False, buffer_size=READ_BUFFER
    ), length


def _is_coded(whole: float, pages: float) -> bool:
    """Return whether rows are codes of texts that occur several times each, by the bytes of a value."""
    return whole <= DICTIONARY_BYTES or (pages <= DICTIONARY_BYTES and whole <= WITH_DICTIONARY)


def _bytes_per_value(opened: parquet.ParquetFile, name: str) -> tuple[float, float]:
    """Return how many bytes a value of a column takes in the first or the last row group, if it is larger.

    The first number is of all that is stored, the second of the pages beside the dictionary, as compressed.
    """
    metadata, largest, pages = opened.metadata, 0.0, 0.0
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    ends = {0, metadata.num_row_groups - 1} if metadata.num_rows and name in paths else set()
    for group in ends:
        # Asked for a damaged chunk, pyarrow would end the process; made to read from it, it raises.
        if next(opened.iter_batches(1, row_groups=[group], columns=[name]), None) is not None:
            chunk = metadata.row_group(group).column(paths.index(name))
            values, start = max(chunk.num_values, 1), chunk.dictionary_page_offset
            largest = max(largest, chunk.total_uncompressed_size / values)
            beside = 0 if start is None else chunk.data_page_offset - start
            known = chunk.total_compressed_size - beside if beside > 0 else chunk.total_uncompressed_size
            pages = max(pages, known / values)
    return largest, pages


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
