"""Releases as relations of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import attempt
from hushcount.stores.database import LOCKED
from hushcount.stores.duckdb import identifier
from hushcount.stores.postgresql import CONNECT, LOST, MISSING, PATIENCE, unreachable
from hushcount.stores.results import Relation, Results, Rows

if TYPE_CHECKING:
    import psycopg

    from hushcount.stores.database import Row

WRITING = 0x68757277  # the lock of whoever writes results, so that two cannot create the same relation
REASONS = {
    "55P03": LOCKED,
    "40P01": LOCKED,
    "25006": "{place} cannot be written: it is read-only.",
    "42501": "{relation} cannot be written: the user of the database lacks the permission.",
    "3F000": "{relation} cannot be written: its schema does not exist.",
    "2BP01": "{relation} cannot be replaced by other columns, because a view or another object needs it.",
    "22": "{relation} cannot hold the rows: a key is a text or a time that PostgreSQL does not have.",
    "53": "The disk or the memory of {place} is full, so nothing was written.",
}
FAILED = "{relation} could not be written, so nothing was changed there."
UNANSWERED = (
    "The connection to {place} was lost at the end, so it is not known whether {relation} was written. With a"
    " ledger, run it again by the same run_id with if_exists append, which writes no row twice."
)


class PostgreSQLResults(Results):
    """A transaction on a server."""

    def __init__(self, relation: Relation, connection: psycopg.Connection[Row]) -> None:
        super().__init__(relation)
        self._connection = connection

    @classmethod
    @contextmanager
    def opened(cls, relation: Relation, write: bool) -> Iterator[Self]:
        """Connect, and commit if the block ends well; all that the library raises becomes a sentence."""
        try:
            import psycopg
        except ImportError:
            raise DataError(MISSING) from None
        connection = attempt(
            lambda error: unreachable(relation.place, error),
            lambda: psycopg.connect(relation.location, connect_timeout=CONNECT),
        )
        results = cls(relation, connection)
        try:
            results.run(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
            if write:
                results.run("SELECT pg_advisory_xact_lock(?)", WRITING)
            yield results
            attempt(results.unanswered, connection.commit)
        finally:
            with suppress(Exception):
                connection.close()  # which undoes whatever is not committed

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run a statement and return its rows."""
        return attempt(self.failure, self._run, statement, values)

    def _run(self, statement: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        text = statement.replace("%", "%%").replace("?", "%s") if values else statement
        cursor = self._connection.execute(text.encode(), values or None)
        return [] if cursor.description is None else list(cursor.fetchall())

    def columns(self, quoted: str) -> list[str]:
        """Return the columns of a relation, none if it does not exist."""
        found = self.run(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT"
            " attisdropped ORDER BY attnum",
            quoted,
        )
        return [str(name) for (name,) in found]

    def insert(self, rows: Rows) -> None:
        """Copy all rows."""
        attempt(self.failure, self._copy, rows)

    def _copy(self, rows: Rows) -> None:
        names = ", ".join(map(identifier, rows.columns))
        with self._connection.cursor() as cursor:
            statement = f"COPY {self.relation.quoted} ({names}) FROM STDIN".encode()
            with cursor.copy(statement) as copy:
                for batch in rows.table.to_batches(max_chunksize=1 << 12):
                    for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                        copy.write_row((*values, rows.release))

    def failure(self, error: Exception) -> HushcountError:
        """Return the sentence for what went wrong, by PostgreSQL's own code."""
        import psycopg

        code = error.sqlstate or "" if isinstance(error, psycopg.Error) else ""
        code = code or "22" * isinstance(error, psycopg.DataError | ValueError)  # the library's own refusal
        known = {"place": self.relation.place, "relation": self.relation.shown}
        if self._connection.broken or self._connection.closed or code.startswith(("08", "57P")):
            return DataError(f"{LOST.format(**known)} Nothing was written there.")
        return DataError((REASONS.get(code) or REASONS.get(code[:2], FAILED)).format(**known))

    def unanswered(self, error: Exception) -> HushcountError:
        """Return the sentence for what went wrong at the commit."""
        if not self._connection.broken:
            return self.failure(error)
        return DataError(UNANSWERED.format(place=self.relation.place, relation=self.relation.shown))
