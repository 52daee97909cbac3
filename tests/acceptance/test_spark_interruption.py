"""Signals while Spark starts and while it counts: one sentence, no traceback, and no Java left behind."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from tests.spark_session import need_java

from hushcount.signals import SIGNALS

SUBMIT = (
    "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false --conf spark.driver.host=127.0.0.1"
    " --conf spark.driver.bindAddress=127.0.0.1 --conf spark.local.dir={folder} pyspark-shell"
)


def below(process):
    """All processes that a process has started, and those started by them."""
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def started(process, words):
    """Wait until a process with these words in its command line runs below."""
    for _ in range(3000):
        for child in below(process):
            try:
                if words in " ".join(child.cmdline()):
                    return
            except psutil.Error:
                continue
        assert process.poll() is None
        time.sleep(0.1)
    pytest.fail(f"{words} did not start.")


def default_signals():
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("words", "number", "users"),
    [
        ("org.apache.spark.deploy.SparkSubmit", signal.SIGINT, ()),
        ("pyspark.daemon", signal.SIGINT, ()),
        # Java lists its threads on standard output when a terminal sends it this signal.
        ("pyspark.daemon", signal.SIGQUIT, ("--user", "user", "--max-keys", "3")),
        ("pyspark.daemon", signal.SIGTERM, ("--user", "user", "--max-keys", "3")),
    ],
)
def test_signals(tmp_path, words, number, users):
    need_java()
    with open(tmp_path / "a.csv", "w") as file:
        file.write("url,user\n")
        file.writelines(f"page{row % 1000},user{row}\n" for row in range(1_000_000))
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": SUBMIT.format(folder=tmp_path),
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [sys.executable, "-m", "hushcount", "top", f"{tmp_path}/*.csv", "--column", "url"]
    options = ["--engine", "spark", "--shards", "8", "--epsilon", "1", "--delta", "1e-8", *users]
    process = subprocess.Popen(
        [*command, *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=default_signals,  # noqa: PLW1509
    )
    try:
        started(process, words)
        children = below(process)
        os.killpg(process.pid, number)  # as a terminal does
        out, said = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, out, said) == (130, "", "Interrupted; nothing was released.\n")
    assert psutil.wait_procs(children, timeout=60)[1] == []
