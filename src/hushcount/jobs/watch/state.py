"""The state of a watch: a private folder with raw counts and secret noise, in a DuckDB file.

Tables, with the columns of a key named k0, k1 and so on:

    progress   one row: the terms, the name of this generation of the state, the next period to be closed,
               whether the ledger has confirmed the one before it, and what the ledger stores of that one
    batch      labels of the batches that were added
    pending    events of the open period
    past       events of unknown keys by period, as far back as a backfill reaches
    seen       pairs of user and key that have counted in the cell of the open period, if users are protected
    waiting    unknown keys: events since they became unknown in period `since`, and the secret z
    known      known keys: the period since which they are, and one count for each level
    answer     all rows that were published, or will be once the ledger has confirmed their period
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount import signals
from hushcount.accounting.chain import canonical, digest
from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, unwritable
from hushcount.jobs.watch.drawing import Drawing
from hushcount.jobs.watch.terms import TYPES, WatchTerms
from hushcount.jobs.watch.users import OWNER, UserPairs
from hushcount.noise.bits import Bits
from hushcount.secure import fresh_key
from hushcount.stores.duckdb import opened

if TYPE_CHECKING:
    from hushcount.stores.duckdb import Connection

FILE = "state.duckdb"
SPILLED = "spilled"
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
ORDER = "kind, level NULLS FIRST, start"


@dataclass(frozen=True, slots=True)
class WatchState:
    """An open state, which no other process uses meanwhile."""

    connection: Connection
    terms: WatchTerms

    @property
    def period(self) -> int:
        """The place of the next period to be closed."""
        return int(str(self._progress("period")))

    @property
    def confirmed(self) -> bool:
        """Whether the ledger has confirmed the period that was closed last."""
        return bool(self._progress("confirmed"))

    @property
    def generation(self) -> str:
        """The random name of the state after the period that was closed last."""
        return str(self._progress("generation"))

    @property
    def stored(self) -> bytes:
        """What the ledger stores of the period that was closed last."""
        return str(self._progress("stored")).encode()

    def _progress(self, column: str) -> object:
        return self.connection.execute(f"SELECT {column} FROM progress").fetchall()[0][0]

    @property
    def keys(self) -> str:
        """The columns of a key, in SQL."""
        return ", ".join(key_columns(self.terms))

    def add(self, label: str, tables: Iterator[pa.Table]) -> bool:
        """Count tables of keys in the open period, all or nothing; a label that is known counts nothing."""
        with self._transaction():
            if self.connection.execute("SELECT 1 FROM batch WHERE label = ?", [label]).fetchall():
                return False
            self.connection.execute("INSERT INTO batch VALUES (?, ?)", [label, self.period])
            named = (self._named(table) for table in tables)
            if self.terms.users is not None:
                UserPairs(self.connection, self.keys, self.terms.users.most).count(named)
                return True
            for table in named:
                self.connection.register("added", table)
                self.connection.execute(
                    f"INSERT INTO pending SELECT {self.keys}, count(*) FROM added GROUP BY ALL"
                )
                self.connection.unregister("added")
        return True

    def _named(self, table: pa.Table) -> pa.Table:
        """Return a table of keys with the names that its columns have here; that of users stays."""
        columns = key_columns(self.terms)
        return table.rename_columns([*columns, *table.column_names[len(columns) :]])

    @property
    def open_cell(self) -> tuple[int, int]:
        """The periods whose rows count now, the last of them excluded: all, or those of one cell."""
        users, periods = self.terms.users, self.terms.calendar.periods
        if users is None or users.cell is None:
            return 0, periods
        return users.cell_of(min(self.period, periods - 1), periods)

    def close(self, bits: Bits) -> None:
        """Draw what the open period publishes and go on to the next, all or nothing."""
        with signals.held(), self._transaction():
            place = self.period
            Drawing(self.connection, self.terms, place, bits).draw()
            generation = fresh_key().hex()
            stored = {
                "watch": self.terms.name,
                "period": self.terms.calendar.name(place),
                "rows": self._digest(place),
                "state": generation,
            }
            self.connection.execute(
                "UPDATE progress SET period = ?, generation = ?, confirmed = false, stored = ?",
                [place + 1, generation, canonical(stored)],
            )

    def confirm(self) -> None:
        """Record that the ledger has confirmed the period that was closed last."""
        self.connection.execute("UPDATE progress SET confirmed = true")

    def answer(self, place: int) -> pa.Table:
        """Return what a period publishes: the columns of a key, kind, level, start, stop, value, partial."""
        query = f"SELECT * EXCLUDE (period) FROM answer WHERE period = {place} ORDER BY {self.keys}, {ORDER}"
        return self.connection.sql(query).to_arrow_table()

    def _digest(self, place: int) -> str:
        """Return the digest of what a period publishes, from which its rows cannot be told apart."""
        rows = self.answer(place)
        return digest("\n".join(canonical(list(map(str, row.values()))) for row in rows.to_pylist()).encode())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all of a block or nothing of it; when it ends well, it is on disk."""
        self.connection.execute("BEGIN")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            with suppress(Exception):
                self.connection.execute("ROLLBACK")
            raise


def key_columns(terms: WatchTerms) -> list[str]:
    """Return the names of the columns of a key in the tables."""
    return [f"k{place}" for place in range(len(terms.key_names))]


def create(path: PathLike, terms: WatchTerms) -> None:
    """Make the state of a new watch, or raise if there is something at its path."""
    if os.path.lexists(path):
        raise ParameterError(f"{path} exists already; name another path for the new watch.")
    try:
        os.mkdir(path, PRIVATE_FOLDER)
    except OSError as error:
        raise unwritable(path, error) from None
    keys = ", ".join(f"{name} {TYPES[terms.key_type]}" for name in key_columns(terms))
    counts = ", ".join(f"c{level} BIGINT" for level in range(len(terms.calendar.lengths)))
    with _connected(path) as connection:
        connection.execute("BEGIN")
        for statement in (
            "CREATE TABLE batch (label VARCHAR, period BIGINT)",
            f"CREATE TABLE pending ({keys}, n BIGINT)",
            f"CREATE TABLE past ({keys}, period BIGINT, n BIGINT)",
            f"CREATE TABLE seen ({OWNER} VARCHAR, {keys})",
            f"CREATE TABLE waiting ({keys}, r BIGINT, z BIGINT, since BIGINT)",
            f"CREATE TABLE known ({keys}, since BIGINT, {counts})",
            f"CREATE TABLE answer (period BIGINT, {keys}, kind VARCHAR, level BIGINT, start BIGINT,"
            " stop BIGINT, value BIGINT, partial BOOLEAN)",
            "CREATE TABLE progress (terms VARCHAR, generation VARCHAR, period BIGINT, confirmed BOOLEAN,"
            " stored VARCHAR)",
        ):
            connection.execute(statement)
        connection.execute("INSERT INTO progress VALUES (?, '', 0, true, '')", [terms.text])
        connection.execute("COMMIT")
    os.chmod(Path(path, FILE), PRIVATE_FILE)


@contextmanager
def open_state(path: PathLike) -> Iterator[WatchState]:
    """Open the state of a watch; only one process can at a time."""
    if not Path(path, FILE).is_file():
        raise DataError(f"There is no watch at {path}; `hushcount watch init` makes one.")
    with _connected(path) as connection:
        terms = connection.execute("SELECT terms FROM progress").fetchall()[0][0]
        yield WatchState(connection, WatchTerms.from_text(str(terms)))


@contextmanager
def _connected(path: PathLike) -> Iterator[Connection]:
    """Connect to the database in the folder of a state."""
    with opened(str(Path(path, FILE)), str(Path(path, SPILLED))) as connection:
        yield connection
