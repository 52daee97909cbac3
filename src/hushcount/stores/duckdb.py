"""Connections to DuckDB, all with the same options: bounded memory, no progress bar, nothing downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# A sort of 20 million rows of text needs 256 MB; the rest is room for the query itself.
MEMORY = "512MB"


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
    }
    if memory is not None:
        options["memory_limit"] = memory
    connection = duckdb.connect(config=options)
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def record_batches(relation: duckdb.DuckDBPyRelation, rows: int) -> pa.RecordBatchReader:
    """Run a query and return a reader of its result, which streams batches of up to `rows` rows."""
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(rows)
    return relation.fetch_record_batch(rows)  # its name until DuckDB 1.4
