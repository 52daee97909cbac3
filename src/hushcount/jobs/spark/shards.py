"""Spark: rows to one sketch a shard, nothing else. Noise is drawn on the driver, by the job.

The shard of a row and its rank in the shard are functions of the row and of a key drawn for the run. So a
task that is run again, or twice at once, gives the same counts, and so does any number of executors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.failures import attempt
from hushcount.jobs.dealing import COUNTERS, SHARDS, Partitioning
from hushcount.jobs.spark.columns import dealt_by, quoted_names
from hushcount.jobs.spark.files import quoted, spark_module
from hushcount.keys.columns import KeyColumns
from hushcount.secure import fresh_key
from hushcount.sketches.codec import load
from hushcount.sources.duckdb.bounding import AllRows, Bound

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hushcount.releases.release import Release

EVENTS, USERS = "events", "users"
SCHEMA = "shard long, sketch binary"
HASH, PAIR = "hushcount_hash", "hushcount_pair"
Batches = Iterator[pa.RecordBatch]
Build = Callable[[Batches], Batches]


@dataclass(frozen=True, slots=True)
class ShardTask:
    """What one task does: count the sorted rows of its shard. It holds no data."""

    columns: KeyColumns
    kind: str
    counters: int

    def __call__(self, batches: Batches) -> Batches:
        """One row: the number of the shard and its sketch as bytes."""
        from pyspark import TaskContext

        context = TaskContext.get()
        shard = context.partitionId() if context is not None else 0
        sketch = new_sketch(self.kind, self.counters)
        for batch in batches:
            rows = self.columns.keys([batch.column(index) for index in range(len(self.columns.names))])
            if self.kind == USERS:
                sketch.update(rows.field("key"), rows.field("user"))
            else:
                sketch.update(rows)
        content = [pa.array([shard], pa.int64()), pa.array([sketch.to_bytes()], pa.binary())]
        yield pa.RecordBatch.from_arrays(content, ["shard", "sketch"])


def new_sketch(kind: str, counters: int) -> Any:
    """An empty sketch of a shard."""
    if kind == USERS:
        from hushcount.sketches.user_misra_gries import UserMisraGries

        return UserMisraGries(counters=counters)
    from hushcount.sketches.space_saving import SpaceSaving

    return SpaceSaving(counters=counters)


def shard_sketches(
    frame: DataFrame,
    task: ShardTask,
    partitioning: Partitioning,
    *,
    secret: int | None = None,
    build: Build | None = None,
) -> list[Any]:
    """The sketches of all shards, in their order, at most shards * counters keys.

    `secret` is the key of the hashes, drawn for this run unless given; `build` stands in for `task`.
    """
    rows = sorted_rows(frame, task, partitioning, _secret() if secret is None else secret)
    found = attempt(_failure, lambda: rows.mapInArrow(build or task, SCHEMA).collect())
    parts = {int(row["shard"]): bytes(row["sketch"]) for row in found}
    if not set(parts) <= set(range(partitioning.shards)):
        raise DataError("Spark made other shards than it was asked for, so nothing was released.")
    # A shard without rows is a shard like any other: how many have rows is nobody's business.
    return [
        load(parts[shard]) if shard in parts else new_sketch(task.kind, task.counters)
        for shard in range(partitioning.shards)
    ]


def sorted_rows(frame: DataFrame, task: ShardTask, partitioning: Partitioning, secret: int) -> DataFrame:
    """The key columns, dealt to shards and sorted there by functions of the row alone."""
    functions = spark_module("pyspark.sql.functions")
    columns = quoted_names(task.columns)
    keyed = functions.lit(secret)
    hashed = frame.select(
        *columns,
        functions.xxhash64(keyed, *dealt_by(frame, task.columns, partitioning)).alias(HASH),
        functions.xxhash64(keyed, *columns).alias(PAIR),
    )
    for name in columns:
        hashed = hashed.filter(functions.col(name).isNotNull())
    user = [] if task.columns.user is None else [quoted(task.columns.user)]
    order = [HASH, *user, PAIR, *columns]
    return hashed.repartition(partitioning.shards, HASH).sortWithinPartitions(*order).select(*columns)


def bounded(frame: DataFrame, columns: KeyColumns, bound: Bound, secret: int | None = None) -> DataFrame:
    """What is kept of each user: a function of that user's rows and of a key drawn for the run."""
    functions = spark_module("pyspark.sql.functions")
    names = quoted_names(columns)
    rows = frame.select(*names)
    for name in names:
        rows = rows.filter(functions.col(name).isNotNull())
    if not isinstance(bound, AllRows):
        rows = rows.distinct()
    pair = functions.xxhash64(functions.lit(_secret() if secret is None else secret), *names)
    window = spark_module("pyspark.sql.window").Window.partitionBy(names[-1]).orderBy(pair, *names)
    ranked = rows.withColumn(PAIR, functions.row_number().over(window))
    return ranked.filter(functions.col(PAIR) <= bound.largest).drop(PAIR)


def shard_digests(sketches: Sequence[Any]) -> list[str]:
    """A digest of what each shard's sketch says: floor, keys and counts. Raw data, for comparison only."""
    return [_digest(sketch) for sketch in sketches]


def _digest(sketch: Any) -> str:
    shape = sketch.shape()
    table = pa.table({"key": shape.keys, "count": pa.array(shape.counts)}).sort_by("key")
    content = repr((getattr(shape, "floor", None), int(sketch.total), table.to_pylist()))
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def top(
    frame: DataFrame,
    *,
    column: str | Sequence[str],
    epsilon: float,
    delta: float,
    counters: int = COUNTERS,
    shards: int = SHARDS,
    partition_by: str | None = None,
    row_id: str | None = None,
    files_cut_by: str | None = None,
    **options: Any,
) -> Release:
    """Count the keys of a Spark frame in shards and release the heavy ones with (epsilon, delta)-DP.

    Rows go to shards by their key, by `row_id`, by `user`, or by their file: then `files_cut_by` says by what
    attribute of a row files are cut, and the guarantee repeats it. `counters` are those of each shard.
    Options as `hc.top`: user, max_keys, keep_duplicates, count, max_events_per_user, mechanism, max_events,
    key_type, confidence, limit, min_count, output.
    """
    from hushcount.jobs.spark.release import top_of_frame

    if not hasattr(frame, "mapInArrow"):
        raise ParameterError(f"frame must be a Spark frame, got {type(frame).__name__}.")
    user = options.get("user")
    partitioning = Partitioning(shards, partition_by, row_id, user, files_cut_by)
    return top_of_frame(
        frame, column, partitioning, counters=counters, epsilon=epsilon, delta=delta, **options
    )


def _secret() -> int:
    return int.from_bytes(fresh_key()[:8], "big", signed=True)


def _failure(error: Exception) -> HushcountError:
    """One sentence in place of Spark's words, which may quote the data."""
    return DataError(
        f"The Spark job failed ({type(error).__name__}); its log says more, maybe with raw data."
    )
