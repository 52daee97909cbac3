"""Rows of a Spark frame on their way to the driver, as Arrow data, in parts and in no order.

All rows are worked out first, by all executors together, and wait there. Then part after part is fetched, so
that the driver holds two parts at most; no row has arrived before all are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.jobs.spark.columns import arrow_schema, shows_plan
from hushcount.jobs.spark.failures import on_spark, spark_module
from hushcount.secure import fresh_key

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame


class Arriving:
    """The rows of a frame: each result of a task is taken once, however often the task was tried."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._tag = f"hushcount-{fresh_key().hex()}"
        self._kept: RDD[bytes] | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows; call it in the thread that is to wait for Spark."""
        schema = arrow_schema(self._frame)
        if not shows_plan(self._frame):  # Spark Connect sends Arrow data, and nothing else
            yield from _sent(self._frame, schema)
            return
        try:
            parts = self._worked_out()
            while (part := _next(parts)) is not None:
                yield pa.ipc.read_record_batch(pa.py_buffer(part), schema)
        finally:
            with suppress(Exception):
                self._forget()

    @on_spark
    def cancel(self) -> None:
        """End what Spark does for these rows."""
        if shows_plan(self._frame):
            self._frame.sparkSession.sparkContext.cancelJobsWithTag(self._tag)

    @on_spark
    def _worked_out(self) -> Iterator[bytes]:
        """Let Spark work out all rows, and return the way to fetch them."""
        pyspark, serializers = spark_module("pyspark"), spark_module("pyspark.serializers")
        context = self._frame.sparkSession.sparkContext
        context.addJobTag(self._tag)
        rows = self._frame._jdf.toArrowBatchRdd().toJavaRDD()
        self._kept = pyspark.RDD(rows, context, serializers.NoOpSerializer())
        self._kept.persist(pyspark.StorageLevel.MEMORY_AND_DISK)
        rows.count()
        return self._kept.toLocalIterator(prefetchPartitions=True)

    @on_spark
    def _forget(self) -> None:
        """Let the executors forget the rows."""
        if self._kept is not None:
            self._kept.unpersist()
        self._frame.sparkSession.sparkContext.removeJobTag(self._tag)


@on_spark
def _next(parts: Iterator[bytes]) -> bytes | None:
    """Return the next rows, or None after the last."""
    part: bytes | None = next(parts, None)
    return part


@on_spark
def _sent(frame: DataFrame, schema: pa.Schema) -> list[pa.RecordBatch]:
    """Return all rows at once."""
    table = frame.toArrow()
    columns = [column.cast(kind) for column, kind in zip(table.columns, schema.types, strict=True)]
    batches: list[pa.RecordBatch] = pa.Table.from_arrays(columns, schema=schema).to_batches()
    return batches
