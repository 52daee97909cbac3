"""Files as a Spark frame, with keys as text where the format has no types of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hushcount.errors import DataError, ParameterError
from hushcount.files.failures import attempt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENDINGS = {".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
MISSING = "The Spark engine needs PySpark 4: pip install hushcount[spark]."


def spark_module(name: str) -> Any:
    """A module of PySpark, or a sentence that says what is missing."""
    try:
        return import_module(name)
    except ImportError:
        failure = ParameterError(MISSING)
    raise failure


def quoted(name: str) -> str:
    """A column name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def read_files(path: str | None, form: str | None, names: Sequence[str]) -> DataFrame:
    """The frame of a file, folder or glob; `names` are the columns that JSON lines are asked for."""
    if path is None or path == "-":
        raise ParameterError("The Spark engine reads FILE, not standard input or --sql.")
    form = form or ENDINGS.get(_ending(path))
    if form not in ENDINGS.values():
        raise ParameterError(
            f"The Spark engine reads {', '.join(dict.fromkeys(ENDINGS.values()))}; give --format."
        )
    failure = DataError(f"{path} cannot be read by Spark.")
    frame: DataFrame = attempt(lambda _: failure, _read, _session(), path, form, names)
    return frame


def _ending(path: str) -> str:
    stem = path.removesuffix(".gz").removesuffix(".zst")
    return os.path.splitext(stem)[1].lower()


def _session() -> Any:
    """The session of this process, or one as Spark is configured; Java must be there."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = spark_module("pyspark.sql").SparkSession.builder
    failure = DataError("Spark cannot be started: it needs Java 17 or newer.")
    return attempt(lambda _: failure, builder.appName("hushcount").getOrCreate)


def _read(session: Any, path: str, form: str, names: Sequence[str]) -> Any:
    reader = session.read
    if form == "parquet":
        return reader.parquet(path)
    if form == "jsonl":
        fields = ", ".join(f"{quoted(name)} string" for name in names)
        return reader.schema(fields).option("mode", "FAILFAST").json(path)
    separator = "\t" if form == "tsv" else ","
    return reader.csv(path, sep=separator, header=True, escape='"', mode="FAILFAST")
