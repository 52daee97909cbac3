"""The data of the contests, and what is true of them; both are fixed by a seed."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.data import DOMAIN, scrambled, texts, zipf

CHUNK = 1 << 20
ROWS_OF_A_USER = 10
LOCAL_ITEMS = 1024
EVENTS, LOCAL = 1.2, 1.1  # the exponents of the Zipf laws


def write_events(path: Path, rows: int) -> None:
    """Write rows of users, uniform, with text keys by a Zipf law."""
    generator = np.random.default_rng(rows)
    schema = pa.schema({"user": pa.int64(), "key": pa.string()})
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, CHUNK):
            size = min(CHUNK, rows - start)
            keys = texts(scrambled(zipf(generator, size, EVENTS, DOMAIN)))
            users = generator.integers(0, rows // ROWS_OF_A_USER, size)
            writer.write_table(pa.table({"user": users, "key": keys}, schema))


def write_local(path: Path, rows: int) -> None:
    """Write one whole number as text of each user."""
    items = zipf(np.random.default_rng(rows), rows, LOCAL, LOCAL_ITEMS) - 1
    parquet.write_table(pa.table({"key": [str(item) for item in items.tolist()]}), path)


def truth(path: Path, counted: str) -> dict[str, int]:
    """Return the true count of every key; `counted` is what SQL counts, rows or different users."""
    rows = duckdb.sql(f"SELECT key, {counted} FROM '{path}' GROUP BY key").fetchall()
    return dict(rows)
