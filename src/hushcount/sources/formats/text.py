"""CSV, TSV and plain lines by pyarrow; every value is text."""

from __future__ import annotations

import csv as header_csv
import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from hushcount.errors import DataError
from hushcount.keys.columns import SINGLE
from hushcount.sources.formats.inputs import Input
from hushcount.sources.formats.registry import Names, Piece

BLOCK = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_LINE = 1 << 26


class CsvReader:
    """Delimited text with a header; an empty field without quotes is null, "NA" is text."""

    delimiter = ","
    defect = "has rows that are not well-formed CSV"

    def schema(self, file: Input) -> pa.Schema:
        """The names of the header, as text."""
        head = file.head()
        if not head.strip():
            raise DataError(f"{file.name} is empty.")
        text = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
        rows = header_csv.reader(text, delimiter=self.delimiter)
        names = next(row for row in rows if row)
        return pa.schema([(name, pa.string()) for name in names])

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield one piece per block."""
        stream, position = file.open()
        with stream, self._opened(stream, names) as opened:
            for batch in opened:
                columns = [batch.column(name) for name in names]
                yield Piece(columns, batch.num_rows, position())

    def _opened(self, stream: pa.NativeFile, names: Names) -> csv.CSVStreamingReader:
        return csv.open_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=False, block_size=BLOCK),
            parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                include_columns=list(names),
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


class TsvReader(CsvReader):
    """The same with tabs."""

    delimiter = "\t"
    defect = "has rows that are not well-formed TSV"


class LinesReader:
    """One key per line, ended by LF or CR LF; an empty line is null."""

    defect = "cannot be read as lines of text"

    def schema(self, file: Input) -> pa.Schema:
        """The only column."""
        return pa.schema([(SINGLE, pa.string())])

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield whole lines, a block at a time."""
        stream, position = file.open()
        with stream:
            for block in _whole_lines(stream, file.name):
                lines = _split(block)
                yield Piece([lines], len(lines), position())


def _whole_lines(stream: pa.NativeFile, name: str) -> Iterator[bytes]:
    """Yield blocks of whole lines, without the last line feed."""
    rest = b""
    block = stream.read(BLOCK).removeprefix(BYTE_ORDER_MARK)
    while block:
        cut = block.rfind(b"\n")
        if cut >= 0:
            yield rest + block[:cut]
            rest = b""
        rest += block[cut + 1 :]
        if len(rest) > LONGEST_LINE:
            raise DataError(f"{name} has a line longer than {LONGEST_LINE >> 20} MB.")
        block = stream.read(BLOCK)
    if rest:
        yield rest


def _split(block: bytes) -> pa.Array:
    text = pa.array([block], pa.binary()).cast(pa.string())
    lines = pc.ascii_rtrim(pc.split_pattern(text, "\n").flatten(), "\r")
    empty = pc.equal(pc.binary_length(lines), 0)
    return pc.if_else(empty, pa.scalar(None, pa.string()), lines)
