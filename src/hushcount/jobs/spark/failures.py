"""What Spark raises and logs quotes raw data: it becomes one sentence, and nothing else is shown."""

from __future__ import annotations

import logging
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import ParamSpec, TypeVar

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.failures import attempt
from hushcount.signals import check

Given = ParamSpec("Given")
Result = TypeVar("Result")

MISSING = "The Spark engine needs PySpark 4: in a checkout, run pip install .[spark]."
NOT_WHOLE = "A key column has values that are not whole numbers (type int)."
NOT_CSV = "A file has rows that Spark cannot read as CSV: each row must be one line with all columns."
NOT_JSON = "A file has lines that are not well-formed JSON objects."
HEADERS = "The CSV files have different headers. Give files that have the same columns in the same order."
NOT_THERE = (
    "The workers of Spark use a Python without hushcount. Set the environment variable PYSPARK_PYTHON to one"
    " that has it on every machine, before the session is made."
)
TOO_LARGE = (
    "A part of the rows is larger than spark.driver.maxResultSize lets come to the driver. Raise it, or make"
    " more parts: set spark.sql.adaptive.coalescePartitions.enabled to false, or spark.sql.shuffle.partitions"
    " higher."
)
# Part of Spark's text, and the sentence that takes its place. The first that is found counts.
SENTENCES = {
    "No module named 'hushcount'": NOT_THERE,
    "spark.driver.maxResultSize": TOO_LARGE,
    NOT_WHOLE: NOT_WHOLE,
    "CSV header does not conform": HEADERS,
    "MALFORMED_CSV_RECORD": NOT_CSV,
    "MALFORMED_RECORD_IN_PARSING": NOT_JSON,
}
OWN = re.compile(r"^hushcount\.errors\.\w+: (.+)$", re.MULTILINE)  # raised by a task; it quotes no data
COLUMN = "hushcount_column"
SAFE_NAME = re.compile(f"Column '{COLUMN}[0-9]+'")
# PySpark writes exceptions to standard error by these two loggers before anybody can catch them.
QUOTING = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


def spark_module(name: str) -> ModuleType:
    """Import a module of PySpark, or say what is missing."""
    try:
        return import_module(name)
    except ImportError:
        failure = ParameterError(MISSING)
    raise failure


def on_spark(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Decorate a function that calls Spark: its failures become sentences, its messages are not shown."""

    @wraps(function)
    def guarded(*arguments: Given.args, **options: Given.kwargs) -> Result:
        with _silenced():
            return attempt(_sentence, partial(function, *arguments, **options))

    return guarded


def _sentence(error: Exception) -> HushcountError:
    """Return one sentence by words that Spark uses; its text goes no further.

    Ctrl-C ends the workers of Spark too. Then the calls by which PySpark tidies up, or the job whose workers
    are gone, raise something else in place of `KeyboardInterrupt`.
    """
    check()
    if _interrupted(error):
        raise KeyboardInterrupt
    said = str(error)
    if found := OWN.search(said):
        return DataError(SAFE_NAME.sub("A key column", found[1]))
    for words, sentence in SENTENCES.items():
        if words in said:
            return DataError(sentence)
    return DataError(
        f"The Spark job failed ({type(error).__name__}), so nothing was released. Spark's log says more,"
        " maybe with raw data."
    )


def _interrupted(error: BaseException | None) -> bool:
    """Return whether an exception came up while `KeyboardInterrupt` was being handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _not_by_py4j(record: logging.LogRecord) -> bool:
    """Return whether a message is from elsewhere; Py4J logs tracebacks at Ctrl-C, some by the root logger."""
    return "py4j" not in record.pathname


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep what PySpark and Py4J log and warn of away from standard error."""
    with warnings.catch_warnings(), ExitStack() as filters:
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        for name in QUOTING:
            logger = spark_module("pyspark.logger").PySparkLogger.getLogger(name)
            filters.enter_context(_filtered(logger, lambda _: False))
        filters.enter_context(_filtered(logging.getLogger(), _not_by_py4j))
        filters.enter_context(_kept_to_itself(logging.getLogger("py4j")))
        yield


@contextmanager
def _filtered(logger: logging.Logger, keep: Callable[[logging.LogRecord], bool]) -> Iterator[None]:
    """Let a logger write only what `keep` keeps; a filter of its own, as other threads take theirs away."""
    own = partial(keep)
    logger.addFilter(own)
    try:
        yield
    finally:
        logger.removeFilter(own)


@contextmanager
def _kept_to_itself(logger: logging.Logger) -> Iterator[None]:
    """Keep what a logger and those below it write from the root logger, whose filters would not see it.

    Several threads may ask for it at once; the last one that leaves makes it heard again.
    """
    with _changing:
        if not _quiet[logger.name]:
            _heard_before[logger.name] = logger.propagate
        _quiet[logger.name] += 1
        logger.propagate = False
    try:
        yield
    finally:
        with _changing:
            _quiet[logger.name] -= 1
            if not _quiet[logger.name]:
                logger.propagate = _heard_before[logger.name]


_changing = Lock()
_quiet: Counter[str] = Counter()
_heard_before: dict[str, bool] = {}
