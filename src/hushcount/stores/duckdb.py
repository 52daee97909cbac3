"""Connections to DuckDB, all with the same options: bounded memory, no progress bar, nothing downloaded.

Queries are written with the functions at the end, so that text is quoted and rows are sorted in one way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hushcount.errors import DataError
from hushcount.files.failures import attempt

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    Connection = duckdb.DuckDBPyConnection

# A sort of 20 million rows of text needs 256 MB; the rest is room for the query itself.
MEMORY = "512MB"
SMALL_MEMORY = "384MB"  # of each of two queries that work at the same time
# DuckDB works in vectors of 2048 rows; 65536 keep two threads busy in little memory.
ROWS = 1 << 16


# What went wrong with a database file; {path} is the file.
BUSY = "Another process uses {path}; run it again when that has ended."
UNUSABLE = "{path} cannot be read or written, or its disk is full; nothing was changed."


@contextmanager
def opened(path: str, folder: str) -> Iterator[Connection]:
    """Open a database file, which one process at a time can use; failures are replaced by one sentence.

    Parameters
    ----------
    path
        The file, which is made if there is none.
    folder
        Where DuckDB may put what does not fit into memory.

    Raises
    ------
    DataError
        If the file cannot be used, or something that is done with it fails.
    """
    import duckdb

    failure: DataError | None = None
    try:
        with connect(folder, path=path) as connection:
            yield connection
    except duckdb.Error as error:
        reason = BUSY if "lock" in str(error).lower() else UNUSABLE
        failure = DataError(reason.format(path=path))
    if failure is not None:
        raise failure


@contextmanager
def reading(unreadable: str) -> Iterator[Connection]:
    """Open a database in memory, to read files with; a failure is replaced by one sentence.

    Parameters
    ----------
    unreadable
        What is said if something fails.

    Raises
    ------
    DataError
        With that sentence.
    """
    import duckdb

    failure: DataError | None = None
    try:
        with connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
    except duckdb.Error:
        failure = DataError(unreadable)
    if failure is not None:
        raise failure


def connect(
    folder: str | None = None, memory: str | None = MEMORY, path: str = ":memory:"
) -> duckdb.DuckDBPyConnection:
    """Open a database, in memory unless a path is given.

    Parameters
    ----------
    folder
        Where DuckDB may put what does not fit into memory; without one it uses no disk.
    memory
        The most memory it may use, such as "512MB"; None for its own limit.
    path
        A database file.

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
    connection = duckdb.connect(path, config=options)
    # In a notebook without ipywidgets DuckDB has no bar, and refuses to change what it would do with one.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def attach(connection: duckdb.DuckDBPyConnection, path: str | None) -> None:
    """Make the tables of a DuckDB file, if there is one, those that queries name; they are only read."""
    if path is None:
        return
    unusable = DataError(f"{path} cannot be opened as a DuckDB database, or is open elsewhere for writing.")
    statement = f"ATTACH {literal(path)} AS hushcount_data (READ_ONLY); USE hushcount_data"
    attempt(lambda _: unusable, connection.execute, statement)


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
