"""Programs that publish what they count: DuckDB, polars, Apache DataSketches, Spark. They protect nobody."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from common import Asked, Published, serve

COUNTERS = 8192  # the sketch of DataSketches holds three quarters of a power of two
LISTED = 1000


def published(library: str, how: str, rows: list[Any]) -> Published:
    """Return pairs of key and count as what every program writes."""
    return Published(version(library), how, [row[0] for row in rows], [float(row[1]) for row in rows])


def duckdb_exact(asked: Asked) -> Published:
    """Count every key, and return the most frequent."""
    import duckdb

    query = f"SELECT key, count(*) AS n FROM '{asked.path}' GROUP BY key ORDER BY n DESC LIMIT {LISTED}"
    return published("duckdb", "every count", duckdb.sql(query).fetchall())


def duckdb_sketch(asked: Asked) -> Published:
    """Ask for the most frequent; DuckDB keeps three times as many counters, and returns no counts."""
    import duckdb

    [(keys,)] = duckdb.sql(f"SELECT approx_top_k(key, {LISTED}) FROM '{asked.path}'").fetchall()
    return Published(version("duckdb"), "approx_top_k", keys, None)


def polars_exact(asked: Asked) -> Published:
    """Count every key, and return the most frequent."""
    import polars

    rows = polars.scan_parquet(asked.path).group_by("key").len().top_k(LISTED, by="len")
    return published("polars", "every count", rows.collect(engine="streaming").rows())


def datasketches_items(asked: Asked) -> Published:
    """Feed one key after the other to the sketch of frequent texts."""
    import datasketches
    from pyarrow import parquet

    sketch = datasketches.frequent_strings_sketch(COUNTERS.bit_length() - 1)
    for batch in parquet.ParquetFile(asked.path).iter_batches(columns=["key"]):
        for key in batch.column(0).to_pylist():
            sketch.update(key)
    rows = sketch.get_frequent_items(datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES)
    return published("datasketches", f"frequent_strings_sketch of {COUNTERS:,}", rows[:LISTED])


def spark_sketch(asked: Asked) -> Published:
    """Ask Spark on two threads."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    [(found,)] = session.sql(
        f"SELECT approx_top_k(key, {LISTED}, {COUNTERS}) FROM parquet.`{asked.path}`"
    ).collect()
    return published("pyspark", f"approx_top_k of {COUNTERS:,}", [tuple(row) for row in found])


serve(
    {
        "duckdb": duckdb_exact,
        "approx_top_k": duckdb_sketch,
        "polars": polars_exact,
        "datasketches": datasketches_items,
        "spark": spark_sketch,
    }
)
