"""The Spark engine: shards on executors, one release on the driver."""

from __future__ import annotations


def is_frame(data: object) -> bool:
    """Return whether data are a Spark frame, without loading PySpark."""
    kinds = [kind for kind in type(data).__mro__ if kind.__module__.startswith("pyspark.sql.")]
    return any(kind.__name__ == "DataFrame" for kind in kinds)
