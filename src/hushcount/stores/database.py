"""One small interface to the databases that several processes share: SQLite files and PostgreSQL servers.

Statements have `?` for values and are written once for both. What a library raises is replaced by one
sentence, without values, names of users or passwords.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self
from urllib.parse import urlsplit

from hushcount.errors import DataError

Value = str | int | bytes | None
Row = tuple[Value, ...]
SERVERS = ("postgresql://", "postgres://")
LOCKED = "Another process has kept the database locked for too long; run it again."


class UnansweredError(DataError):
    """The database did not say whether a transaction was committed: read before anything else."""


class Database(Protocol):
    """An open connection. Nothing is changed outside of `transaction`."""

    # What a SELECT ends with that keeps others from changing its rows, empty where a transaction is alone.
    alone: str

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def has_table(self, name: str) -> bool:
        """Return whether there is such a table."""
        ...

    def rows(self, statement: str, *values: Value) -> list[Row]:
        """Run a query and return its rows."""
        ...

    def change(self, statement: str, *values: Value) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Do all of a block or nothing of it; when it ends well, it is on disk."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Let all queries of a block see the same moment."""
        ...


def is_server(location: str | os.PathLike[str]) -> bool:
    """Return whether a location is the address of a server and not a file.

    >>> is_server("postgresql://host/team"), is_server("team.db")
    (True, False)
    """
    return os.fspath(location).startswith(SERVERS)


def shown(location: str | os.PathLike[str]) -> str:
    """Return a location for messages: of a server without user, password and options.

    >>> shown("postgresql://me:secret@host:5433/team?sslmode=require")
    'postgresql://host:5433/team'
    """
    if not is_server(location):
        return os.fspath(location)
    parts = urlsplit(os.fspath(location))
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def open_database(location: str | os.PathLike[str], schema: Sequence[str] = ()) -> Database:
    """Open a database.

    Parameters
    ----------
    location
        The path of an SQLite file, or the address of a PostgreSQL server (postgresql://...).
    schema
        Statements that make what is missing; without them the database must exist.

    Raises
    ------
    DataError
        If it cannot be opened; the sentence says why.
    """
    if is_server(location):
        from hushcount.stores.postgresql import PostgreSQL

        return PostgreSQL(os.fspath(location), schema)
    from hushcount.stores.sqlite import SQLite

    return SQLite(location, schema)
