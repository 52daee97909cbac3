"""Releases as relations of a DuckDB or SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Self

from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import attempt
from hushcount.stores.database import LOCKED
from hushcount.stores.duckdb import BUSY, connect, identifier, literal
from hushcount.stores.results import Relation, Results, Rows
from hushcount.stores.sqlite import PATIENCE, REASONS

if TYPE_CHECKING:
    from hushcount.stores.duckdb import Connection

FAILED = "{path} could not be written, so nothing was changed there."
ROWS = "hushcount_rows"


class DuckDBResults(Results):
    """A transaction on a DuckDB file."""

    def __init__(self, relation: Relation, connection: Connection) -> None:
        super().__init__(relation)
        self._connection = connection

    @classmethod
    @contextmanager
    def opened(cls, relation: Relation, write: bool) -> Iterator[Self]:
        """Open the file, and commit if the block ends well."""
        busy = DataError(BUSY.format(path=relation.location))
        with closing(attempt(lambda _: busy, lambda: connect(path=relation.location))) as connection:
            results = cls(relation, connection)
            results.run("BEGIN TRANSACTION")
            yield results
            results.run("COMMIT" if write else "ROLLBACK")

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run a statement and return its rows."""
        return attempt(self._failure, lambda: self._connection.execute(statement, list(values)).fetchall())

    def columns(self, quoted: str) -> list[str]:
        """Return the columns of a relation, none if it does not exist."""
        *schema, name = self._parts(quoted)
        inside = f"schema_name = {literal(schema[-1])}" if schema else "schema_name = current_schema()"
        found = self.run(
            f"SELECT column_name FROM duckdb_columns() WHERE table_name = {literal(name)} AND {inside}"
            " AND database_name = current_database() ORDER BY column_index"
        )
        return [str(column) for (column,) in found]

    def _parts(self, quoted: str) -> list[str]:
        """Return the names of which a quoted name is made; none has a point in it."""
        return [part[1:-1].replace('""', '"') for part in quoted.split(".")]

    def insert(self, rows: Rows) -> None:
        """Insert all rows at once."""
        attempt(self._failure, self._insert, rows)

    def _insert(self, rows: Rows) -> None:
        names = ", ".join(map(identifier, rows.columns))
        typed = zip(rows.table.column_names, rows.types, strict=True)
        values = ", ".join(f"CAST({identifier(name)} AS {kind})" for name, kind in typed)
        self._connection.register(ROWS, rows.table)
        self._connection.execute(
            f"INSERT INTO {self.relation.quoted} ({names}) SELECT {values}, ? FROM {ROWS}", [rows.release]
        )
        self._connection.unregister(ROWS)

    def _failure(self, _error: Exception) -> HushcountError:
        return DataError(FAILED.format(path=self.relation.shown))


class SQLiteResults(Results):
    """A transaction on an SQLite file."""

    def __init__(self, relation: Relation, connection: sqlite3.Connection) -> None:
        super().__init__(relation)
        self._connection = connection

    @classmethod
    @contextmanager
    def opened(cls, relation: Relation, write: bool) -> Iterator[Self]:
        """Open the file, and commit if the block ends well."""
        failed = DataError(FAILED.format(path=relation.shown))

        def open_file() -> sqlite3.Connection:
            return sqlite3.connect(relation.location, timeout=PATIENCE / 1000, isolation_level=None)

        with closing(attempt(lambda _: failed, open_file)) as connection:
            results = cls(relation, connection)
            results.run("BEGIN IMMEDIATE" if write else "BEGIN")
            yield results
            results.run("COMMIT" if write else "ROLLBACK")

    def type_of(self, kind: str) -> str:
        """Return a type: SQLite would turn large whole numbers into real ones, and has no times."""
        return kind if kind in ("BIGINT", "DOUBLE PRECISION", "BOOLEAN") else "TEXT"

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run a statement and return its rows."""
        return attempt(self._failure, lambda: self._connection.execute(statement, values).fetchall())

    def columns(self, quoted: str) -> list[str]:
        """Return the columns of a relation, none if it does not exist."""
        *schema, name = quoted.split(".")
        within = f"{schema[-1]}." if schema else ""
        return [str(row[1]) for row in self.run(f"PRAGMA {within}table_info({name})")]

    def insert(self, rows: Rows) -> None:
        """Insert all rows."""
        marks = ", ".join("?" * len(rows.columns))
        names = ", ".join(map(identifier, rows.columns))
        statement = f"INSERT INTO {self.relation.quoted} ({names}) VALUES ({marks})"
        texts = [kind == "DECIMAL(20)" for kind in rows.types]
        columns = [
            list(map(str, column.to_pylist())) if as_text else column.to_pylist()
            for column, as_text in zip(rows.table.columns, texts, strict=True)
        ]
        values = ((*row, rows.release) for row in zip(*columns, strict=True))
        attempt(self._failure, self._connection.executemany, statement, values)

    def _failure(self, error: Exception) -> HushcountError:
        code = vars(error).get("sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return DataError(LOCKED)
        path = self.relation.shown
        return DataError(REASONS.get(code, FAILED).format(path=path))
