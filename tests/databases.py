"""The same rows as a file and as a table of each kind of database, for tests."""

import itertools
import sqlite3

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ["id", "url", "n", "who", "ip", "bytes"]
ROWS = [
    (
        i,
        f"k{min(i % 50, i % 7)}" if i % 11 else None,
        i % 5,
        f"u{i % 400}",
        f"10.{i % 3}.0.{i % 9}",
        i % 4 + 1,
    )
    for i in range(6000)
]
# Every plan that can be parallel is.
PARALLEL = (
    "parallel_setup_cost = 0",
    "parallel_tuple_cost = 0",
    "min_parallel_table_scan_size = 0",
    "max_parallel_workers_per_gather = 2",
)
_numbers = itertools.count()


def as_parquet(folder):
    """Write the rows to a file."""
    path = str(folder / "events.parquet")
    pq.write_table(pa.table({name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)}), path)
    return path


def as_duckdb(folder):
    """Write the rows to a table of a DuckDB file."""
    path = str(folder / "events.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE events AS FROM '{as_parquet(folder)}'")
    return path


def as_sqlite(folder):
    """Write the rows to a table of an SQLite file, whose text ignores the case of letters."""
    path = str(folder / "events.sqlite")
    connection = sqlite3.connect(path)
    columns = "id INTEGER, url TEXT COLLATE NOCASE, n INT, who VARCHAR(9), ip TEXT, bytes BIGINT"
    connection.execute(f"CREATE TABLE events ({columns})")
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    connection.commit()
    connection.close()
    return path


def as_postgresql(server):
    """Write the rows to a table of a new database of a server, which plans in parallel."""
    name = f"rows_{next(_numbers)}"
    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        for setting in PARALLEL:
            connection.execute(f"ALTER DATABASE {name} SET {setting}")
    with psycopg.connect(server.format(name), autocommit=True) as connection:
        columns = "id int8, url text, n int, who varchar(9), ip inet, bytes int8"
        connection.execute(f"CREATE TABLE events ({columns})")
        with connection.cursor().copy("COPY events FROM STDIN") as copy:
            for row in ROWS:
                copy.write_row(row)
        connection.execute("ANALYZE events")
    return server.format(name)
