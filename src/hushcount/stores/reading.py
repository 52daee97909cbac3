"""Queries of databases as streams of Arrow batches: PostgreSQL servers, SQLite files, ADBC connections.

Passwords come with the address, or from the environment, the service file or ~/.pgpass, which the client
library of PostgreSQL reads itself. No message has more of an address than host, port and database.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.atomic import SQLITE
from hushcount.stores.database import is_server
from hushcount.stores.duckdb import identifier

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.files.atomic import PathLike

DUCKDB = "duckdb"
# The bytes by which the files of both libraries are known, and where they stand.
MARKS = {"sqlite": (0, SQLITE), DUCKDB: (8, b"DUCK")}
ALIAS = "hushcount_rows"
FAILED = "The SQL query failed on the data."
NO_COLUMNS = "The SQL query names columns that do not exist, or uses them wrongly."
NO_PARSE = "The SQL query does not parse, or is not a single SELECT."


class QueryReader(ABC):
    """Queries of one database, which are answered as Arrow batches while they run."""

    files: tuple[str, ...] = ()  # those that are read

    @abstractmethod
    def schema(self, query: str) -> pa.Schema:
        """Return the columns of a query, with their declared types, without running it to its end."""

    @abstractmethod
    def batches(self, query: str, types: Sequence[pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Run a query of these types and yield its rows, in no particular order, in bounded batches."""

    @abstractmethod
    def cancel(self) -> None:
        """End a query that runs in another thread."""

    @abstractmethod
    def failure(self, error: Exception) -> HushcountError:
        """Return the sentence for whatever the library raised; its own message quotes the data."""

    def value(self, field: pa.Field) -> str:
        """Return the expression by which a column is read, as a value that Arrow knows."""
        return identifier(field.name)

    def group(self, field: pa.Field) -> str | None:
        """Return the expression by which equal keys of a column are counted together, None if none is."""
        return None


def of_query(expressions: str, query: str, ending: str = "") -> str:
    """Return a query of the rows of another one.

    >>> of_query("count(*)", "SELECT 1 -- one")
    'SELECT count(*) FROM (\\nSELECT 1 -- one\\n) AS hushcount_rows'
    """
    return f"SELECT {expressions} FROM (\n{query.rstrip().rstrip(';')}\n) AS {ALIAS}{ending}"


def of_relation(name: str) -> str:
    """Return the query of all rows of a table or view, which may be named with its schema.

    >>> of_relation("shop.orders")
    'SELECT * FROM "shop"."orders"'
    """
    if not isinstance(name, str) or not all(name.split(".")):
        raise ParameterError("relation must be the name of a table or view, such as events or shop.events.")
    return f"SELECT * FROM {'.'.join(map(identifier, name.split('.')))}"


def kind_of_file(path: PathLike) -> str:
    """Return which database a file is, or raise."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as stream:
            start = stream.read(16)
    except FileNotFoundError:
        failure = DataError(f"{name} does not exist.")
    except OSError:
        failure = DataError(f"{name} cannot be read.")
    else:
        for kind, (place, mark) in MARKS.items():
            if start[place:].startswith(mark):
                return kind
        failure = DataError(f"{name} is no database; give a DuckDB or SQLite file, or postgresql://....")
    raise failure


def is_connection(data: object) -> bool:
    """Return whether data are a connection that an ADBC driver has opened."""
    return any(kind.__module__.startswith("adbc_driver_manager") for kind in type(data).__mro__)


def open_reader(location: object) -> QueryReader | None:
    """Return the queries of a server, a file or an ADBC connection; None for a DuckDB file."""
    if isinstance(location, str) and is_server(location):
        from hushcount.stores.adbc import PostgreSQLServer

        return PostgreSQLServer(location)
    if isinstance(location, str | os.PathLike):
        if kind_of_file(location) == DUCKDB:
            return None
        from hushcount.stores.sqlite_rows import SQLiteRows

        return SQLiteRows(os.fspath(location))
    from hushcount.stores.adbc import of_connection

    return of_connection(location)
