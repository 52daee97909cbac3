"""Rows of a Spark frame to one sketch per shard, and nothing else. Noise is drawn on the driver, by the job.

The shard of a row and its rank in the shard are functions of the row and of a hash key drawn for the run. So
a task that is run again, or twice at once, gives the same counts, and so does any number of executors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from hushcount.errors import DataError
from hushcount.jobs.choices import Partitioning
from hushcount.jobs.request import Request
from hushcount.jobs.spark.columns import dealt_by, in_utc, quoted, quoted_names
from hushcount.jobs.spark.domains import in_domain
from hushcount.jobs.spark.failures import on_spark, spark_module
from hushcount.jobs.spark.files import local_files
from hushcount.jobs.spark.rows import PAIR, bounded, drawn_key, opened
from hushcount.keys.columns import KeyColumns
from hushcount.privacy import EVENT, USER, PrivacyUnit
from hushcount.shapes import ManyKeys, Public, Shards
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.kinds import load
from hushcount.sketches.merged import DealtByKey, MergedCounters, shards_of
from hushcount.sketches.users import UserMisraGries
from hushcount.sources.formats.inputs import RegularFile
from hushcount.sources.source import Batch, Source
from hushcount.sources.wrapped import DROPPED, readable_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "shard long, sketch binary"
HASH = "hushcount_hash"
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
            rows = self.columns.keys([in_utc(column) for column in batch.columns])
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
    rows = _sorted_rows(frame, task, partitioning, drawn_key() if secret is None else secret)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRequest(Request):
    """Which frame or files Spark is to count, and how rows are assigned to shards."""

    partitioning: Partitioning
    counters: int

    @property
    def kind(self) -> str:
        """What the sketch of a shard counts."""
        return USERS if self.with_users else EVENTS

    @property
    def unit(self) -> PrivacyUnit:
        """One row, or one user with all rows that are kept."""
        return EVENT if self.bound is None else replace(USER, rows=self.bound.largest)

    @property
    def dealing(self) -> Partitioning:
        """How rows are assigned to shards; rows kept of users count singly there, so keys stay together."""
        grouped = self.bound is not None and not self.with_users
        return Partitioning(self.partitioning.shards) if grouped else self.partitioning

    def empty(self) -> ShardSketches:
        """Return the sketch that takes the shards."""
        return ShardSketches(self.kind, self.counters, self.dealing.keeps_keys_whole, self.unit)

    def open(self, state: Mapping[str, str] | None = None) -> SparkSource:
        """Check the columns and say what Spark is to do; nothing is counted yet."""
        asked = self.asked
        if self.domain is not None:
            asked = replace(asked, key_type=readable_type(self.domain, self.key_type))
        frame, asked, safe, rule = opened(self.data, self.format, asked, self.partitioning)
        notes = asked.notes
        if self.domain is not None:
            frame, safe = in_domain(frame, safe, self.domain)
            asked, notes = replace(asked, types=safe.types), (*notes, DROPPED)
        if self.bound is not None:
            frame = bounded(frame, safe, self.bound)
        if self.dealing is not self.partitioning:
            safe, rule = safe.without_user(), self.dealing
        task = ShardTask(safe, self.kind, self.counters)
        files, said = tuple(local_files(frame)), (*notes, self.dealing.note)
        return SparkSource(frame, task, rule, asked, files, self.unit, said)


@dataclass(frozen=True, slots=True)
class SparkSource(Source):
    """A frame and what Spark does with it.

    `read` are its columns under their own names, `files` those of its files that this machine sees. Nothing
    of it can be continued by another run; Spark repeats lost tasks by itself.
    """

    frame: DataFrame
    task: ShardTask
    partitioning: Partitioning
    read: KeyColumns
    files: tuple[RegularFile, ...]
    unit: PrivacyUnit = field()  # these two take the place of properties of a source, which are no defaults
    notes: tuple[str, ...] = field()

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types, without the user's."""
        return self.read.without_user()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the local files that Spark reads."""
        return tuple(file.location for file in self.files)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Let Spark count, then yield the sketch of each shard in place of its keys."""
        contents = shard_contents(self.frame, self.task, self.partitioning)
        for file in self.files:
            file.check_unchanged()
        for content in contents:
            yield Batch(pa.array([content], pa.binary()), 0, 0)
