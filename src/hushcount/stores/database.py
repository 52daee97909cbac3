"""One small interface to the databases that several processes share: SQLite files and PostgreSQL servers.

Statements have `?` for values and are written once for both. What a library raises is replaced by one
sentence, without values, names of users or passwords.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, Self
from urllib.parse import urlsplit

from hushcount.errors import DataError
from hushcount.files.failures import attempt
from hushcount.signals import held

Value = str | int | bytes | None
Row = tuple[Value, ...]
SERVERS = ("postgresql://", "postgres://")
LOCKED = "Another process has kept the database locked for too long; run it again."


class UnansweredError(DataError):
    """The database did not say whether a transaction was committed: read before anything else."""


class Cursor(Protocol):
    """The answer of a library to one statement."""

    @property
    def rowcount(self) -> int:
        """The number of rows that were changed."""

    def fetchall(self) -> list[Row]:
        """Return all rows."""


class Database(ABC):
    """An open connection. Nothing is changed outside of `transaction`."""

    # What a SELECT ends with that keeps others from changing its rows, empty where a transaction is alone.
    alone = ""
    _begin: tuple[str, ...]  # the statements that begin a transaction
    _begin_reading: str

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Close the connection."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Return whether there is such a table."""

    @abstractmethod
    def _run(self, statement: str, values: Sequence[Value] = ()) -> Cursor:
        """Run a statement."""

    @abstractmethod
    def _undo(self) -> None:
        """Undo what is not committed."""

    @abstractmethod
    def _failure(self, error: Exception) -> DataError:
        """Return the sentence for whatever the library raised."""

    def _unanswered(self, error: Exception) -> DataError:
        """Return the sentence for whatever it raised at a commit."""
        return self._failure(error)

    def rows(self, statement: str, *values: Value) -> list[Row]:
        """Run a query and return its rows."""
        return attempt(self._failure, lambda: self._run(statement, values).fetchall())

    def change(self, statement: str, *values: Value) -> int:
        """Run a statement and return how many rows it changed."""
        return attempt(self._failure, lambda: self._run(statement, values).rowcount)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of a block or nothing of it; when it ends well, it is on disk. No signal interrupts it."""
        with held():
            try:
                for statement in self._begin:
                    self.change(statement)
                yield
                attempt(self._unanswered, self._run, "COMMIT")
            except BaseException:
                self._undo()
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let all queries of a block see the same moment."""
        self.change(self._begin_reading)
        try:
            yield
        finally:
            self._undo()


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
