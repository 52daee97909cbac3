"""Columns of a Spark frame: which can be keys, by what rows are dealt to shards, and safe names for both.

Frames in whose plan one row changes how others are read or chosen are refused. Only frames that run in this
process show a plan; of others the caller asserts all of this.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import DataError, ParameterError
from hushcount.files.failures import attempt
from hushcount.jobs.choices import Partitioning
from hushcount.jobs.spark.failures import COLUMN, NOT_WHOLE, on_spark, spark_module
from hushcount.keys.columns import KeyColumns

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

DEALT = "hushcount_dealt"
FROM_FILES = 'partition_by="file" needs a frame as it is read from files, without joins or Python in between.'
TWICE = "The frame has key columns whose names Spark does not tell apart."
NO_KEYS = "The frame has key columns of types that cannot be keys."
LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"
LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
UTC = pa.timestamp("us", "UTC")  # Spark's timestamps are moments; the zone of its session only shows them
INFERRED = (
    "The frame is read with inferSchema, so one row can change how others are read. Give the types with"
    " schema, or leave all columns as text."
)
BY_POSITION = (
    "The frame reads several CSV files by the header of one of them. Read them with enforceSchema=False, or"
    " give the files to hushcount top --engine spark, which finds columns by the header of each file."
)
HEADLESS = (
    "The frame reads CSV without a header, so its first row says how many columns there are. Give the columns"
    " with schema."
)
GUESSED = (
    "The frame reads JSON or XML, whose columns and types Spark guesses from all rows unless they are given,"
    " so one row can change how others are read. Give them with schema and pass the frame as it is read, or"
    " read lines with spark.read.text and take them apart with from_json."
)
FOLDERS = (
    "The frame uses a column that is made of the names of folders, whose type Spark guesses from all of them."
    " Set spark.sql.sources.partitionColumnTypeInference.enabled to false before the frame is read."
)
FOLDER_TYPES = "spark.sql.sources.partitionColumnTypeInference.enabled"
# How a plan shows rows that are chosen by their place, and values that are made of the rows around.
CHOSEN = re.compile(r"^[ :+-]*(Sample|GlobalLimit|LocalLimit|Offset|Tail) ", re.MULTILINE)
NUMBERED = re.compile(r"^[ :+-]*Window ", re.MULTILINE)


@on_spark
def key_columns(frame: DataFrame, columns: KeyColumns) -> KeyColumns:
    """Return the columns of a frame with their types, or refuse them; nothing is read."""
    found = columns.within(frame.columns, "the frame")
    schema = attempt(lambda _: ParameterError(TWICE), lambda: frame.select(*quoted_names(found)).schema)
    for name, field in zip(found.names, schema.fields, strict=True):
        if "collate" in field.dataType.simpleString():
            raise DataError(f"Column '{name}' compares text by a collation; collate it by UTF8_BINARY first.")
    types = attempt(lambda _: ParameterError(NO_KEYS), _arrow_types, frame, schema)
    return found.typed(types)


def _arrow_types(frame: DataFrame, schema: StructType) -> list[pa.DataType]:
    """Return the Arrow types of a schema; moments are in UTC whatever zone the session has."""
    to_arrow = spark_module("pyspark.sql.pandas.types").to_arrow_schema
    options = {}
    if "timezone" in inspect.signature(to_arrow).parameters:  # timestamps need one, from PySpark 4.1 on
        options["timezone"] = "UTC"
    return [UTC if is_moment(kind) else kind for kind in to_arrow(schema, **options).types]


def is_moment(kind: pa.DataType) -> bool:
    """Return whether a type is a timestamp with a zone."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None


def in_utc(column: pa.Array) -> pa.Array:
    """Return the same moments with UTC as their zone; those of Spark may be unknown here."""
    return column.view(UTC) if is_moment(column.type) else column


@on_spark
def arrow_schema(frame: DataFrame) -> pa.Schema:
    """Return the columns as they arrive; moments are in UTC."""
    types = _arrow_types(frame, frame.schema)
    if frame.sparkSession.conf.get(LARGE_TYPES, "false") == "true":
        types = [LARGE.get(kind, kind) for kind in types]
    return pa.schema(list(zip(frame.columns, types, strict=True)))


@on_spark
def renamed(
    frame: DataFrame, columns: KeyColumns, partitioning: Partitioning
) -> tuple[DataFrame, KeyColumns, Partitioning]:
    """Return the needed columns alone, under names that cannot clash, and the rule in these names.

    Text that is read as whole numbers is turned into them here, so that equal keys are equal to Spark too.
    A frame that Spark numbers, draws, samples or cuts off is refused: there one row changes others.
    """
    names = tuple(f"{COLUMN}{index}" for index in range(len(columns.names)))
    plain = [_plain(frame, columns, index).alias(name) for index, name in enumerate(names)]
    user = None if columns.user is None else names[len(columns.key_names)]
    rule = Partitioning(partitioning.shards, user=user)
    if partitioning.row_id is not None or partitioning.by == "file":
        plain += [column.alias(DEALT) for column in dealt_by(frame, columns, partitioning)]
        rule = Partitioning(partitioning.shards, row_id=DEALT)
    chosen = attempt(lambda _: ParameterError(FROM_FILES), frame.select, *plain)
    if partitioning.row_id is not None:
        check_repeatable(chosen.select(DEALT), partitioning.row_id)
    check_repeatable(chosen)
    return chosen, replace(columns, names=names, user=user), rule


def _plain(frame: DataFrame, columns: KeyColumns, index: int) -> Column:
    """Return one column as it is counted."""
    functions = spark_module("pyspark.sql.functions")
    name = quoted(columns.names[index])
    column: Column = functions.col(name)
    is_key, is_user = index < len(columns.key_names), columns.names[index] == columns.user
    if not (is_key or is_user):
        return column
    kind = frame.select(name).schema.fields[0].dataType.simpleString()
    if kind in ("string", "binary") and columns.limit.on_bad == "drop":  # before keys of a user are chosen
        column = functions.when(functions.octet_length(column) <= columns.limit.max_key_bytes, column)
    if columns.key_type != "int" or is_user or kind != "string":
        return column
    text = functions.regexp_replace(column, r"^[ \t\n\x0B\f\r]+|[ \t\n\x0B\f\r]+$", "")
    number = functions.when(text.rlike("^-?[0-9]+$"), text.try_cast("bigint"))
    refusal = functions.raise_error(functions.lit(NOT_WHOLE)).cast("bigint")
    whole: Column = functions.when(column.isNotNull(), functions.coalesce(number, refusal))
    return whole


def dealt_by(frame: DataFrame, columns: KeyColumns, partitioning: Partitioning) -> list[Column]:
    """Return the columns whose hash says which shard a row belongs to."""
    functions = spark_module("pyspark.sql.functions")
    if partitioning.user is not None:
        return [functions.col(quoted(partitioning.user))]
    if partitioning.row_id is not None:
        row_id = key_columns(frame, KeyColumns.of(partitioning.row_id, "auto"))
        return [functions.col(name) for name in quoted_names(row_id)]
    if partitioning.by == "file":
        if not frame.inputFiles():
            raise ParameterError(FROM_FILES)
        # Not input_file_name(): after a Python stage it names the file that is being read ahead.
        file = attempt(lambda _: ParameterError(FROM_FILES), frame.metadataColumn, "_metadata")
        return [file.getField("file_path")]
    return [functions.col(name) for name in quoted_names(columns)]


def quoted(name: str) -> str:
    """Return a column name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def quoted_names(columns: KeyColumns) -> list[str]:
    """Return the names of the columns in Spark SQL."""
    return [quoted(name) for name in columns.names]


@on_spark
def check_guesses(frame: DataFrame) -> None:
    """Refuse a frame of files whose columns or types Spark takes from another file or from other rows."""
    if not shows_plan(frame):
        return
    query = frame._jdf.queryExecution()
    read, several = query.logical(), len(frame.inputFiles()) > 1
    stated = _name(read) == "UnresolvedDataSource" and read.userSpecifiedSchema().isDefined()
    for leaf in _file_leaves(query.analyzed()):
        kind, options = leaf.relation().fileFormat().toString(), leaf.relation().options().toString().lower()
        names = list(leaf.relation().dataSchema().fieldNames())
        if kind in ("JSON", "XML") and not stated:
            raise ParameterError(GUESSED)
        if kind != "CSV":
            continue
        if "inferschema -> true" in options:
            raise ParameterError(INFERRED)
        if "header -> true" not in options and names == [f"_c{index}" for index in range(len(names))]:
            raise ParameterError(HEADLESS)
        if several and "header -> true" in options and "enforceschema -> false" not in options:
            raise ParameterError(BY_POSITION)


def check_repeatable(frame: DataFrame, row_id: str | None = None) -> None:
    """Refuse a frame whose rows depend on how Spark splits, orders or guesses the data.

    Parameters
    ----------
    frame
        The columns that are used, and no others.
    row_id
        The name of the only column, if it is the one by which rows are assigned to shards.
    """
    if not shows_plan(frame):
        return
    # Optimised anew from the analysed plan: unused columns are gone, but no cache hides where rows came from.
    query = frame._jdf.queryExecution()
    plan = frame._jdf.sparkSession().sessionState().optimizer().execute(query.analyzed())
    if frame.sparkSession.conf.get(FOLDER_TYPES) == "true" and _uses_folders(plan):
        raise ParameterError(FOLDERS)
    shown = plan.treeString()
    numbered = row_id is not None and NUMBERED.search(shown) is not None
    if plan.deterministic() and not numbered and not CHOSEN.search(shown):
        return
    subject, values = "The frame", "values that are"
    if row_id is not None:
        subject, values = f"Column '{row_id}'", "a value that is"
    raise ParameterError(
        f"{subject} depends on how Spark splits or orders the data (monotonically_increasing_id, rand,"
        f" sample, limit and the like), so one row would change others. Use {values} stored with each row."
    )


def shows_plan(frame: DataFrame) -> bool:
    """Return whether a frame runs in this process, so that its plan can be seen."""
    return isinstance(frame, spark_module("pyspark.sql.classic.dataframe").DataFrame)


def _name(part: JavaObject) -> str:
    return str(part.getClass().getSimpleName())


def _file_leaves(plan: JavaObject) -> Iterator[JavaObject]:
    """Yield the parts of a plan that read files; a table in a catalogue has its columns and types stated."""
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(index) for index in range(leaves.size())):
        files = _name(leaf) == "LogicalRelation" and _name(leaf.relation()) == "HadoopFsRelation"
        if files and not leaf.catalogTable().isDefined():
            yield leaf


def _uses_folders(plan: JavaObject) -> bool:
    """Return whether a plan uses a column that is made of the names of folders such as day=1."""
    for leaf in _file_leaves(plan):
        names = list(leaf.relation().partitionSchema().fieldNames())
        columns = [leaf.output().apply(index) for index in range(leaf.output().size())]
        if any(column.name() in names and _refers(plan, column) for column in columns):
            return True
    return False


def _refers(plan: JavaObject, column: JavaObject) -> bool:
    """Return whether some step of a plan refers to a column."""
    steps = plan.children()
    below = (steps.apply(index) for index in range(steps.size()))
    return bool(plan.references().contains(column)) or any(_refers(step, column) for step in below)
