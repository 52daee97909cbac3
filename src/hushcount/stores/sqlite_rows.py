"""Queries of an SQLite file, with the types that its tables declare.

A column of SQLite may hold values of any type, whatever it declares. So a column that is declared as whole
numbers, text or bytes must hold nothing else, and all others, such as expressions, are read as text.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.stores.duckdb import identifier
from hushcount.stores.reading import FAILED, NO_COLUMNS, NO_PARSE, QueryReader

ROWS = 1 << 14  # Python objects are copied
# Declared types by the words in them, in the order in which SQLite looks for them.
DECLARED = (
    ("INT", pa.int64()),
    ("CHAR", pa.string()),
    ("CLOB", pa.string()),
    ("TEXT", pa.string()),
    ("BLOB", pa.binary()),
)
READ_AS_TEXT = {b"hushcount": b"text"}
MIXED = "A column of {path} holds a value of another type than it declares; convert it in --sql, with CAST."
USAGE = {
    "no such column": NO_COLUMNS,
    "ambiguous": NO_COLUMNS,
    "syntax error": NO_PARSE,
    "incomplete": NO_PARSE,
    "one statement": NO_PARSE,
}


class SQLiteRows(QueryReader):
    """The queries of one SQLite file, which is opened for reading only, in each thread anew."""

    def __init__(self, path: str) -> None:
        self.files = (path,)
        self._path = path
        self._running: list[sqlite3.Connection] = []

    def schema(self, query: str) -> pa.Schema:
        """Return the columns; a view of the query knows which of them have a declared type."""
        with closing(self._connect()) as connection:
            connection.execute(f"CREATE TEMP VIEW hushcount_result AS {query.rstrip().rstrip(';')}")
            rows = connection.execute("PRAGMA temp.table_info(hushcount_result)").fetchall()
        names = [str(row[1]) for row in rows]
        # SQLite calls the second column of a name "name:1".
        asked = [name.rpartition(":")[0] if name.rpartition(":")[0] in names else name for name in names]
        return pa.schema([_field(name, str(row[2])) for name, row in zip(asked, rows, strict=True)])

    def batches(self, query: str, types: Sequence[pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Run a query and yield its rows, which must be of these types."""
        with closing(self._connect()) as connection:
            self._running.append(connection)
            cursor = connection.execute(query)
            while rows := cursor.fetchmany(ROWS):
                columns = zip(zip(*rows, strict=True), types, strict=True)
                arrays = [pa.array(values, kind) for values, kind in columns]
                yield pa.record_batch(arrays, [str(place) for place in range(len(arrays))])

    def cancel(self) -> None:
        """End the query that runs."""
        for connection in self._running:
            with suppress(sqlite3.Error):
                connection.interrupt()

    def failure(self, error: Exception) -> HushcountError:
        """Return the sentence for what SQLite or Arrow raised."""
        words = str(error).lower()
        if isinstance(error, pa.ArrowException | OverflowError | TypeError):
            return DataError(MIXED.format(path=self._path))
        if "no such table" in words:
            return DataError(f"The table does not exist in {self._path}.")
        for found, sentence in USAGE.items():
            if found in words:
                return ParameterError(sentence)
        if "locked" in words or "not a database" in words or "malformed" in words:
            return DataError(f"{self._path} cannot be read as an SQLite database, or is locked.")
        return DataError(FAILED)

    def value(self, field: pa.Field) -> str:
        """Return a column, as text if it declares no type."""
        name = identifier(field.name)
        return f"CAST({name} AS TEXT) AS {name}" if field.metadata == READ_AS_TEXT else name

    def group(self, field: pa.Field) -> str | None:
        """Return what is grouped: text by its bytes, whatever its collation takes for equal."""
        name = identifier(field.name)
        if pa.types.is_string(field.type):
            return f"(CAST({name} AS TEXT) COLLATE BINARY)" if field.metadata else f"({name} COLLATE BINARY)"
        return name

    def _connect(self) -> sqlite3.Connection:
        place = f"file:{quote(str(Path(os.path.abspath(self._path))))}?mode=ro"
        return sqlite3.connect(place, uri=True, check_same_thread=False)


def _field(name: str, declared: str) -> pa.Field:
    """Return a column of the type that is declared, or of text."""
    for word, kind in DECLARED:
        if word in declared.upper():
            return pa.field(name, kind)
    return pa.field(name, pa.string(), metadata=READ_AS_TEXT)
