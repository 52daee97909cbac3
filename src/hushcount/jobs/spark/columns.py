"""Columns of a Spark frame: which can be keys, by what rows are dealt, and safe names for both."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hushcount.errors import DataError, ParameterError
from hushcount.files.failures import attempt
from hushcount.jobs.dealing import Partitioning
from hushcount.jobs.spark.files import quoted, spark_module
from hushcount.keys.columns import KeyColumns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COLUMN, DEALT = "hushcount_column", "hushcount_dealt"
FROM_FILES = 'partition_by="file" needs a frame as it is read from files, without joins or Python in between.'
NOT_WHOLE = "A key column has values that are not whole numbers (type int)."


def key_columns(frame: DataFrame, columns: KeyColumns) -> KeyColumns:
    """The columns of a frame with their types, or a refusal; nothing is read."""
    found = columns.within(frame.columns, "the frame")
    twice = ParameterError("The frame has key columns whose names Spark does not tell apart.")
    schema = attempt(lambda _: twice, lambda: frame.select(*quoted_names(found)).schema)
    for name, field in zip(found.names, schema.fields, strict=True):
        if "collate" in field.dataType.simpleString():
            raise DataError(f"Column '{name}' compares text by a collation; collate it by UTF8_BINARY first.")
    sentence = ParameterError("The frame has key columns of types that cannot be keys.")
    return found.typed(attempt(lambda _: sentence, _arrow_types, frame, schema))


def _arrow_types(frame: DataFrame, schema: Any) -> Any:
    to_arrow = spark_module("pyspark.sql.pandas.types").to_arrow_schema
    options = {}
    if "timezone" in inspect.signature(to_arrow).parameters:  # timestamps need one, from PySpark 4.1 on
        options["timezone"] = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    return to_arrow(schema, **options).types


def renamed(
    frame: DataFrame, columns: KeyColumns, partitioning: Partitioning
) -> tuple[DataFrame, KeyColumns, Partitioning]:
    """The columns that are needed, alone and under names that cannot clash, and the rule in these names.

    Text that is read as whole numbers is turned into them here, so that equal keys are equal to Spark too.
    """
    names = tuple(f"{COLUMN}{index}" for index in range(len(columns.names)))
    plain = [_plain(frame, columns, index).alias(name) for index, name in enumerate(names)]
    user = None if columns.user is None else names[-1]
    rule = Partitioning(partitioning.shards, user=user)
    if partitioning.row_id is not None or partitioning.by == "file":
        plain += [column.alias(DEALT) for column in dealt_by(frame, columns, partitioning)]
        rule = Partitioning(partitioning.shards, row_id=DEALT)
    lost = ParameterError(FROM_FILES)
    chosen = attempt(lambda _: lost, frame.select, *plain)
    return chosen, replace(columns, names=names, user=user), rule


def _plain(frame: DataFrame, columns: KeyColumns, index: int) -> Column:
    functions = spark_module("pyspark.sql.functions")
    name = quoted(columns.names[index])
    column: Column = functions.col(name)
    is_user = columns.user is not None and index == len(columns.names) - 1
    kind = frame.select(name).schema.fields[0].dataType.simpleString()
    if columns.key_type != "int" or is_user or kind != "string":
        return column
    text = functions.regexp_replace(column, r"^[ \t\n\x0B\f\r]+|[ \t\n\x0B\f\r]+$", "")
    number = functions.when(text.rlike("^-?[0-9]+$"), text.try_cast("bigint"))
    refusal = functions.raise_error(functions.lit(NOT_WHOLE)).cast("bigint")
    whole: Column = functions.when(column.isNotNull(), functions.coalesce(number, refusal))
    return whole


def dealt_by(frame: DataFrame, columns: KeyColumns, partitioning: Partitioning) -> list[Column]:
    """The columns whose hash says which shard a row belongs to."""
    functions = spark_module("pyspark.sql.functions")
    if partitioning.user is not None:
        return [functions.col(quoted(partitioning.user))]
    if partitioning.row_id is not None:
        KeyColumns.of(partitioning.row_id, "auto").within(frame.columns, "the frame")
        return [functions.col(quoted(partitioning.row_id))]
    if partitioning.by == "file":
        if not frame.inputFiles():
            raise ParameterError(FROM_FILES)
        # Not input_file_name(): after a Python stage it names the file that is being read ahead.
        lost = ParameterError(FROM_FILES)
        file = attempt(lambda _: lost, frame.metadataColumn, "_metadata")
        return [file.getField("file_path")]
    return [functions.col(name) for name in quoted_names(columns)]


def quoted_names(columns: KeyColumns) -> list[str]:
    """The names of the columns in Spark SQL."""
    return [quoted(name) for name in columns.names]
