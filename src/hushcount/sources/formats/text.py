"""CSV, TSV and plain lines by pyarrow, JSON lines by DuckDB: every value is text.

Memory is bounded whatever the length of a row: one longer than `LONGEST_ROW` is replaced by one whose keys
are too long, so that it is dropped, or stops the run, like any row with such a key. Whether a row is replaced
depends on its own length alone.
"""

from __future__ import annotations

import csv as header_csv
import io
import json
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from hushcount.errors import DataError
from hushcount.keys.columns import SINGLE
from hushcount.keys.plain import LARGEST_KEY_BYTES
from hushcount.sources.formats.inputs import HEAD, Input
from hushcount.sources.formats.registry import Names, Piece
from hushcount.stores.duckdb import connect, literal

LONGEST_ROW = 1 << 20
BLOCK = LONGEST_ROW  # bytes that are read at a time, no more than a row may have
TOO_LONG = "x" * (LARGEST_KEY_BYTES + 1)
START, PLAIN = 0, 1  # states of `compiled._kernels.row_ends` outside of quotes
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Returns where the first and the last row of a block end, both 0 if none does.
Ends = Callable[[bytes], tuple[int, int]]


def whole_rows(stream: pa.NativeFile, ends: Ends, stand_in: bytes) -> Iterator[bytes]:
    """Yield blocks of whole rows, at most twice as long as a row may be.

    Parameters
    ----------
    stream
        The text, from its start; a byte order mark is left out.
    ends
        Finds the ends of rows; it is called with one block after the other.
    stand_in
        The row, with its end, that replaces one that is too long.
    """
    rest, replaced = b"", False
    block = stream.read(BLOCK).removeprefix(BYTE_ORDER_MARK)
    while block:
        first, last = ends(block)
        replaced = replaced or len(rest) + (first or len(block)) > LONGEST_ROW
        if replaced:
            rest = b""
        if last:
            yield stand_in + block[first:last] if replaced else rest + block[:last]
            rest, replaced = b"", False
        if not replaced:
            rest += block[last:]
        block = stream.read(BLOCK)
    if rest or replaced:
        yield stand_in if replaced else rest


def line_ends(block: bytes) -> tuple[int, int]:
    """Return the ends of the first and the last line of a block."""
    return block.find(b"\n") + 1, block.rfind(b"\n") + 1


class QuotedRows:
    """Finds the ends of rows of delimited text, in which line feeds and carriage returns may be quoted.

    A quote counts at the start of a field and up to its closing quote, as the parser of pyarrow reads it.
    Blocks without quotes are searched for line ends; only others need the loop over all bytes.
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter.encode()
        self._state = START

    def __call__(self, block: bytes) -> tuple[int, int]:
        """Return the ends of the first and the last row of the next block."""
        if self._state not in (START, PLAIN) or b'"' in block:
            from hushcount.compiled._kernels.row_ends import row_ends

            octets = np.frombuffer(block, np.uint8)
            self._state, first, last = row_ends(octets, ord(self._delimiter), self._state)
            return first, last
        self._state = START if block[-1:] in (self._delimiter, b"\n", b"\r") else PLAIN
        ends = [find(mark) + 1 for find in (block.find, block.rfind) for mark in (b"\n", b"\r")]
        return min(filter(None, ends), default=0), max(ends)


class AsFile(io.RawIOBase):
    """Blocks of whole rows as a file; every read returns one of them."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next block, empty at the end."""
        return next(self._blocks, b"")


def _told_apart(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks of whole rows with an empty line after each, which is no row.

    The parser hands on a block when it has read the next one, so rows of a slow pipe are handed on at once.
    """
    for block in blocks:
        yield block
        if block.endswith((b"\n", b"\r")):
            yield b"\n"


class CsvReader:
    """Delimited text with a header; an empty field without quotes is null, "NA" is text."""

    delimiter = ","
    defect = "has rows that are not well-formed CSV"

    def schema(self, file: Input) -> pa.Schema:
        """The names of the header, as text."""
        head = file.head(self._has_header)
        if not head.strip():
            raise DataError(f"{file.name} is empty.")
        if len(head) == HEAD and not QuotedRows(self.delimiter)(head)[0]:
            raise DataError(f"{file.name} has a header longer than 1 MB.")
        text = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
        rows = header_csv.reader(text, delimiter=self.delimiter)
        names = next(row for row in rows if row)
        return pa.schema([(name, pa.string()) for name in names])

    def _has_header(self, head: bytes) -> bool:
        """Return whether the first row that is not empty has come whole."""
        text = head.removeprefix(BYTE_ORDER_MARK).lstrip(b"\r\n")
        return bool(text) and QuotedRows(self.delimiter)(text)[0] > 0

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield one piece per block."""
        too_long = self.delimiter.join(TOO_LONG if name in names else "" for name in self.schema(file).names)
        stream, position = file.open()
        blocks = whole_rows(stream, QuotedRows(self.delimiter), f"{too_long}\n".encode())
        size = 2 * LONGEST_ROW + len(too_long)
        with (
            stream,
            self._opened(pa.PythonFile(AsFile(_told_apart(blocks)), mode="r"), names, size) as opened,
        ):
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


class JsonLinesReader:
    """Strings as they are, numbers and true/false as JSON writes them; a missing field is null."""

    defect = "has lines that are not well-formed JSON objects"

    def schema(self, file: Input) -> None:
        """Only the rows tell which fields there are."""
        return

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield blocks in the order of the file; lines without text are no rows."""
        query = _query(names)
        with connect(memory=None) as connection:
            for lines, done in text_lines(file, json.dumps(dict.fromkeys(names, TOO_LONG))):
                rows = connection.from_arrow(pa.table({"line": lines}))
                found = rows.query("lines", query).to_arrow_table()  # type: ignore[union-attr]
                yield Piece([column.combine_chunks() for column in found.columns], found.num_rows, done)


def _query(names: Names) -> str:
    """Return the query for some fields of `lines`, named by JSON pointers, which know no wildcards."""
    pointers = ("/" + name.replace("~", "~0").replace("/", "~1") for name in names)
    fields = (f"json_extract_string(line, {literal(pointer)})" for pointer in pointers)
    checked = "CASE WHEN json_type(line) = 'OBJECT' THEN line ELSE error('no object') END AS line"
    return (
        f"SELECT {', '.join(f'{field} AS f{place}' for place, field in enumerate(fields))}"
        f" FROM (SELECT {checked} FROM lines WHERE trim(line, ' ' || chr(9)) <> '')"
    )
