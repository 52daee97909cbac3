"""One reader a format: which columns there are, and pieces of consecutive rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.sources.formats.inputs import Input

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Columns of consecutive rows, or None for rows that were skipped unread."""

    columns: Sequence[pa.Array] | None
    rows: int
    bytes_read: int


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


def reader_of(format: str) -> Reader:  # noqa: A002
    """The reader of a format."""
    if format == "parquet":
        from hushcount.sources.formats.parquet import ParquetReader

        return ParquetReader()
    if format == "arrow":
        from hushcount.sources.formats.arrow_ipc import ArrowReader

        return ArrowReader()
    if format == "jsonl":
        from hushcount.sources.duckdb.json_lines import JsonLinesReader

        return JsonLinesReader()
    from hushcount.sources.formats.text import CsvReader, LinesReader

    return LinesReader() if format == "lines" else CsvReader("\t" if format == "tsv" else ",")


def after(pieces: Iterator[Piece], skip: int) -> Iterator[Piece]:
    """The pieces without their first `skip` rows."""
    for piece in pieces:
        if skip >= piece.rows:
            skip -= piece.rows
        elif piece.columns is not None:
            columns = [column.slice(skip) for column in piece.columns] if skip else piece.columns
            yield Piece(columns, piece.rows - skip, piece.bytes_read)
            skip = 0
