"""Opening data of any kind: files, standard input, data in memory, and SQL queries."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError

if TYPE_CHECKING:
    from hushcount.keys.columns import KeyColumns
    from hushcount.keys.memory import Data
    from hushcount.keys.plain import KeyLimit
    from hushcount.keys.times import TimeColumn
    from hushcount.sources.source import Source

CONNECTION = "DuckDBPyConnection"  # which also hands out the rows of a query that was executed before
NO_RELATION = (
    "data must not be a DuckDB connection, which holds many tables; give a query of it, as"
    ' connection.sql("SELECT query FROM searches"), or a table, as connection.table("searches").'
)


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
) -> Source:
    """Open data as a source of keys, in the order of its rows.

    Parameters
    ----------
    data
        A path, folder or glob, "-" for standard input, or data in memory: a frame, an array or an ordered
        iterable of keys. None with `sql`.
    column
        The column of the keys; a list of columns makes one key of several. The only column need not be named.
    format
        The format of a file, if its extension does not show it.
    key_type
        How values are read: "auto" as they are, "text" or "int".
    sql
        A DuckDB query in place of `data`.
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
    from hushcount.keys.columns import KeyColumns

    columns = KeyColumns.of(column, key_type)
    if user is not None:
        columns = columns.with_user(user)
    columns = replace(columns, limit=limit or columns.limit, padded=padded)
    if times is not None:
        columns = columns.with_time(times)
    if sql is not None:
        if data is not None or format is not None:
            raise ParameterError("sql takes the place of data and format; give one or the other.")
        from hushcount.sources.duckdb.sql import open_sql

        return open_sql(sql, columns, state)
    if isinstance(data, str | os.PathLike):
        from hushcount.sources.formats.files import open_files

        return open_files(os.fspath(data), format, columns)
    if format is not None:
        raise ParameterError("format is for files; data in memory has its own.")
    return _open_memory(data, columns, ordered)


def _open_memory(data: Data, columns: KeyColumns, ordered: bool) -> Source:
    """Open data in memory; DuckDB sorts its own relations."""
    if any(kind.__module__.partition(".")[0] in ("duckdb", "_duckdb") for kind in type(data).__mro__):
        from hushcount.files.failures import attempt
        from hushcount.keys.objects import mixed_types
        from hushcount.sources.duckdb.sql import open_relation

        if type(data).__name__ == CONNECTION:
            raise ParameterError(NO_RELATION)
        return attempt(mixed_types, open_relation, data, columns)
    from hushcount.sources.memory import open_memory

    return open_memory(data, columns, ordered)
