"""A Spark session for files: the one that runs, or a quiet one of its own, with nothing guessed from data."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hushcount.errors import DataError
from hushcount.files.failures import attempt
from hushcount.jobs.spark.failures import spark_module
from hushcount.signals import held

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEBUG = "HUSHCOUNT_DEBUG"
NOT_STARTED = f"Spark cannot be started. It needs Java 17 or newer; {DEBUG}=1 shows Spark's own messages."
SETTINGS = {
    # "01" and "1" are two keys, whatever the other folders are called.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Otherwise a row that lacks a column, or half a row of two lines, is counted if the column is not needed.
    "spark.sql.csv.parser.columnPruning.enabled": "false",
}


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
    """Start Java without our standard error: its stack traces quote raw data, and never help a reader."""
    if os.environ.get(DEBUG) == "1":
        yield
        return
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
