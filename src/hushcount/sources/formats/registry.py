"""The table of file formats, and what each reader gives: the columns, and pieces of consecutive rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hushcount.registry import Registry

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.sources.formats.inputs import Input

Names = tuple[str, ...]
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
ARROW_FILE = b"ARROW1"  # the first bytes of an Arrow file; a stream has others


@dataclass(frozen=True, slots=True)
class Piece:
    """Columns of consecutive rows, or None for rows that were skipped unread.

    `malformed` says that a row is not of the format; such rows are null in all columns.
    """

    columns: Sequence[pa.Array] | None
    rows: int
    bytes_read: int
    malformed: bool = False


class Reader(Protocol):
    """How one format is read; pyarrow or DuckDB does the parsing."""

    @property
    def defect(self) -> str:
        """What is wrong with a file that the parser refuses."""
        ...

    def schema(self, file: Input) -> pa.Schema | None:
        """Names and types of the columns; None when only the rows tell."""
        ...

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield the rows in order; whole pieces among the first `skip` rows may be left unread."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the table: where the reader is, and the endings of its files.

    `streams` says whether they may be compressed, `drops` whether malformed rows are dropped one by one.
    """

    reader: str
    endings: tuple[str, ...] = ()
    streams: bool = True
    drops: bool = False


TABLE = {
    "lines": Format("hushcount.sources.formats.text:LinesReader", (".txt", ".log")),
    "csv": Format("hushcount.sources.formats.text:CsvReader", (".csv",)),
    "tsv": Format("hushcount.sources.formats.text:TsvReader", (".tsv",)),
    "jsonl": Format("hushcount.sources.formats.text:JsonLinesReader", (".jsonl", ".ndjson")),
    "parquet": Format("hushcount.sources.formats.columnar:ParquetReader", (".parquet",), streams=False),
    "arrow": Format(
        "hushcount.sources.formats.columnar:ArrowReader", (".arrow", ".feather", ".arrows"), streams=False
    ),
    "combined": Format("hushcount.sources.formats.logs:CombinedLogReader", drops=True),
    "common": Format("hushcount.sources.formats.logs:CommonLogReader", drops=True),
}
# A regular expression follows: "pattern:(?P<host>[0-9.]+) " is the format of lines that it cuts into columns.
PATTERN = "pattern:"
CUT = Format("hushcount.sources.formats.logs:PatternReader", drops=True)
FORMATS: Registry[type[Reader]] = Registry("format", {name: row.reader for name, row in TABLE.items()})
ENDINGS = {ending: name for name, row in TABLE.items() for ending in row.endings}


def format_of(name: str) -> Format:
    """Return what is known of a format, or raise."""
    return CUT if name.startswith(PATTERN) else TABLE[FORMATS.check(name)]


def reader_of(name: str) -> Reader:
    """Return the reader of a format."""
    if not name.startswith(PATTERN):
        return FORMATS[name]()
    from hushcount.sources.formats.logs import PatternReader

    return PatternReader(name.removeprefix(PATTERN))


def ending_format(name: str) -> str | None:
    """Return the format that a file's ending names, compressed or not.

    >>> ending_format("access.log.gz"), ending_format("a.parquet"), ending_format("a.parquet.gz")
    ('lines', 'parquet', None)
    """
    stem, ending = os.path.splitext(name.lower())
    if ending not in COMPRESSIONS:
        return ENDINGS.get(ending)
    inner = ENDINGS.get(os.path.splitext(stem)[1])
    return inner if inner is not None and TABLE[inner].streams else None


def after(pieces: Iterator[Piece], skip: int) -> Iterator[Piece]:
    """Yield the pieces without their first `skip` rows."""
    for piece in pieces:
        if skip >= piece.rows:
            skip -= piece.rows
        elif piece.columns is not None:
            columns = [column.slice(skip) for column in piece.columns] if skip else piece.columns
            yield Piece(columns, piece.rows - skip, piece.bytes_read, piece.malformed)
            skip = 0
