"""Rows of a Spark frame without those whose key is not in a public domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.files.failures import attempt
from hushcount.jobs.spark.columns import arrow_schema, in_utc
from hushcount.jobs.spark.failures import on_spark, spark_module
from hushcount.keys.arrays import held_as
from hushcount.keys.columns import KeyColumns
from hushcount.keys.domains import Domain, within

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

UNSIGNED = "Spark has no whole numbers above 2^63 - 1, so domain must not reach beyond."


@dataclass(frozen=True, slots=True)
class DomainTask:
    """Keys in the type of the domain, beside their users; whether a row stays depends on this row alone."""

    columns: KeyColumns
    domain: Domain
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows whose key is in the domain."""
        for batch in batches:
            rows = self.columns.keys([in_utc(column) for column in batch.columns])
            with_user = pa.types.is_struct(rows.type)
            keys, inside = within(self.domain, rows.field("key") if with_user else rows)
            found = [keys, rows.field("user").filter(pa.array(inside))] if with_user else [keys]
            held = [each.cast(kind) for each, kind in zip(found, self.schema.types, strict=True)]
            yield pa.RecordBatch.from_arrays(held, schema=self.schema)


@on_spark
def in_domain(frame: DataFrame, columns: KeyColumns, domain: Domain) -> tuple[DataFrame, KeyColumns]:
    """Return the rows in a domain, and their columns, which are named as those of the frame are."""
    if len(columns.key_names) > 1:
        raise ParameterError(f"domain is for one key column, got {len(columns.key_names)}.")
    within(domain, pa.array([], held_as(columns.types[0])))  # raises for other types
    known = replace(columns, key_type="auto", types=(domain.key_type, *columns.types[1:]))
    if domain.key_type == pa.uint64():
        raise ParameterError(UNSIGNED)
    types = spark_module("pyspark.sql.types")
    kind = attempt(_no_type, spark_module("pyspark.sql.pandas.types").from_arrow_type, domain.key_type)
    fields = [types.StructField(columns.names[0], kind), *frame.schema.fields[1:]]
    given = arrow_schema(frame).set(0, pa.field(columns.names[0], domain.key_type))
    rows = frame.mapInArrow(DomainTask(columns, domain, given), types.StructType(fields))
    return rows, known


def _no_type(_error: Exception) -> ParameterError:
    return ParameterError("domain holds keys of a type that Spark does not have.")
