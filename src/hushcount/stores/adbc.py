"""Queries through ADBC, whose driver for PostgreSQL streams binary COPY as Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.failures import attempt
from hushcount.stores.database import shown
from hushcount.stores.duckdb import identifier
from hushcount.stores.postgresql import CONNECT, unreachable
from hushcount.stores.reading import FAILED, NO_COLUMNS, NO_PARSE, QueryReader, is_connection, of_query

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

MISSING = (
    "Reading PostgreSQL needs the library adbc-driver-postgresql: run pip install 'hushcount[postgres]'."
)
BATCH_BYTES = 1 << 22
SIZE_HINT = "adbc.postgresql.batch_size_hint_bytes"
TYPE = b"POSTGRESQL:type"
# Types whose equal values are the same key, so that the server can count them.
GROUPED = {"int2", "int4", "int8", "date", "bool"}
GROUPED_TEXT = {"text", "varchar"}
LOST = "The connection to {place} was lost, so nothing was released."
# What went wrong by PostgreSQL's own codes, and their first digits.
USAGE = {"42601": NO_PARSE, "42703": NO_COLUMNS, "42702": NO_COLUMNS, "42883": NO_COLUMNS}
REASONS = {
    "42P01": "The table does not exist in {place}.",
    "3F000": "The table does not exist in {place}.",
    "42501": "{place} cannot be read: the user of the database lacks the permission.",
    "25P02": "The transaction of {place} has failed before; roll it back and run it again.",
    "57014": "{place} ended the query before its end, so nothing was released.",
    "53": "{place} has too little memory or disk space for the query.",
}
# How the client library speaks of a connection that is gone while rows are read.
GONE = (
    "closed the connection",
    "terminating connection",
    "could not receive data",
    "ssl error",
    "ssl syscall",
)


class ADBCRows(QueryReader):
    """The queries of an open ADBC connection; `place` is what messages call the database."""

    def __init__(self, connection: Connection | None, place: str = "the database") -> None:
        self.place = place
        self._given = connection
        self._running: list[Connection] = []

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Lend the connection; whoever opened it closes it."""
        yield cast("Connection", self._given)

    def schema(self, query: str) -> pa.Schema:
        """Return the columns of a query that returns no rows."""
        with self._connected() as connection, closing(connection.cursor()) as cursor:
            cursor.execute(of_query("*", query, " LIMIT 0"))
            return cursor.fetch_record_batch().schema

    def batches(self, query: str, types: Sequence[pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Run a query and yield its rows, as the database declares them."""
        with self._connected() as connection, closing(connection.cursor()) as cursor:
            with suppress(Exception):  # other drivers have other sizes
                cursor.adbc_statement.set_options(**{SIZE_HINT: str(BATCH_BYTES)})
            self._running.append(connection)
            try:
                cursor.execute(query)
                yield from cursor.fetch_record_batch()
            finally:
                self._running.remove(connection)

    def cancel(self) -> None:
        """End the query that runs."""
        for connection in list(self._running):
            with suppress(Exception):
                connection.adbc_cancel()

    def failure(self, error: Exception) -> HushcountError:
        """Return the sentence for what went wrong, by the code that databases share."""
        code = str(vars(error).get("sqlstate") or "")
        if code in USAGE:
            return ParameterError(USAGE[code])
        words = str(error).lower()
        if code.startswith(("08", "57P")) or any(gone in words for gone in GONE):
            return DataError(LOST.format(place=self.place))
        return DataError((REASONS.get(code) or REASONS.get(code[:2], FAILED)).format(place=self.place))


class PostgreSQLRows(ADBCRows):
    """The queries of a connection to PostgreSQL."""

    def value(self, field: pa.Field) -> str:
        """Return a column; types that Arrow does not have, as inet and numeric, are read as text."""
        text = _as_text(field)
        return identifier(field.name) if text is None else f"{text} AS {identifier(field.name)}"

    def group(self, field: pa.Field) -> str | None:
        """Return what is grouped: text by its bytes, whatever its collation takes for equal."""
        name = identifier(field.name)
        text = f"{name}::text" if _type(field) in GROUPED_TEXT else _as_text(field)
        if text is not None:
            return f'({text} COLLATE "C")'
        return name if _type(field) in GROUPED else None


class PostgreSQLServer(PostgreSQLRows):
    """The queries of a server, each on a connection of its own.

    What the address leaves out comes from PGHOST, PGPASSWORD, ~/.pgpass and so on.
    """

    def __init__(self, address: str) -> None:
        super().__init__(None, shown(address))
        self._address = address

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Open a connection that changes nothing, and close it."""
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise DataError(MISSING) from None
        address = _patient(self._address)
        with closing(
            attempt(
                lambda error: unreachable(self.place, error), lambda: dbapi.connect(address, autocommit=True)
            )
        ) as opened:
            with closing(opened.cursor()) as cursor:
                cursor.execute("SET default_transaction_read_only = on")
            yield opened


def of_connection(given: Any) -> QueryReader:
    """Return the queries of an ADBC connection that is open, or raise."""
    if not is_connection(given):
        raise ParameterError(
            "sql and relation need data that is a database: postgresql://..., a DuckDB or SQLite file, or an"
            " ADBC connection."
        )
    closed = DataError("The ADBC connection is closed, or does not answer.")
    known = attempt(lambda _: closed, given.adbc_get_info)
    vendor = str(known.get("vendor_name", "")).lower()
    if vendor == "sqlite":
        raise ParameterError(
            "data must not be an ADBC connection to SQLite, which guesses types from the first rows; give the"
            " path of the file."
        )
    return PostgreSQLRows(given) if vendor == "postgresql" else ADBCRows(given)


def _type(field: pa.Field) -> str:
    """Return what PostgreSQL calls the type of a column."""
    return str((field.metadata or {}).get(TYPE, b""), "utf-8")


def _as_text(field: pa.Field) -> str | None:
    """Return a column as text if Arrow does not have its type; addresses as 10.0.0.1, not 10.0.0.1/32."""
    if not isinstance(field.type, pa.BaseExtensionType):
        return None
    name = identifier(field.name)
    return f"abbrev({name})" if _type(field) == "inet" else f"{name}::text"


def _patient(address: str) -> str:
    """Return an address that is given up when the server does not answer."""
    if "connect_timeout" in address or os.environ.get("PGCONNECT_TIMEOUT"):
        return address
    return f"{address}{'&' if '?' in address else '?'}connect_timeout={CONNECT}"
