"""Real Spark for tests: sessions of any number of cores, and what is said where there is no Java."""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pyarrow as pa
import pytest

REQUIRED = "HUSHCOUNT_REQUIRE_SPARK"
SKIPPED = "SPARK WAS NOT TESTED: no Java found; install Java 17 to run these tests."


def need_java():
    """Skip with a loud word where there is no Java, or fail where that is not allowed."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") or (home and shutil.which(os.path.join(home, "bin", "java"))):
        return
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{REQUIRED} is 1, but no Java was found.")
    pytest.skip(SKIPPED)


def _wait_for(port):
    """Until the master listens; on a busy machine that takes longer than a session would try."""
    for _ in range(1200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)


@contextmanager
def spark_cluster(folder):
    """A master and two workers of one core, on two loopback addresses: Spark takes them for two hosts."""
    import pyspark

    home = os.path.dirname(pyspark.__file__)
    environment = {
        **os.environ,
        "SPARK_HOME": home,
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_DIRS": str(folder),
    }
    launcher = [os.path.join(home, "bin", "spark-class")]
    package = "org.apache.spark.deploy"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    commands = [[f"{package}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]]
    for host in ("127.0.0.2", "127.0.0.3"):
        options = ["--host", host, "--cores", "1", "--memory", "600m", "--webui-port", "0"]
        commands.append([f"{package}.worker.Worker", *options, "--work-dir", str(folder / host), master])
    running = []
    try:
        for index, command in enumerate(commands):
            with open(folder / f"cluster{index}.log", "w") as log:
                running.append(
                    subprocess.Popen([*launcher, *command], env=environment, stdout=log, stderr=log)
                )
        _wait_for(port)
        yield master
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(30)


@contextmanager
def spark_session(master, folder, python=sys.executable, **settings):
    """A session of its own, with all that it writes in `folder`, on the loopback address alone."""
    import pyspark
    from pyspark.sql import SparkSession

    environment = {
        "PYSPARK_PYTHON": python,
        "SPARK_HOME": os.path.dirname(pyspark.__file__),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder),
    }
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()  # there is one session a process
    builder = SparkSession.builder.master(master).appName("tests")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder),
        "spark.sql.shuffle.partitions": "4",
        **settings,
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def shard_sketches(frame, task, partitioning, **options):
    """The sketches of all shards, in their order."""
    from hushcount.jobs.spark.shards import ShardSketches, shard_contents

    whole = ShardSketches(task.kind, task.counters, partitioning.keeps_keys_whole)
    whole.update(pa.array(shard_contents(frame, task, partitioning, **options), pa.binary()))
    return whole.sketches


def shard_digests(sketches):
    """A digest of what the sketch of each shard holds: floor, total, keys and counts."""
    return [_digest(sketch) for sketch in sketches]


def plain_keys(keys):
    """Keys as bytes or whole numbers; Python has no dates after the year 9999."""
    if pa.types.is_string(keys.type) or pa.types.is_binary(keys.type):
        return keys.cast(pa.binary()).to_pylist()
    if pa.types.is_boolean(keys.type):
        return keys.cast(pa.int64()).to_pylist()
    return keys.view(pa.int32() if keys.type.bit_width == 32 else pa.int64()).to_pylist()


def _digest(sketch):
    shape = sketch.shape()
    counts = sorted(zip(plain_keys(shape.keys), shape.counts.tolist(), strict=True))
    content = repr((str(shape.keys.type), getattr(shape, "floor", None), int(sketch.total), counts))
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
