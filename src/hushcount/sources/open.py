"""Arrow batches from files, frames, SQL and standard input."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError

if TYPE_CHECKING:
    from hushcount.keys.columns import KeyColumns
    from hushcount.sources.source import Source


def open_source(
    data: Any,
    *,
    column: str | Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    user: str | None = None,
    state: Mapping[str, str] | None = None,
) -> Source:
    """Open a path, "-", a frame, an array, an iterable, or with `sql` a DuckDB query.

    With `user`, a column, its batches hold one (user, key) pair a row.

    >>> source = open_source(["a", None, "b"])
    >>> [batch.keys.to_pylist() for batch in source.batches()]
    [['a', 'b']]
    """
    from hushcount.keys.columns import KeyColumns

    columns = KeyColumns.of(column, key_type)
    if user is not None:
        columns = columns.with_user(user)
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
    return _open_memory(data, columns)


def _open_memory(data: Any, columns: KeyColumns) -> Source:
    from hushcount.files.failures import attempt
    from hushcount.keys.memory import mixed_types
    from hushcount.sources import memory

    openers: dict[str, Any] = {
        "pandas": memory.open_pandas,
        "polars": memory.open_polars,
        "numpy": memory.open_numpy,
        "pyarrow": memory.open_arrow,
        "duckdb": _open_relation,
        "_duckdb": _open_relation,
    }
    roots = [kind.__module__.partition(".")[0] for kind in type(data).__mro__]
    other = memory.open_stream if hasattr(data, "__arrow_c_stream__") else _open_iterable
    opener = next((openers[root] for root in roots if root in openers), other)
    source: Source = attempt(mixed_types, opener, data, columns)
    return source


def _open_relation(data: Any, columns: KeyColumns) -> Source:
    from hushcount.sources.duckdb.sql import open_relation

    return open_relation(data, columns)


def _open_iterable(data: Any, columns: KeyColumns) -> Source:
    from hushcount.sources.memory import open_iterable

    return open_iterable(_ordered(data), columns)


def _ordered(data: Any) -> Iterable[Any]:
    if isinstance(data, Mapping | Set | bytes | bytearray | memoryview) or not isinstance(data, Iterable):
        raise ParameterError(
            "data must be a path, a frame, an array or an ordered iterable of keys,"
            f" got {type(data).__name__}."
        )
    return data
