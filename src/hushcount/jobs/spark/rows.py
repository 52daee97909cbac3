"""A Spark frame as a source like any other: its rows, or its keys counted by Spark where that is asked for.

What Spark works out is taken as a set: nothing depends on an order of rows, or on which of them are together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.jobs.choices import Partitioning
from hushcount.jobs.spark import is_frame
from hushcount.jobs.spark.arriving import Arriving
from hushcount.jobs.spark.columns import check_guesses, in_utc, key_columns, quoted_names, renamed
from hushcount.jobs.spark.failures import on_spark, spark_module
from hushcount.jobs.spark.files import local_files, read_files
from hushcount.keys.columns import Columns, KeyColumns
from hushcount.privacy import EVENT, USER, PrivacyUnit
from hushcount.secure import fresh_key
from hushcount.sources.duckdb.bounding import AllRows, PlacedPairs, UserBound
from hushcount.sources.duckdb.counted import RowsByHash
from hushcount.sources.read_ahead import read_ahead
from hushcount.sources.source import Batch, Source
from hushcount.sources.wrapped import WrappedSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hushcount.keys.memory import Data
    from hushcount.sources.formats.inputs import RegularFile

NUMBER = "hushcount_number"  # the column of how many rows have a key
PAIR = "hushcount_pair"
PATIENCE = 10.0  # seconds for Spark to end its tasks
Keys = Callable[[Columns], Iterator[tuple[pa.Array, int]]]


@dataclass(frozen=True, slots=True)
class SparkRows(Source):
    """The rows of a frame that has the columns `safe`: the `columns` under names that cannot clash.

    `files` are those of its files that this machine sees. Another run can continue nothing of it.
    """

    frame: DataFrame
    safe: KeyColumns
    columns: KeyColumns = field()  # it takes the place of the property of a source, which is no default
    notes: tuple[str, ...] = field()
    files: tuple[RegularFile, ...]
    unit: PrivacyUnit = field(default=EVENT)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the local files that Spark reads."""
        return tuple(file.location for file in self.files)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys of all rows; nothing can be skipped."""
        return self.arriving(self.frame, self.columns.parts)

    def arriving(self, frame: DataFrame, keys: Keys) -> Iterator[Batch]:
        """Yield the keys of a frame that is made of this one."""
        rows = Arriving(frame)
        return read_ahead(self._keyed(rows, keys), cancel=rows.cancel, patience=PATIENCE)

    def _keyed(self, rows: Arriving, keys: Keys) -> Iterator[Batch]:
        for batch in rows.batches():
            for found, number in keys([in_utc(column) for column in batch.columns]):
                yield Batch(found, number, 0)
        for file in self.files:
            file.check_unchanged()

    def grouped(self) -> Source | None:
        """Return the keys with how often they occur, counted by Spark; None if more is known of rows."""
        columns = self.columns
        return None if columns.user or columns.weight or columns.times else _CountedBySpark(self)

    def by_hash(self) -> RowsByHash:
        """Return the rows in the order of a keyed hash of the key, for counting that needs an order."""
        return RowsByHash(self)

    def bounded(self, bound: UserBound, with_users: bool) -> Source | None:
        """Return what is kept of each user, chosen by Spark; None if places of keys are asked for."""
        if isinstance(bound, PlacedPairs) or self.columns.times:
            return None
        frame, safe = bounded(self.frame, self.safe, bound), self.safe
        unit = replace(USER, rows=bound.largest)
        if with_users:
            return replace(self, frame=together(frame, safe), unit=unit)
        kept = safe.without_user()
        frame, columns = frame.select(*quoted_names(kept)), self.columns.without_user()
        return replace(self, frame=frame, safe=kept, columns=columns, unit=unit)


@dataclass(frozen=True, slots=True)
class _CountedBySpark(WrappedSource):
    """Pairs of weight and key, where the weight is the number of rows that have the key."""

    source: SparkRows

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Let Spark count, and yield the pairs; nothing can be skipped."""
        return self.source.arriving(_counted(self.source.frame, self.source.safe), self._pairs)

    def _pairs(self, columns: Columns) -> Iterator[tuple[pa.Array, int]]:
        *keys, numbers = columns
        yield self.columns.weighed(keys, numbers), len(numbers)


@on_spark
def _counted(frame: DataFrame, columns: KeyColumns) -> DataFrame:
    """Return the different keys with the number of their rows."""
    count = spark_module("pyspark.sql.functions").count("*")
    return frame.groupBy(*quoted_names(columns)).agg(count.alias(NUMBER))


@on_spark
def bounded(frame: DataFrame, columns: KeyColumns, bound: UserBound, key: int | None = None) -> DataFrame:
    """Return what is kept of each user: a function of that user's rows and of a key drawn for the run."""
    functions = spark_module("pyspark.sql.functions")
    names = quoted_names(columns)
    rows = frame.select(*names)
    for name in names:
        rows = rows.filter(functions.col(name).isNotNull())
    if not isinstance(bound, AllRows):
        rows = rows.distinct()
    pair = functions.xxhash64(functions.lit(drawn_key() if key is None else key), *names)
    window = spark_module("pyspark.sql.window").Window.partitionBy(names[-1]).orderBy(pair, *names)
    ranked = rows.withColumn(PAIR, functions.row_number().over(window))
    return ranked.filter(functions.col(PAIR) <= bound.largest).drop(PAIR)


@on_spark
def together(frame: DataFrame, columns: KeyColumns) -> DataFrame:
    """Return rows with those of each user in one part, one after the other."""
    names = quoted_names(columns)
    return frame.repartition(names[-1]).sortWithinPartitions(names[-1], *names[:-1])


def drawn_key() -> int:
    """Draw the key of the hashes of one run."""
    return int.from_bytes(fresh_key()[:8], "big", signed=True)


def opened(
    data: Data, form: str | None, asked: KeyColumns, rule: Partitioning
) -> tuple[DataFrame, KeyColumns, KeyColumns, Partitioning]:
    """Return the needed columns of a frame or of files, the columns twice, and the rule in safe names.

    The columns are those under their own names, with types, and those under names that cannot clash. Nothing
    is read but headers.
    """
    if is_frame(data):
        check_guesses(data)
        frame: DataFrame = data
    else:
        if not asked.names:
            raise ParameterError("column must be named with the Spark engine, got None.")
        more = [] if rule.row_id is None else [rule.row_id]
        frame = read_files(data, form, list(dict.fromkeys([*asked.names, *more])))
    columns = key_columns(frame, asked)
    frame, safe, rule = renamed(frame, columns, rule)
    return frame, columns, safe, rule


def open_rows(data: Data, form: str | None, asked: KeyColumns) -> SparkRows:
    """Open a frame or files as a source; nothing is counted yet."""
    frame, columns, safe, _ = opened(data, form, asked, Partitioning())
    return SparkRows(frame, safe, columns, columns.notes, tuple(local_files(frame)))
