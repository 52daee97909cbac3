"""Tumult Analytics on Spark: groups found by partition selection, then counted, or keys alone."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Any

from common import Asked, Published, serve
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddOneRow,
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxRowsPerID,
    QueryBuilder,
    Session,
)


def session(asked: Asked, unit: Any) -> Any:
    """Return a session whose whole budget is what was asked."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    budget = ApproxDPBudget(asked.epsilon, asked.delta)
    columns = ["user", "key"] if isinstance(unit, AddRowsWithID) else ["key"]
    frame = spark.read.parquet(asked.path).select(*columns)
    return Session.from_dataframe(budget, "rows", frame, protected_change=unit)


def found_and_counted(asked: Asked, on: Any, start: Any, count: Any) -> Published:
    """Spend half of epsilon and all of delta on which keys there are, and the other half on their counts."""
    half = asked.epsilon / 2
    keys = on.evaluate(start.get_groups(["key"]), ApproxDPBudget(half, asked.delta))
    # Groups are given back to the next query as the keys that it counts.
    frame = on.evaluate(count(start.groupby(KeySet.from_dataframe(keys))), ApproxDPBudget(half, 0))
    rows = frame.collect()
    return Published(
        version("tmlt.analytics"),
        "partition selection, then counts",
        [row[0] for row in rows],
        [row[1] for row in rows],
    )


def events(asked: Asked) -> Published:
    """Count rows by key."""
    on = session(asked, AddOneRow())
    return found_and_counted(asked, on, QueryBuilder("rows"), lambda groups: groups.count())


def bounded(asked: Asked) -> Any:
    """Return the query of at most max_keys rows of each user."""
    return QueryBuilder("rows").enforce(MaxRowsPerID(asked.max_keys))


def users(asked: Asked) -> Published:
    """Count the rows of each key that the bound leaves; a user may have several of one key."""
    on = session(asked, AddRowsWithID("user"))
    return found_and_counted(asked, on, bounded(asked), lambda groups: groups.count())


def keys(asked: Asked) -> Published:
    """Publish which keys there are."""
    on = session(asked, AddRowsWithID("user"))
    frame = on.evaluate(bounded(asked).get_groups(["key"]), ApproxDPBudget(asked.epsilon, asked.delta))
    found = [row[0] for row in frame.collect()]
    return Published(version("tmlt.analytics"), "partition selection", found, None)


serve({"exact": events, "users": users, "keys": keys})
