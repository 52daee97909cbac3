"""PostgreSQL servers that several machines share. The library is the extra `postgresql`.

Tables live in a schema of their own, `hushcount`. Transactions are READ COMMITTED, because the snapshot of a
stricter level may be older than the lock on which it waited; whoever needs to be alone locks rows first.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hushcount.errors import DataError
from hushcount.files.failures import attempt
from hushcount.stores.database import LOCKED, Database, Row, UnansweredError, Value, shown

if TYPE_CHECKING:
    import psycopg

MISSING = "PostgreSQL needs the library psycopg: run pip install 'hushcount[postgres]'."
# Seconds until a server that does not answer counts as out of reach, and that a lock is waited for.
CONNECT = 10
PATIENCE = 30
# The schema of the tables, and the lock of whoever makes them.
SPACE = "hushcount"
CREATING = 0x68757368
OPTIONS = f"-c search_path={SPACE}"
# What went wrong by the first digits of PostgreSQL's own codes; {place} is the server.
REASONS = {
    "55P03": LOCKED,
    "40P01": LOCKED,
    "25006": "{place} cannot be written: it is read-only.",
    "42501": "{place} cannot be used: the user of the database lacks the permission.",
    "53": "The disk or the memory of {place} is full, so nothing was recorded; free some and run it again.",
    "3F000": "{place} does not exist.",
    "42P01": "{place} does not exist.",
}
LOST = "The connection to {place} was lost."
LOGIN = "{place} refuses the login: the user or the password is wrong, or none was found."
# Why no connection was made, by the words of the client library; its messages name users and hosts.
UNREACHABLE = {
    "password": LOGIN,
    "authentication failed": LOGIN,
    "certificate": "{place} is not trusted: its certificate must be for this host and signed by sslrootcert.",
    "does not support ssl": "{place} has no TLS, which sslmode asks for.",
    "no encryption": "{place} takes no connection without TLS; give sslmode=require or verify-full.",
    "service": "{place} names a service that the service file does not have.",
}
NOT_REACHED = "{place} cannot be reached, or refuses the login."
UNKNOWN = "{place} is not a database that hushcount can use."


def unreachable(place: str, error: Exception) -> DataError:
    """Return the sentence for a connection that was not made."""
    words = str(error).lower()
    reason = next((said for word, said in UNREACHABLE.items() if word in words), NOT_REACHED)
    return DataError(reason.format(place=place))


class PostgreSQL(Database):
    """A connection to a PostgreSQL server as a `Database`.

    Parameters
    ----------
    address
        postgresql://user:password@host:port/database; what is left out comes from PGHOST, ~/.pgpass etc.
    schema
        SQL statements that create what is missing, with the types of SQLite (BLOB for bytes).

    Raises
    ------
    DataError
        If the server cannot be reached or used.
    """

    alone = " FOR UPDATE"
    _begin = (
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
        "SET LOCAL synchronous_commit = on",
        f"SET LOCAL lock_timeout = '{PATIENCE}s'",
    )
    _begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, address: str, schema: Sequence[str] = ()) -> None:
        try:
            import psycopg
        except ImportError:
            raise DataError(MISSING) from None
        self._place = shown(address)
        self._errors = psycopg.Error
        self._connection = attempt(
            lambda error: unreachable(self._place, error),
            lambda: psycopg.connect(address, autocommit=True, connect_timeout=CONNECT, options=OPTIONS),
        )
        if schema:
            with self.transaction():
                self.change("SELECT pg_advisory_xact_lock(?)", CREATING)  # two cannot create at once
                self.change(f"CREATE SCHEMA IF NOT EXISTS {SPACE}")
                for statement in schema:
                    self.change(statement.replace("BLOB", "BYTEA"))

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def has_table(self, name: str) -> bool:
        """Return whether there is such a table."""
        return self.rows("SELECT to_regclass(?) IS NOT NULL", f"{SPACE}.{name}") == [(True,)]

    def _run(self, statement: str, values: Sequence[Value] = ()) -> psycopg.Cursor[Row]:
        return self._connection.execute(statement.replace("?", "%s").encode(), values or None)

    def _undo(self) -> None:
        """Undo what is not committed; a lost connection undoes it by itself."""
        with suppress(DataError):
            self.change("ROLLBACK")

    def _failure(self, error: Exception) -> DataError:
        code = error.sqlstate or "" if isinstance(error, self._errors) else ""
        if self._connection.broken or self._connection.closed or code.startswith(("08", "57P")):
            return DataError(LOST.format(place=self._place))
        reason = REASONS.get(code) or REASONS.get(code[:2], UNKNOWN)
        return DataError(reason.format(place=self._place))

    def _unanswered(self, error: Exception) -> DataError:
        failure = self._failure(error)
        return UnansweredError(str(failure)) if self._connection.broken else failure
