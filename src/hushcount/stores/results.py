"""Relations to which releases are written: the rows, and their guarantee beside them, in one transaction.

Every row names its release, and so does a row of `hushcount_guarantees` in the same schema, which has all of
it but its rows. So several releases can share a relation, writing one again changes nothing, and a relation
of anybody else is never replaced.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import check_writable
from hushcount.stores.database import is_server, shown
from hushcount.stores.duckdb import identifier
from hushcount.stores.reading import DUCKDB, kind_of_file

if TYPE_CHECKING:
    import pyarrow as pa

# Files that are databases by their ending, if they are not there yet.
ENDINGS = {".duckdb": DUCKDB, ".ddb": DUCKDB, ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
IF_EXISTS = ("fail", "replace", "append")
RELEASE = "hushcount_release"
GUARANTEES = "hushcount_guarantees"
COLUMNS = {
    RELEASE: "TEXT",
    "relation": "TEXT",
    "unit": "TEXT",
    "epsilon": "DOUBLE PRECISION",
    "delta": "DOUBLE PRECISION",
    "document": "TEXT",
}


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a database, which may have the name of its schema before its own."""

    location: str
    name: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Relation | None:
        """Return the relation that a path names after #, None for a file, or raise.

        >>> Relation.of("shop.duckdb#top"), Relation.of("top.csv")
        (Relation(location='shop.duckdb', name='top'), None)
        """
        text = os.fspath(path)
        location, mark, name = text.rpartition("#")
        place = location if mark else text
        if not is_server(place) and Path(place).suffix.lower() not in ENDINGS:
            return None
        if not mark or not all(name.split(".")):
            raise ParameterError(f"output must name a relation of the database, as in {shown(place)}#top.")
        return cls(place, name)

    @property
    def place(self) -> str:
        """The database in messages, without user, password and options."""
        return shown(self.location)

    @property
    def shown(self) -> str:
        """The relation in messages."""
        return f"{self.place}#{self.name}"

    @property
    def quoted(self) -> str:
        """The relation as SQL writes it."""
        return ".".join(map(identifier, self.name.split(".")))

    @property
    def guarantees(self) -> str:
        """The relation of the guarantees, in the same schema."""
        return ".".join(map(identifier, (*self.name.split(".")[:-1], GUARANTEES)))

    def check(self, if_exists: str) -> None:
        """Raise now, before hours of work, if the relation cannot be written later."""
        if if_exists not in IF_EXISTS:
            raise ParameterError(f"if_exists must be one of {', '.join(IF_EXISTS)}, got {if_exists}.")
        if not is_server(self.location):
            check_writable(self.location, database=True)
            if not os.path.exists(self.location):
                return
        with self._opened(write=False) as results:
            results.check(if_exists)

    def write(self, rows: Rows, if_exists: str) -> None:
        """Write the rows and the guarantee of a release: all of it, or nothing."""
        with self._opened(write=True) as results:
            results.check(if_exists)
            results.store(rows, if_exists)

    def _opened(self, write: bool) -> AbstractContextManager[Results]:
        """Open the database for one transaction, which is undone if the block fails."""
        if is_server(self.location):
            from hushcount.stores.postgresql_results import PostgreSQLResults

            return PostgreSQLResults.opened(self, write)
        from hushcount.stores.file_results import DuckDBResults, SQLiteResults

        kind: type[DuckDBResults | SQLiteResults] = (
            DuckDBResults if _kind(self.location) == DUCKDB else SQLiteResults
        )
        return kind.opened(self, write)


@dataclass(frozen=True, slots=True)
class Rows:
    """What is written of a release: its rows, the types of their columns, and its line of the guarantees.

    The columns of `table` are numbers, truth values and texts; `types` are those of SQL that they become.
    """

    release: str
    table: pa.Table
    types: tuple[str, ...]
    guarantee: tuple[str | float, ...]  # after release and relation

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the relation with their types."""
        return dict(zip((*self.table.column_names, RELEASE), (*self.types, "TEXT"), strict=True))


class Results(ABC):
    """One transaction of a database, in which a relation is written."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation

    @abstractmethod
    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run a statement with `?` for values, and return its rows."""

    @abstractmethod
    def columns(self, quoted: str) -> list[str]:
        """Return the columns of a relation, none if it does not exist."""

    @abstractmethod
    def insert(self, rows: Rows) -> None:
        """Insert all rows."""

    def type_of(self, kind: str) -> str:
        """Return what this database calls a type."""
        return kind

    def check(self, if_exists: str) -> None:
        """Raise for a relation that exists and is not to be changed."""
        relation = self.relation
        if not self.columns(relation.quoted) or if_exists == "append":
            return
        if if_exists == "fail":
            raise ParameterError(
                f"{relation.shown} exists; name another relation, or state if_exists: replace or append."
            )
        if not self._written():
            raise ParameterError(
                f"{relation.shown} was not written by hushcount, so it is not replaced; name another."
            )

    def store(self, rows: Rows, if_exists: str) -> None:
        """Write the rows and the guarantee."""
        relation = self.relation
        known, wanted = self.columns(relation.quoted), rows.columns
        if known and if_exists == "replace":
            self.run(f"DELETE FROM {relation.quoted}")
            self.run(f"DELETE FROM {relation.guarantees} WHERE relation = ?", relation.name)
            if known != list(wanted):
                self.run(f"DROP TABLE {relation.quoted}")
                known = []
        if known and set(known) != set(wanted):
            raise DataError(
                f"{relation.shown} has other columns than the release, so nothing was appended to it; they"
                f" must be {', '.join(wanted)}."
            )
        if not known:
            self._create(relation.quoted, wanted)
        if not self.columns(relation.guarantees):
            self._create(relation.guarantees, COLUMNS)
        else:  # a release that is written again takes the place of itself
            same = f"WHERE {RELEASE} = ?"
            self.run(f"DELETE FROM {relation.quoted} {same}", rows.release)
            self.run(
                f"DELETE FROM {relation.guarantees} {same} AND relation = ?", rows.release, relation.name
            )
        self.insert(rows)
        marks = ", ".join("?" * len(COLUMNS))
        values = (rows.release, relation.name, *rows.guarantee)
        self.run(f"INSERT INTO {relation.guarantees} ({_listed(list(COLUMNS))}) VALUES ({marks})", *values)

    def _create(self, quoted: str, columns: dict[str, str]) -> None:
        listed = (f"{identifier(name)} {self.type_of(kind)}" for name, kind in columns.items())
        self.run(f"CREATE TABLE {quoted} ({', '.join(listed)})")

    def _written(self) -> bool:
        """Return whether the relation is one of those that hushcount has written."""
        relation = self.relation
        if not self.columns(relation.guarantees) or RELEASE not in self.columns(relation.quoted):
            return False
        found = self.run(f"SELECT count(*) FROM {relation.guarantees} WHERE relation = ?", relation.name)
        return found != [(0,)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(identifier, names))


def _kind(path: str) -> str:
    """Return which database a file is, or will be by its ending."""
    return kind_of_file(path) if os.path.exists(path) else ENDINGS[Path(path).suffix.lower()]
