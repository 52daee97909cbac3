"""What PySpark and Py4J log while a function runs on Spark is not shown."""

import logging
import os
import signal
import threading

import pytest

from hushcount import signals
from hushcount.errors import DataError
from hushcount.jobs.spark.failures import on_spark


@pytest.mark.parametrize("name", ["py4j", "py4j.clientserver", "py4j.java_gateway"])
def test_loggers_of_py4j_are_not_heard(caplog, name):
    logger = logging.getLogger(name)
    on_spark(lambda: logger.error("a raw key"))()
    assert caplog.records == []
    logger.error("elsewhere")
    assert [record.message for record in caplog.records] == ["elsewhere"]


def test_threads_do_not_undo_each_other(caplog):
    inside, leave = threading.Event(), threading.Event()

    def first():
        inside.set()
        leave.wait(20)

    def second():
        leave.set()
        other.join()
        logging.getLogger("py4j").error("a raw key")

    other = threading.Thread(target=on_spark(first))
    other.start()
    inside.wait(20)
    on_spark(second)()
    assert caplog.records == []
    logging.getLogger("py4j").error("elsewhere")
    assert [record.message for record in caplog.records] == ["elsewhere"]


def test_other_loggers_are_heard(caplog):
    on_spark(lambda: logging.getLogger("mine").error("hello"))()
    assert [record.message for record in caplog.records] == ["hello"]


def interrupt():
    """Press Ctrl-C, whatever this process has inherited."""
    os.kill(os.getpid(), signal.SIGINT)


def test_what_fails_while_ctrl_c_is_handled_is_an_interruption():
    def call_java():
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("Java is gone: a raw key")

    with pytest.raises(KeyboardInterrupt):
        on_spark(call_java)()


def test_ctrl_c_that_a_library_swallowed_is_an_interruption():
    def lose_workers():
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        raise RuntimeError("the workers are gone: a raw key")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with signals.handled(), pytest.raises(KeyboardInterrupt):
            on_spark(lose_workers)()
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_failures_are_one_sentence():
    def fail():
        raise RuntimeError("a raw key")

    with pytest.raises(DataError) as error:
        on_spark(fail)()
    assert str(error.value) == (
        "The Spark job failed (RuntimeError), so nothing was released. Spark's log says more, maybe with raw"
        " data."
    )


def test_workers_without_hushcount_are_told_apart():
    def fail():
        raise RuntimeError("a raw key ... ModuleNotFoundError: No module named 'hushcount'")

    with pytest.raises(DataError) as error:
        on_spark(fail)()
    assert str(error.value) == (
        "The workers of Spark use a Python without hushcount. Set the environment variable PYSPARK_PYTHON to"
        " one that has it on every machine, before the session is made."
    )
