"""Arrow IPC, both the file and the stream layout, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import ipc

from hushcount.keys.memory import BATCH_ROWS
from hushcount.keys.slices import checked_slices
from hushcount.sources.formats.arrow_sizes import CheckedStream, check_file
from hushcount.sources.formats.inputs import Input
from hushcount.sources.formats.registry import Names, Piece

MAGIC = b"ARROW1"


class ArrowReader:
    """Reads record batch by record batch, and only the key columns of each."""

    defect = "is not a whole Arrow file or stream (damaged, truncated or of another format)"

    def schema(self, file: Input) -> pa.Schema:
        """Names and types of the columns."""
        head = file.head()
        if head.startswith(MAGIC):
            with pa.OSFile(file.location) as raw, ipc.open_file(raw) as opened:
                return opened.schema
        return ipc.read_schema(pa.BufferReader(head))

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield slices of the record batches."""
        fields = [self.schema(file).get_field_index(name) for name in names]
        options = ipc.IpcReadOptions(included_fields=fields)
        if file.head().startswith(MAGIC):
            yield from _file_pieces(file, names, options)
        else:
            yield from _stream_pieces(file, names, options)


def _file_pieces(file: Input, names: Names, options: ipc.IpcReadOptions) -> Iterator[Piece]:
    size = file.size or 0
    # The file is read, not mapped: one that is cut short meanwhile would end the program by SIGBUS.
    with pa.OSFile(file.location) as raw, ipc.open_file(raw, options=options) as opened:
        check_file(raw, file.name)
        count = opened.num_record_batches
        for index in range(count):
            for cut in checked_slices(opened.get_batch(index), names, BATCH_ROWS, file.name):
                yield Piece(cut, len(cut[0]), size * (index + 1) // count)


def _stream_pieces(file: Input, names: Names, options: ipc.IpcReadOptions) -> Iterator[Piece]:
    stream, position = file.open()
    checked = pa.PythonFile(CheckedStream(stream, file.name), mode="r")
    with stream, ipc.open_stream(checked, options=options) as opened:
        for batch in opened:
            for cut in checked_slices(batch, names, BATCH_ROWS, file.name):
                yield Piece(cut, len(cut[0]), position())
