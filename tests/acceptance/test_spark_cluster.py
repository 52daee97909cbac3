"""Exact counts, trees and cells on a cluster of two workers: whatever happens to executors, counts stay."""

import os
import subprocess
import sys
import textwrap
import time
from collections import Counter
from functools import partial

import psutil
import pytest
from tests.spark_session import need_java, spark_cluster, spark_session

import hushcount as hc
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import history
from hushcount.accounting.ledger import Ledger
from hushcount.jobs.choices import Partitioning
from hushcount.jobs.request import Request
from hushcount.jobs.spark.rows import bounded
from hushcount.jobs.spark.rows import opened as opened_frame
from hushcount.sources.duckdb.bounding import DistinctPairs
from hushcount.sources.duckdb.counted import counted_keys

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
BUDGET = {"epsilon": 1.0, "delta": 1e-8}
ROWS = 20_000
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.efficiency.enabled": "false",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    need_java()
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as master:
        yield master


@pytest.fixture(scope="module")
def spark(cluster, tmp_path_factory):
    with spark_session(cluster, tmp_path_factory.mktemp("spark"), **SETTINGS) as session:
        yield session


def events(session):
    return session.range(0, ROWS, numPartitions=6).selectExpr(
        "id", "cast(sqrt(id) as bigint) AS key", "id % 99 AS user"
    )


def expected():
    return Counter(int(number**0.5) for number in range(ROWS))


def counts(frame, column="key", **options):
    found = counted_keys(Request(frame, column, ordered=False, **options).open())
    return {
        key: int(count) for keys, each in found for key, count in zip(keys.to_pylist(), each, strict=True)
    }


def executors():
    """The executors of all workers of the cluster."""
    found = psutil.Process().children(recursive=True)
    running = [each for each in found if each.status() != psutil.STATUS_ZOMBIE]
    return [each for each in running if "CoarseGrainedExecutorBackend" in " ".join(each.cmdline())]


def once(frame, marker, deed):
    """The same rows; the first task to come by does something."""

    def rows(batches):
        for batch in batches:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                deed()
            yield batch

    return frame.mapInArrow(rows, frame.schema)


def test_a_killed_executor_changes_nothing(spark, tmp_path):
    def kill_executor():  # the Java process of this worker
        import psutil

        next(each for each in psutil.Process().parents() if "java" in each.name()).kill()

    frame = once(events(spark), str(tmp_path / "killed"), kill_executor)
    assert counts(frame) == expected()
    assert (tmp_path / "killed").exists()


def test_an_executor_that_dies_while_counts_are_fetched_changes_nothing(spark):
    batches = Request(events(spark), "key", ordered=False).open().grouped().batches()
    first = next(batches)
    victim = executors()[0]
    victim.kill()
    victim.wait(60)
    found = Counter()
    for batch in [first, *batches]:
        pairs = zip(batch.keys.field("key").to_pylist(), batch.keys.field("weight").to_pylist(), strict=True)
        found.update(dict(pairs))
    assert found == expected()


def test_speculation_counts_once(spark, tmp_path):
    log, done = str(tmp_path / "attempts"), str(tmp_path / "done")

    def slow_once(batches):
        from pyspark import TaskContext

        context = TaskContext.get()
        part, attempt = context.partitionId(), context.attemptNumber()
        yield from batches
        with open(log, "a") as lines:
            lines.write(f"{part} {attempt}\n")
        for _ in range(600 if (part, attempt) == (5, 0) else 0):
            if os.path.exists(done):
                break
            time.sleep(0.1)
        if (part, attempt) == (5, 1):
            os.close(os.open(done, os.O_CREAT))

    frame = events(spark)
    assert counts(frame.mapInArrow(slow_once, frame.schema)) == expected()
    with open(log) as lines:
        assert "5 1" in lines.read().splitlines()


def test_one_removed_row_changes_one_count_by_one(spark):
    whole, without = events(spark), events(spark).filter("id <> 777")
    assert Counter(counts(whole)) - Counter(counts(without)) == Counter([int(777**0.5)])
    assert not Counter(counts(without)) - Counter(counts(whole))


def test_one_removed_user_changes_what_was_kept_of_this_user(spark):
    def kept(frame):
        request = Request(frame, "key", user="user", ordered=False)
        rows, _, safe, _ = opened_frame(frame, None, request.asked, Partitioning())
        return Counter(tuple(row) for row in bounded(rows, safe, DistinctPairs(3), 0x5EED).collect())

    lost = kept(events(spark)) - kept(events(spark).filter("user <> 7"))
    assert len(lost) == 3
    assert {user for _, user in lost} == {7}
    assert not kept(events(spark).filter("user <> 7")) - kept(events(spark))


def test_every_job_on_two_workers(spark):
    frame = events(spark).selectExpr("concat('10.0.0.', key % 4) AS place", "user")
    tree = hc.tree(frame, column="place", hierarchy="ipv4/8", threshold=1000, **BUDGET)
    assert sorted(tree.nodes.to_pylist()) == [f"10.0.0.{last}" for last in range(4)]
    users = hc.sample(frame, column="place", rate=0.5, user="user", max_keys=4, **BUDGET)
    assert len(users) == 4
    oracle = hc.oracle(frame, column="place", **BUDGET)
    (row,) = oracle.estimate(["10.0.0.1"], confidence=1 - 1e-9).to_pylist()
    true = sum(count for key, count in expected().items() if key % 4 == 1)
    assert row["lower"] <= true <= row["upper"]


def python_without_hushcount(folder):
    """A Python that has all libraries of this one but hushcount."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (libraries,) = (folder / "lib").glob("python*/site-packages")
    import pyarrow

    for entry in os.scandir(os.path.dirname(os.path.dirname(pyarrow.__file__))):
        if "hushcount" not in entry.name and not (libraries / entry.name).exists():
            os.symlink(entry.path, libraries / entry.name)
    return folder / "bin" / "python"


def test_executors_without_hushcount(tmp_path):
    """Exact counts need no Python there; sketches say what is missing, and the ledger loses nothing."""
    need_java()
    place = tmp_path / "spent.db"
    Ledger(place).init("visits", Filter.fixed(1, "1e-6"))
    bare = str(python_without_hushcount(tmp_path / "bare"))
    asked = {"shards": 2, "counters": 64} | {
        "column": "key",
        "ledger": place,
        "dataset": "visits",
        "run_id": "nightly",
        "limit": 1,
        **BUDGET,
    }
    with spark_session("local[2]", tmp_path, python=bare) as session:
        frame = events(session)
        sketches = partial(hc.engines.spark.top, frame, **asked)
        for job in (sketches, partial(hc.oracle, frame, column="key", **BUDGET)):
            with pytest.raises(hc.errors.DataError) as refused:
                job()
            assert str(refused.value).startswith("The workers of Spark use a Python without hushcount.")
        assert [entry["kind"] for entry in history(place, "visits")] == ["init", "reserve"]
        assert len(hc.top(frame, column="key", limit=1, **BUDGET)) == 1
    with spark_session("local[2]", tmp_path) as session:
        assert len(hc.engines.spark.top(events(session), **asked)) == 1
    assert [entry["kind"] for entry in history(place, "visits")] == ["init", "reserve", "takeover", "commit"]


DYING = """
    import os, sys, psutil
    sys.path.insert(0, {root!r})
    from pathlib import Path
    from tests.spark_session import spark_session
    import hushcount as hc

    def killing(batches):
        import psutil

        next(each for each in psutil.Process().parents() if "java" in each.name()).kill()
        yield from batches

    with spark_session("local[2]", Path({folder!r})) as session:
        frame = session.range(0, 9000).selectExpr("id % 3 AS key")
        try:
            hc.top(frame.mapInArrow(killing, "key long"), column="key", epsilon=1.0, delta=1e-8)
        except hc.errors.DataError as failure:
            print(failure, flush=True)
            os._exit(0)
"""


def test_a_session_that_dies_half_way_is_one_sentence(tmp_path):
    need_java()
    root = str(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    program = textwrap.dedent(DYING).format(root=root, folder=str(tmp_path))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The Spark job failed (")
    assert done.stdout.endswith("so nothing was released. Spark's log says more, maybe with raw data.\n")
