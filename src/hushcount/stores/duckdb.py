"""Connections to DuckDB, all with the same options: bounded memory, no progress bar, nothing downloaded.

Queries are written with the functions at the end, so that text is quoted and rows are sorted in one way.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# A sort of 20 million rows of text needs 256 MB; the rest is room for the query itself.
MEMORY = "512MB"
SMALL_MEMORY = "384MB"  # of each of two queries that work at the same time
# DuckDB works in vectors of 2048 rows; 65536 keep two threads busy in little memory.
ROWS = 1 << 16


def connect(folder: str | None = None, memory: str | None = MEMORY) -> duckdb.DuckDBPyConnection:
    """Open a database in memory.

    Parameters
    ----------
    folder
        Where DuckDB may put what does not fit into memory; without one it uses no disk.
    memory
        The most memory it may use, such as "512MB"; None for its own limit.

    Returns
    -------
    A connection. It measures the progress of a query without ever printing it.
    """
    import duckdb

    options: dict[str, str | bool | int | float | list[str]] = {
        "threads": 2,
        "preserve_insertion_order": True,
        "autoinstall_known_extensions": False,
        "temp_directory": folder or "",
        "python_enable_replacements": False,  # no variable of this program is a table
    }
    if memory is not None:
        options["memory_limit"] = memory
    connection = duckdb.connect(config=options)
    # In a notebook without ipywidgets DuckDB has no bar, and refuses to change what it would do with one.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def record_batches(relation: duckdb.DuckDBPyRelation, rows: int) -> pa.RecordBatchReader:
    """Run a query and return a reader of its result, which streams batches of up to `rows` rows."""
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(rows)
    return relation.fetch_record_batch(rows)  # its name until DuckDB 1.4


def literal(text: str) -> str:
    """Return text as a string in SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a column name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def keyed_hash(secret: str, *names: str) -> str:
    """Return a hash of columns under a secret: an order of rows in which no other row has a part.

    DuckDB joins the hashes of several values by exclusive or, so the outer hash mixes them.
    """
    return f"hash(hash({', '.join((literal(secret), *map(identifier, names)))}))"
