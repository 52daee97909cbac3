"""What PySpark and Py4J log while a function runs on Spark is not shown."""

import logging

import pytest

from hushcount.jobs.spark.failures import on_spark


@pytest.mark.parametrize("name", ["py4j", "py4j.clientserver", "py4j.java_gateway"])
def test_loggers_of_py4j_are_not_heard(caplog, name):
    logger = logging.getLogger(name)
    on_spark(lambda: logger.error("a raw key"))()
    assert caplog.records == []
    logger.error("elsewhere")
    assert [record.message for record in caplog.records] == ["elsewhere"]


def test_other_loggers_are_heard(caplog):
    on_spark(lambda: logging.getLogger("mine").error("hello"))()
    assert [record.message for record in caplog.records] == ["hello"]
