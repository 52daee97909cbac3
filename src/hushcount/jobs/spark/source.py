"""Rows of a Spark frame as a source: each batch is the sketch of one shard, counted where the rows are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.jobs.choices import Partitioning
from hushcount.jobs.request import Request
from hushcount.jobs.spark import is_frame
from hushcount.jobs.spark.columns import key_columns, renamed
from hushcount.jobs.spark.files import local_files, read_files
from hushcount.jobs.spark.plans import check_guesses
from hushcount.jobs.spark.shards import EVENTS, USERS, ShardSketches, ShardTask, bounded, shard_contents
from hushcount.keys.columns import KeyColumns
from hushcount.privacy import EVENT, USER, PrivacyUnit
from hushcount.sources.formats.inputs import RegularFile
from hushcount.sources.source import Batch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame


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
        asked = KeyColumns.of(self.column, self.key_type)
        frame = self._given() if is_frame(self.data) else self._read(asked)
        asked = key_columns(frame, asked if self.user is None else asked.with_user(self.user))
        frame, safe, rule = renamed(frame, asked, self.partitioning)
        if self.bound is not None:
            frame = bounded(frame, safe, self.bound)
        if self.dealing is not self.partitioning:
            safe, rule = safe.without_user(), self.dealing
        notes = (*asked.notes, self.dealing.note)
        task = ShardTask(safe, self.kind, self.counters)
        return SparkSource(frame, task, rule, asked, self.unit, notes, tuple(local_files(frame)))

    def _given(self) -> DataFrame:
        """Return the frame that was passed in, unless its rows were read by guesses."""
        frame: DataFrame = self.data
        check_guesses(frame)
        return frame

    def _read(self, asked: KeyColumns) -> DataFrame:
        """Return the frame of files."""
        if self.column is None:
            raise ParameterError("column must be named with the Spark engine, got None.")
        more = [name for name in (self.user, self.partitioning.row_id) if name is not None]
        return read_files(self.data, self.format, list(dict.fromkeys([*asked.names, *more])))


@dataclass(frozen=True, slots=True)
class SparkSource:
    """A frame and what Spark does with it.

    `read` are its columns under their own names, `files` those of its files that this machine sees. Nothing
    of it can be continued by another run; Spark repeats lost tasks by itself.
    """

    frame: DataFrame
    task: ShardTask
    partitioning: Partitioning
    read: KeyColumns
    unit: PrivacyUnit
    notes: tuple[str, ...]
    files: tuple[RegularFile, ...]
    size: int | None = None
    fingerprint: str = ""

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in a result."""
        return self.read.key_names

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types, without the user's."""
        return self.read.without_user()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the local files that Spark reads."""
        return tuple(file.location for file in self.files)

    @property
    def state(self) -> dict[str, str]:
        """Nothing that another run could continue from."""
        return {}

    def decode(self, keys: pa.Array) -> pa.Table:
        """Turn keys back into their columns."""
        return self.columns.decode(keys)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Let Spark count, then yield the sketch of each shard in place of its keys."""
        contents = shard_contents(self.frame, self.task, self.partitioning)
        for file in self.files:
            file.check_unchanged()
        for content in contents:
            yield Batch(pa.array([content], pa.binary()), 0, 0)
