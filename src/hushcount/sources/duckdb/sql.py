"""A DuckDB query as a source: its result in the order of a keyed hash of the row."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import duckdb

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.failures import attempt, guarded
from hushcount.files.fingerprint import Fingerprint
from hushcount.files.leftovers import private_folder
from hushcount.keys.columns import Columns, KeyColumns
from hushcount.keys.memory import InMemory
from hushcount.privacy import RESULT_ROW, PrivacyUnit
from hushcount.secure import fresh_key
from hushcount.sources.duckdb.out_of_core import interrupt
from hushcount.sources.duckdb.query import MISSING, CheckedQuery, checked_query
from hushcount.sources.formats.inputs import RegularFile, Stamp, last_changes
from hushcount.sources.formats.registry import Names, Piece, after
from hushcount.sources.open import MemorySource
from hushcount.sources.read_ahead import read_ahead
from hushcount.sources.source import Batch, Source, keyed, unit_note
from hushcount.stores.duckdb import ROWS, attach, connect, identifier, keyed_hash, literal, record_batches

ORDER_KEY = "order_key"
MIXED = {"hash": "mixed"}  # checkpoints of earlier versions lack it, and go on in their own order
# Seconds for DuckDB to end a query that was interrupted, and to remove what it put on disk.
QUERY_PATIENCE = 10.0


def open_sql(
    query: str, columns: KeyColumns, state: Mapping[str, str] | None, database: str | None = None
) -> SqlSource:
    """Check a query without running it; `state` of an earlier run gives the same order again.

    Its tables are those of `database`, a DuckDB file, if one is given.
    """
    order_key = (state or {}).get(ORDER_KEY) or fresh_key().hex()
    if not set(order_key) <= set("0123456789abcdef"):
        raise ParameterError("state must hold the order key of an earlier run.")
    _check_select(query)
    with connect() as connection:
        attach(connection, database)
        question = attempt(query_failure, checked_query, connection, query)
        rows = attempt(query_failure, connection.sql, question.text)
        schema = attempt(query_failure, lambda: rows.limit(0).to_arrow_table().schema)
        columns = columns.within(rows.columns, "the SQL result")  # of Arrow's, no two have the same name
    columns = columns.typed(schema.field(name).type for name in columns.names)
    if database is not None:
        names = [name for name in (database, f"{database}.wal") if os.path.exists(name)]
        files = tuple(RegularFile(name, name, Stamp.of(name)) for name in names)
        question = replace(question, files=files + question.files)
    mixed = state is None or MIXED.items() <= state.items()
    return SqlSource(question, columns, order_key, mixed, database)


@dataclass(frozen=True, slots=True)
class SqlSource(Source):
    """Rows of a query's result, sorted by a hash of the whole row under a secret key.

    The order of a SQL result is not defined, and may change when one row goes. A hash of the row
    under a key drawn for this run is a total order that no other row has a part in: without one
    row, all others come in the same order as before.
    """

    question: CheckedQuery
    columns: KeyColumns = field()  # it takes the place of the property of a source, which is no default
    order_key: str
    mixed: bool = True
    database: str | None = None

    @property
    def unit(self) -> PrivacyUnit:
        """One row of the result is one event."""
        return RESULT_ROW

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the files that the query names, the query and the columns."""
        question = [self.question.digest, self.columns.names, self.columns.key_type, self.columns.user]
        return str(Fingerprint.of([file.stamp.mark for file in self.question.files], question))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the files that the query names."""
        return tuple(file.location for file in self.question.files)

    @property
    def state(self) -> dict[str, str]:
        """The key of the order, and when each file was last changed."""
        changes = last_changes(self.question.files)
        return {ORDER_KEY: self.order_key} | (MIXED if self.mixed else {}) | changes

    @property
    def notes(self) -> tuple[str, ...]:
        """What the unit is, and what happens to nulls."""
        return (unit_note(RESULT_ROW), *self.columns.notes)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Run the query; the sort spills to a private folder (0700) that is removed at the end."""
        running: list[duckdb.DuckDBPyConnection] = []
        pieces = after(guarded(self._pieces(running), query_failure), skip_rows)
        found = keyed(self.columns, pieces)
        return read_ahead(found, cancel=lambda: interrupt(running), patience=QUERY_PATIENCE)

    def _pieces(self, running: list[duckdb.DuckDBPyConnection]) -> Iterator[Piece]:
        with private_folder() as folder, connect(folder) as connection:
            running.append(connection)
            attach(connection, self.database)
            rows = connection.sql(self.question.text)
            order = keyed_hash(self.order_key, *self.columns.ordering(rows.columns))
            if not self.mixed:
                order = f"hash({literal(self.order_key)}, {', '.join(map(identifier, rows.columns))})"
            # As text: relation.query would make a view in the attached file, which is only read.
            query = _ordered(f"(\n{rows.sql_query()}\n)", self.columns.names, order)
            yield from _pieces_of(connection.sql(query))
        for file in self.question.files:
            file.check_unchanged()


def open_relation(relation: duckdb.DuckDBPyRelation, columns: KeyColumns) -> MemorySource:
    """Open a DuckDB relation, run by its own connection; its rows too come in the order of a keyed hash."""
    columns = columns.within(relation.columns, "the SQL result")
    empty = attempt(query_failure, lambda: relation.limit(0).to_arrow_table())
    columns = columns.typed(empty.schema.field(name).type for name in columns.names)
    order = keyed_hash(fresh_key().hex(), *columns.ordering(relation.columns))

    def pieces() -> Iterator[Columns]:
        query = _ordered("hushcount_rows", columns.names, order)
        ordered = attempt(query_failure, relation.query, "hushcount_rows", query)
        for piece in guarded(_pieces_of(ordered), query_failure):
            yield piece.columns or ()

    return MemorySource(InMemory(columns, pieces), RESULT_ROW, (unit_note(RESULT_ROW),))


def _ordered(rows: str, names: Names, order: str) -> str:
    """Return a query of the key columns, sorted by a hash of the whole row and then by the key."""
    keys = ", ".join(map(identifier, names))
    return f"SELECT {keys} FROM {rows} AS hushcount_rows ORDER BY {order}, {keys}"


def _pieces_of(rows: duckdb.DuckDBPyRelation | None) -> Iterator[Piece]:
    assert rows is not None, "a query has rows"
    for batch in record_batches(rows, ROWS):
        yield Piece(batch.columns, batch.num_rows, 0)


def query_failure(error: Exception) -> HushcountError:
    """Return one sentence for what went wrong; DuckDB's own message quotes the data."""
    for kind, sentence in _USAGE.items():
        if isinstance(error, kind):
            return ParameterError(sentence)
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return DataError("The SQL query needs more memory or disk space than there is.")
    if isinstance(error, duckdb.IOException):
        return DataError(MISSING)
    if "max_line_size" in str(error):
        return DataError(_TOO_LONG)
    return DataError("The SQL query failed on the data.")


_TOO_LONG = (
    "A row of a CSV file in the SQL query is too long. Allow longer ones, as in read_csv('a.csv',"
    " header = true, columns = {'url': 'VARCHAR'}, max_line_size = 100000000); all columns must be stated."
)

_USAGE = {
    duckdb.ParserException: "The SQL query does not parse.",
    duckdb.CatalogException: "The SQL query names a table or function that does not exist.",
    duckdb.BinderException: "The SQL query names columns that do not exist, or uses them wrongly.",
}


def _check_select(query: str) -> None:
    statements = attempt(query_failure, duckdb.extract_statements, query)
    if len(statements) != 1:
        raise ParameterError("The SQL query must be one statement.")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise ParameterError("The SQL query must be a SELECT.")
