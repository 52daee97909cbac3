"""JSON lines by DuckDB: one object per line, fields as text."""

from __future__ import annotations

import glob
from collections.abc import Iterator

from hushcount.sources.formats.inputs import Input
from hushcount.sources.formats.registry import Names, Piece
from hushcount.stores.duckdb import connect, record_batches

# DuckDB works in vectors of 2048 rows; 65536 keep two threads busy in little memory.
ROWS = 1 << 16


class JsonLinesReader:
    """Strings as they are, numbers and true/false as JSON writes them; a missing field is null."""

    defect = "has lines that are not well-formed JSON objects"

    def schema(self, file: Input) -> None:
        """Only the rows tell which fields there are."""
        return

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield batches in the order of the file."""
        with connect(memory=None) as connection:
            for batch in record_batches(connection.sql(_query(file, names)), ROWS):
                share = max(connection.query_progress(), 0.0) / 100
                yield Piece(batch.columns, batch.num_rows, int(share * (file.size or 0)))


def _query(file: Input, names: Names) -> str:
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    path = literal(glob.escape(file.location or ""))
    compression = literal(file.compression or "uncompressed")
    return (
        f"SELECT {', '.join(map(identifier, names))} FROM read_json({path}, columns = {{{columns}}},"
        f" format = 'newline_delimited', records = true, compression = {compression})"
    )


def literal(text: str) -> str:
    """Return text as a string in SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a column name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
