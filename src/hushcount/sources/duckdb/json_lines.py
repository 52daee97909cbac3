"""JSON lines by DuckDB: one object per line, fields as text."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from hushcount.sources.formats.inputs import Input
from hushcount.sources.formats.registry import Names, Piece
from hushcount.sources.formats.rows import TOO_LONG
from hushcount.sources.formats.text import text_lines
from hushcount.stores.duckdb import connect, literal

# DuckDB works in vectors of 2048 rows; 65536 keep two threads busy in little memory.
ROWS = 1 << 16


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
