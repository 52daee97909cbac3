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
from hushcount.sources.formats.inputs import HEAD, Input
from hushcount.sources.formats.registry import Names, Piece
from hushcount.sources.formats.rows import LONGEST_ROW, TOO_LONG, AsFile, QuotedRows, line_ends, whole_rows


class CsvReader:
    """Delimited text with a header; an empty field without quotes is null, "NA" is text."""

    delimiter = ","
    defect = "has rows that are not well-formed CSV"

    def schema(self, file: Input) -> pa.Schema:
        """The names of the header, as text."""
        head = file.head()
        if not head.strip():
            raise DataError(f"{file.name} is empty.")
        if len(head) == HEAD and not QuotedRows(self.delimiter)(head)[0]:
            raise DataError(f"{file.name} has a header longer than 1 MB.")
        text = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
        rows = header_csv.reader(text, delimiter=self.delimiter)
        names = next(row for row in rows if row)
        return pa.schema([(name, pa.string()) for name in names])

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield one piece per block."""
        too_long = self.delimiter.join(TOO_LONG if name in names else "" for name in self.schema(file).names)
        stream, position = file.open()
        blocks = whole_rows(stream, QuotedRows(self.delimiter), f"{too_long}\n".encode())
        size = 2 * LONGEST_ROW + len(too_long)
        with stream, self._opened(pa.PythonFile(AsFile(blocks), mode="r"), names, size) as opened:
            for batch in opened:
                columns = [batch.column(name) for name in names]
                yield Piece(columns, batch.num_rows, position())

    def _opened(self, stream: pa.NativeFile, names: Names, size: int) -> csv.CSVStreamingReader:
        return csv.open_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=False, block_size=size),
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
        for block, done in text_lines(file, TOO_LONG):
            empty = pc.equal(pc.binary_length(block), 0)
            yield Piece([pc.if_else(empty, pa.scalar(None, pa.string()), block)], len(block), done)


def text_lines(file: Input, too_long: str) -> Iterator[tuple[pa.Array, int]]:
    """Yield blocks of lines without their ends, each with how much of the file has been read.

    `too_long` replaces a line longer than any row may be.
    """
    stream, position = file.open()
    with stream:
        for block in whole_rows(stream, line_ends, f"{too_long}\n".encode()):
            text = pa.array([block.removesuffix(b"\n")], pa.binary()).cast(pa.string())
            yield pc.ascii_rtrim(pc.split_pattern(text, "\n").flatten(), "\r"), position()
