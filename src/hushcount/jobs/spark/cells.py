"""Linear sketches on Spark: cells of the rows of each part, added up on the driver.

A cell is a sum, so it is the same however rows were divided, and in whatever order parts come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from hushcount.jobs.run import Run, check_length
from hushcount.jobs.spark.columns import in_utc
from hushcount.jobs.spark.failures import on_spark
from hushcount.jobs.spark.rows import SparkRows
from hushcount.keys.columns import Columns, KeyColumns
from hushcount.sketches.cells import LinearSketch
from hushcount.sketches.kinds import load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "cells binary"


@dataclass(frozen=True, slots=True)
class CellsTask:
    """What one task does: count the keys of its rows in a copy of an empty sketch."""

    columns: KeyColumns
    empty: bytes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row: the sketch as bytes."""
        sketch = cast("LinearSketch", load(self.empty))
        for batch in batches:
            sketch.update(self.columns.keys([in_utc(column) for column in batch.columns]))
        yield pa.RecordBatch.from_arrays([pa.array([sketch.to_bytes()], pa.binary())], ["cells"])


def count_on_spark(reading: Run) -> bool:
    """Count all rows of a Spark frame in the sketch of a run; return whether the source is one."""
    source = reading.source
    if not isinstance(source, SparkRows) or source.columns.weight is not None:
        return False
    sketch = cast("LinearSketch", reading.sketch)
    frame = _counted(source.frame, CellsTask(source.safe, sketch.to_bytes()))
    unit = sketch.unit
    for batch in source.arriving(frame, _sketches):
        for part in batch.keys.to_pylist():
            sketch = sketch.merge(cast("LinearSketch", load(part)))
            if reading.max_events is not None:
                check_length(sketch.total, reading.max_events)
    sketch.unit = unit
    reading.sketch = sketch
    return True


def _sketches(columns: Columns) -> Iterator[tuple[pa.Array, int]]:
    """Yield the sketches of some parts; whose rows they count cannot be told."""
    yield columns[0], 0


@on_spark
def _counted(frame: DataFrame, task: CellsTask) -> DataFrame:
    return frame.mapInArrow(task, SCHEMA)
