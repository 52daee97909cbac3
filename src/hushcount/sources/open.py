"""Opening data of any kind: files, standard input, data in memory, SQL queries, public domains."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.files.failures import attempt, guarded
from hushcount.keys.columns import KeyColumns
from hushcount.keys.domains import Domain, KnownKeys, as_domain
from hushcount.keys.memory import Data, InMemory, in_memory
from hushcount.keys.numbers import EventNumbers
from hushcount.keys.objects import mixed_types
from hushcount.keys.plain import KeyLimit
from hushcount.keys.times import TimeColumn
from hushcount.keys.weights import WeightColumn
from hushcount.privacy import EVENT, STREAM_ROW, PrivacyUnit
from hushcount.sources.databases import is_database, open_in_database
from hushcount.sources.formats.registry import Piece, after
from hushcount.sources.source import Batch, Source, unit_note
from hushcount.stores.database import shown

CONNECTION = "DuckDBPyConnection"  # which also hands out the rows of a query that was executed before
NO_RELATION = (
    "data must not be a DuckDB connection, which holds many tables; give a query of it, as"
    ' connection.sql("SELECT query FROM searches"), or a table, as connection.table("searches").'
)
COLUMNAR = (".parquet", ".arrow", ".feather")


@dataclass(frozen=True, slots=True)
class MemorySource(Source):
    """Keys of data in this process; another process cannot continue to read them."""

    found: InMemory
    unit: PrivacyUnit = EVENT
    unit_note: tuple[str, ...] = ()

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types."""
        return self.found.columns

    @property
    def notes(self) -> tuple[str, ...]:
        """What the unit is if not an event, and which rows are dropped."""
        return self.unit_note + self.columns.notes

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys in order, in batches of bounded size."""
        pieces = (Piece(columns, len(columns[0]), 0) for columns in guarded(self.found.pieces(), mixed_types))
        for piece in after(pieces, skip_rows):
            for keys, rows in self.columns.parts(piece.columns or ()):
                yield Batch(keys, rows, 0)


def open_source(
    data: Data,
    *,
    column: str | Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    user: str | None = None,
    state: Mapping[str, str] | None = None,
    limit: KeyLimit | None = None,
    padded: bool = False,
    ordered: bool = True,
    times: TimeColumn | None = None,
    weight: WeightColumn | EventNumbers | None = None,
) -> Source:
    """Open data as a source of keys, in the order of its rows.

    Parameters
    ----------
    data
        A path, folder or glob, "-" for standard input, or data in memory: a frame, an array or an ordered
        iterable of keys; with `sql` None, or a database: postgresql://..., a DuckDB or SQLite file, or an
        ADBC connection.
    column
        The column of the keys; a list of columns makes one key of several. The only column need not be named.
    format
        The format of a file, if its extension does not show it.
    key_type
        How values are read: "auto" as they are, "text" or "int".
    sql
        A DuckDB query in place of `data`, or a query of `data` if that is a database.
    user
        The column that tells whose row it is; batches then hold one (user, key) pair per row.
    state
        What an earlier run of the same query left, to read its rows in the same order again.
    limit
        How long a key may be, and what becomes of a longer one; by default it is dropped.
    padded
        Whether a row of several columns is kept if some of its values are null: for trees, which pad them.
    ordered
        Whether the order of rows must be a property of each row alone, which a sketch with counters needs.
        Counting that does not depend on the order passes False and saves a sort.
    times
        The column that tells when a row is from, and the window of time that is counted.
    weight
        The column that tells how much a row counts, or for how many events it stands; batches then hold one
        (weight, key) pair per row.

    Returns
    -------
    Source
        Batches of keys, and how to turn keys back into columns.

    Examples
    --------
    >>> source = open_source(["a", None, "b"])
    >>> [batch.keys.to_pylist() for batch in source.batches()]
    [['a', 'b']]
    """
    columns = beside(KeyColumns.of(column, key_type), user, weight, times)
    columns = replace(columns, limit=limit or columns.limit, padded=padded)
    if sql is not None or is_database(data):
        return _open_query(data, sql, format, columns, (state, ordered))
    if isinstance(data, str | os.PathLike):
        from hushcount.sources.formats.files import open_files

        return open_files(os.fspath(data), format, columns)
    if format is not None:
        raise ParameterError("format is for files; data in memory has its own.")
    return _open_memory(data, columns, ordered)


def beside(
    keys: KeyColumns, user: str | None, weight: WeightColumn | EventNumbers | None, times: TimeColumn | None
) -> KeyColumns:
    """Return the same keys, each beside its user, its weight and its time, if these are asked for."""
    keys = keys if user is None else keys.with_user(user)
    keys = keys if weight is None else keys.with_weight(weight)
    return keys if times is None else keys.with_time(times)


def _open_query(
    data: Data,
    sql: str | None,
    form: str | None,
    columns: KeyColumns,
    how: tuple[Mapping[str, str] | None, bool],
) -> Source:
    """Open a query of files, or of a database if there is one."""
    state, ordered = how
    if form is not None:
        raise ParameterError("sql takes the place of data and format; give one or the other.")
    if sql is None:
        place = shown(data) if isinstance(data, str) else "an ADBC connection"
        raise ParameterError(f"Give sql or relation with {place}: a database holds many tables.")
    if data is not None:
        return open_in_database(data, sql, columns, state, ordered)
    from hushcount.sources.duckdb.sql import open_sql

    return open_sql(sql, columns, state)


def _open_memory(data: Data, columns: KeyColumns, ordered: bool) -> Source:
    """Open data in memory; DuckDB sorts its own relations.

    Rows of a query that is run now, such as a polars LazyFrame, have no order of their own; if they must be
    `ordered`, they are sorted by a keyed hash.
    """
    if any(kind.__module__.partition(".")[0] in ("duckdb", "_duckdb") for kind in type(data).__mro__):
        from hushcount.sources.duckdb.sql import open_relation

        if type(data).__name__ == CONNECTION:
            raise ParameterError(NO_RELATION)
        return attempt(mixed_types, open_relation, data, columns)
    found = in_memory(data, columns)
    if found.ordered:
        return MemorySource(found)
    source = MemorySource(found, STREAM_ROW, (unit_note(STREAM_ROW),))
    if not ordered or columns.user is not None:  # the rows of users are sorted later
        return source
    from hushcount.sources.duckdb.counted import RowsByHash

    return RowsByHash(source)


def read_domain(value: Data, key_type: str = "auto") -> Domain | None:
    """Return the domain of A..B, of a list of keys, or of a file with one key per line (or one column).

    >>> read_domain("1..6").size
    6
    """
    if value is None:
        return None
    if isinstance(value, os.PathLike) or (isinstance(value, str) and os.path.isfile(value)):
        return _read_file(os.fspath(value), key_type)
    if isinstance(value, str) and ".." not in value:
        raise ParameterError(f"domain must be A..B or a file of keys, got {value}.")
    return as_domain(value)


def _read_file(path: str, key_type: str) -> Domain:
    """Return the domain that a file lists."""
    form = None if Path(path).suffix.lower() in COLUMNAR else "lines"
    source = open_source(path, format=form, key_type=key_type)
    keys = [source.columns.keys([batch.keys]) for batch in source.batches()]
    if not keys:
        raise ParameterError("domain must hold at least one key, got none.")
    return KnownKeys.of(pa.chunked_array(keys))
