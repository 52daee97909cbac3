"""Plans of Spark frames: those in which one row changes how others are read or chosen are refused.

Only frames that run in this process show a plan; of others the caller asserts all of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.jobs.spark.failures import on_spark, spark_module

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame

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
def check_guesses(frame: DataFrame) -> None:
    """Refuse a frame of files whose columns or types Spark takes from another file or from other rows."""
    if not _shows_plan(frame):
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
    if not _shows_plan(frame):
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


def _shows_plan(frame: DataFrame) -> bool:
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
