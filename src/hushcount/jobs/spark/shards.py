"""Rows of a Spark frame to one sketch per shard, and nothing else. Noise is drawn on the driver, by the job.

The shard of a row and its rank in the shard are functions of the row and of a hash key drawn for the run. So
a task that is run again, or twice at once, gives the same counts, and so does any number of executors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from hushcount.errors import DataError
from hushcount.jobs.choices import Partitioning
from hushcount.jobs.spark.columns import UTC, dealt_by, is_moment, quoted, quoted_names
from hushcount.jobs.spark.failures import on_spark, spark_module
from hushcount.keys.columns import KeyColumns
from hushcount.privacy import PrivacyUnit
from hushcount.secure import fresh_key
from hushcount.sketches.kinds import load
from hushcount.sketches.merged import MergedCounters
from hushcount.sketches.shards import DealtByKey, shards_of
from hushcount.sketches.space_saving import SpaceSaving
from hushcount.sketches.user_misra_gries import UserMisraGries
from hushcount.sources.duckdb.bounding import AllRows, Bound

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hushcount.shapes import ManyKeys, Public, Shards

SCHEMA = "shard long, sketch binary"
HASH, PAIR = "hushcount_hash", "hushcount_pair"
EVENTS, USERS = "events", "users"
Batches = Iterator[pa.RecordBatch]
Build = Callable[[Batches], Batches]
ShardSketch = SpaceSaving | UserMisraGries


@dataclass(frozen=True, slots=True)
class ShardTask:
    """What one task does: count the sorted rows of its shard. It holds no data."""

    columns: KeyColumns
    kind: str
    counters: int

    def __call__(self, batches: Batches) -> Batches:
        """Yield one row: the number of the shard, and its sketch as bytes."""
        context = spark_module("pyspark").TaskContext.get()
        shard = context.partitionId() if context is not None else 0
        sketch = new_sketch(self.kind, self.counters)
        for batch in batches:
            rows = self.columns.keys([_in_utc(column) for column in batch.columns])
            if isinstance(sketch, UserMisraGries):
                sketch.update(rows.field("key"), rows.field("user"))
            else:
                sketch.update(rows)
        content = [pa.array([shard], pa.int64()), pa.array([sketch.to_bytes()], pa.binary())]
        yield pa.RecordBatch.from_arrays(content, ["shard", "sketch"])


def new_sketch(kind: str, counters: int) -> ShardSketch:
    """Return an empty sketch of a shard."""
    return (UserMisraGries if kind == USERS else SpaceSaving)(counters=counters)


class ShardSketches:
    """The sketches of all shards, seen as one sketch by the job.

    `by_key` says that all rows of a key are in one shard. User-level sketches are merged in the order of
    their shards; others are released as they are.
    """

    def __init__(self, kind: str, counters: int, by_key: bool, unit: PrivacyUnit | None = None) -> None:
        self.unit = new_sketch(kind, counters).unit if unit is None else unit
        self.total = 0
        self._made = kind, counters
        self.sketches: list[ShardSketch] = DealtByKey() if by_key else []

    def update(self, keys: pa.Array) -> None:
        """Take over sketches as `shard_contents` returns them, in the order of their shards."""
        for content in keys.to_pylist():
            # A shard without rows is a shard like any other: how many have rows depends on the data.
            sketch = cast("ShardSketch", load(content)) if content else new_sketch(*self._made)
            self.sketches.append(sketch)
            self.total += sketch.total

    def public(self) -> Public:
        """Return the numbers that no data changes."""
        return self._together(type(self.sketches)([new_sketch(*self._made)])).public()

    def shape(self) -> Shards | ManyKeys:
        """Return the shards, or the counts of the merged user-level sketches."""
        return self._together(self.sketches)

    def _together(self, sketches: list[ShardSketch]) -> Shards | ManyKeys:
        """Return the summary of sketches, which all have one unit."""
        for sketch in sketches:
            sketch.unit = self.unit
        first, *others = sketches
        if not isinstance(first, UserMisraGries):
            return shards_of(sketches)
        merged: UserMisraGries | MergedCounters = first
        for other in others:
            merged = merged.merge(other)
        return merged.shape()


def _in_utc(column: pa.Array) -> pa.Array:
    """Return the same moments with UTC as their zone; those of Spark may be unknown here."""
    return column.view(UTC) if is_moment(column.type) else column


@on_spark
def shard_contents(
    frame: DataFrame,
    task: ShardTask,
    partitioning: Partitioning,
    *,
    secret: int | None = None,
    build: Build | None = None,
) -> list[bytes]:
    """Return the sketch of each shard in order, none if it has no rows; at most shards * counters keys.

    `secret` is the key of the hashes, drawn for this run unless given; `build` stands in for `task`.
    """
    rows = _sorted_rows(frame, task, partitioning, _secret() if secret is None else secret)
    found = rows.mapInArrow(build or task, SCHEMA).collect()
    parts = {int(row["shard"]): bytes(row["sketch"]) for row in found}
    if not set(parts) <= set(range(partitioning.shards)):
        raise DataError("Spark made other shards than it was asked for, so nothing was released.")
    return [parts.get(shard, b"") for shard in range(partitioning.shards)]


def _sorted_rows(frame: DataFrame, task: ShardTask, partitioning: Partitioning, secret: int) -> DataFrame:
    """Return the key columns, dealt to shards and sorted there by functions of the row alone."""
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


@on_spark
def bounded(frame: DataFrame, columns: KeyColumns, bound: Bound, secret: int | None = None) -> DataFrame:
    """Return what is kept of each user: a function of that user's rows and of a key drawn for the run."""
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


def _secret() -> int:
    """Draw the key of the hashes of one run."""
    return int.from_bytes(fresh_key()[:8], "big", signed=True)
