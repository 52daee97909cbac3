"""Files as a Spark frame: each value is read by its own row and its own file's header.

Spark is the one that runs, or a quiet one of its own, with nothing guessed from data.

Spark alone would take the header, the types of folder names and the Parquet schema from whichever file comes
first, and that can depend on a single row.
"""

from __future__ import annotations

import glob
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from hushcount.errors import DataError, ParameterError
from hushcount.files.failures import attempt, file_failure
from hushcount.jobs.spark.columns import quoted
from hushcount.jobs.spark.failures import on_spark, spark_module
from hushcount.keys.columns import KeyColumns
from hushcount.signals import held
from hushcount.sources.formats.columnar import ParquetReader
from hushcount.sources.formats.files import find_inputs
from hushcount.sources.formats.inputs import Input, RegularFile, file_input
from hushcount.sources.formats.registry import FORMATS, ending_format
from hushcount.sources.formats.text import CsvReader, JsonLinesReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

SparkReader = CsvReader | JsonLinesReader | ParquetReader
SKIPPED = "hushcount_skipped"
REMOTE = re.compile("[A-Za-z][A-Za-z0-9+.-]+:")
PATTERN = re.compile(r"([\\{}\[\]*?])")  # what Hadoop takes for a pattern in a path
LINKED = (
    "The frame reads one file under two names (links), so its rows would count twice. Name the file once."
)
DEBUG = "HUSHCOUNT_DEBUG"
NOT_STARTED = f"Spark cannot be started. It needs Java 17 or newer; {DEBUG}=1 shows Spark's own messages."
SETTINGS = {
    # "01" and "1" are two keys, whatever the other folders are called.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Otherwise a row that lacks a column, or half a row of two lines, is counted if the column is not needed.
    "spark.sql.csv.parser.columnPruning.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class Files:
    """What Spark is to read: files that this machine sees (if it sees them), their paths in Spark's notation,
    and the folder below which folders such as "day=1" are columns.
    """

    format: SparkReader
    paths: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
    base: str | None = None

    def reader(self, session: SparkSession) -> DataFrameReader:
        """Return a reader for these files."""
        return session.read if self.base is None else session.read.option("basePath", self.base)


@on_spark
def read_files(path: str | None, form: str | None, names: Sequence[str]) -> DataFrame:
    """Return the frame of a file, folder or glob; `names` are the columns that are needed of it."""
    if path is None or path == "-":
        raise ParameterError("The Spark engine reads FILE, not standard input or --sql.")
    files = _found(path, form)
    session = own_session()
    return attempt(lambda _: DataError(f"{path} cannot be read by Spark."), _read, session, files, names)


def _found(path: str, form: str | None) -> Files:
    """List the files of a path; what this machine does not see is left to Spark."""
    place = path.removeprefix("file://")
    if REMOTE.match(place) or not (os.path.lexists(place) or glob.glob(place, recursive=True)):
        return Files(_format(form or ending_format(place)), (place,))
    inputs, form = find_inputs(place, form)
    if not all(isinstance(file, RegularFile) for file in inputs):
        raise ParameterError(f"The Spark engine reads regular files, not pipes such as {path}.")
    names = [os.path.abspath(file.name) for file in inputs]
    if any(os.path.basename(name)[0] in "._" for name in names):
        raise ParameterError("Spark ignores files whose names begin with . or _; rename them.")
    base = os.path.abspath(place) if os.path.isdir(place) else None
    return Files(_format(form), tuple(PATTERN.sub(r"\\\1", name) for name in names), tuple(inputs), base)


def _format(name: str | None) -> SparkReader:
    """Return the format of this name, if Spark is asked to read it."""
    kinds = {known: kind for known, kind in FORMATS.items() if issubclass(kind, SparkReader)}
    if name not in kinds:
        raise ParameterError(f"The Spark engine reads {', '.join(kinds)}; give --format.")
    return kinds[name]()


def _read(session: SparkSession, files: Files, names: Sequence[str]) -> DataFrame:
    """Return the frame of files of one format."""
    reader, kind = files.reader(session), files.format
    if isinstance(kind, ParquetReader):
        return reader.option("mergeSchema", True).parquet(*files.paths)
    if isinstance(kind, JsonLinesReader):
        return reader.schema(_text(names)).json(list(files.paths), mode="FAILFAST")
    if not files.inputs:
        return _csv(reader, kind, files.paths, trusted=False)
    by_header: dict[tuple[str, ...], list[str]] = {}
    for file, path in zip(files.inputs, files.paths, strict=True):
        by_header.setdefault(_header(file, kind), []).append(path)
    frames = [_of_header(files.reader(session), kind, names, one) for one in by_header.items()]
    return reduce(lambda frame, other: frame.union(other), frames)


def _csv(reader: DataFrameReader, kind: CsvReader, paths: Sequence[str], *, trusted: bool) -> DataFrame:
    """Return delimited text; an empty field is null, but "" is a text, as in the local engine.

    Headers are compared with the schema unless it is `trusted`.
    """
    return reader.csv(
        list(paths),
        sep=kind.delimiter,
        header=True,
        escape='"',
        mode="FAILFAST",
        nullValue="\0",
        enforceSchema=trusted,
    )


def _header(file: Input, kind: CsvReader) -> tuple[str, ...]:
    """Return the column names in the first row of a file."""
    names = attempt(file_failure(file.name, kind.defect), kind.schema, file).names
    if any("\n" in name or "\r" in name for name in names):
        raise DataError(f"{file.name} has a header of several lines, which the Spark engine cannot read.")
    return tuple(names)


def _of_header(
    reader: DataFrameReader,
    kind: CsvReader,
    names: Sequence[str],
    found: tuple[tuple[str, ...], list[str]],
) -> DataFrame:
    """Return the needed columns of the files that have one header; others get names that cannot clash."""
    header, paths = found
    kept = [
        name if name in names and header.count(name) == 1 else f"{SKIPPED}{index}"
        for index, name in enumerate(header)
    ]
    frame = _csv(reader.schema(_text(kept)), kind, paths, trusted=True)
    if frame.columns[: len(header)] != kept:
        raise ParameterError("A column has the name of a folder such as day=1; rename one of them.")
    folders = frame.columns[len(header) :]
    for name in names:
        KeyColumns.of(name, "auto").within([*header, *folders], "the file")
    return frame.select(*map(quoted, names))


def _text(names: Sequence[str]) -> StructType:
    """Return a schema of columns of text."""
    types = spark_module("pyspark.sql.types")
    schema: StructType = types.StructType([types.StructField(name, types.StringType()) for name in names])
    return schema


@on_spark
def local_files(frame: DataFrame) -> list[RegularFile]:
    """Return the files of a frame that this machine sees, to be checked after they were read.

    One file under two names is refused: each of its events would count twice.
    """
    places = map(urlsplit, frame.inputFiles())
    names = sorted({unquote(place.path) for place in places if place.scheme == "file"})
    files = [file_input(name) for name in names if os.path.isfile(name)]
    found = [file for file in files if isinstance(file, RegularFile)]
    if len({file.stamp.identity for file in found}) < len(found):
        raise ParameterError(LINKED)
    return found


def own_session() -> SparkSession:
    """Return a session with settings of its own, in the Spark that this process has or now starts."""
    sessions = spark_module("pyspark.sql").SparkSession
    running = sessions.getActiveSession() or attempt(lambda _: DataError(NOT_STARTED), _started)
    session: SparkSession = running.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session


def _started() -> SparkSession:
    """Start Spark as it is configured. Ctrl-C waits meanwhile, lest a half-started Java stays behind."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = spark_module("pyspark.sql").SparkSession.builder.appName("hushcount")
    interrupted = signal.getsignal(signal.SIGINT)
    with held(), _quiet():
        session: SparkSession = builder.getOrCreate()
        if threading.current_thread() is threading.main_thread():  # PySpark has put its own handler there
            signal.signal(signal.SIGINT, interrupted)
    return session


@contextmanager
def _quiet() -> Iterator[None]:
    """Start Java without our standard output and error.

    Its stack traces quote raw data and never help a reader. At SIGQUIT it lists its threads on standard
    output, where the table goes.
    """
    if os.environ.get(DEBUG) == "1":
        yield
        return
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in kept:
        os.dup2(nowhere, stream)
    try:
        yield
    finally:
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)
        os.close(nowhere)
