"""The Spark engine against real Spark: the same result whatever happens to the tasks.

Each process that runs some of these tests has its own session; the last two tests end it and start others.
"""

import os
import signal
import time
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_session import need_java, shard_digests, shard_sketches, spark_cluster, spark_session

import hushcount as hc
from hushcount.cli.main import main

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

BUDGET = {"epsilon": 1.0, "delta": 1e-8}
SECRET = 0x5EED
SHARDS, COUNTERS = 8, 256
ROWS = 200_000


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    need_java()
    # Two cores; a task may fail three times before the job does.
    with spark_session("local[2,4]", tmp_path_factory.mktemp("spark")) as session:
        yield session


def events(session, rows):
    """Keys 1, 2, ... with frequencies like log(1 + 1/key), and 5000 users; a function of the row number."""
    from pyspark.sql import functions

    uniform = functions.xxhash64("id").bitwiseAND((1 << 53) - 1) / float(1 << 53)
    key = functions.floor(functions.pow(functions.lit(1e6), uniform))
    return session.range(0, rows, numPartitions=8).select(
        "id", key.alias("key"), (key * 0 + functions.col("id") % 5000).alias("user")
    )


def sketches(frame, build=None, **rule):
    from hushcount.jobs.choices import Partitioning
    from hushcount.jobs.spark import columns
    from hushcount.jobs.spark import shards as engine
    from hushcount.keys.columns import KeyColumns

    columns = columns.key_columns(frame, KeyColumns.of("key", "auto"))
    task = engine.ShardTask(columns, engine.EVENTS, COUNTERS)
    wrapped = build(task) if build is not None else None
    return shard_sketches(frame, task, Partitioning(SHARDS, **rule), secret=SECRET, build=wrapped)


def digests(frame, build=None, **rule):
    return shard_digests(sketches(frame, build, **rule))


def test_the_head_of_20_million_rows(spark, tmp_path):
    frame = events(spark, 20_000_000).select("key")
    frame.write.parquet(str(tmp_path / "events"))
    stored = spark.read.parquet(str(tmp_path / "events"))
    there = hc.engines.spark.top(stored, column="key", shards=SHARDS, counters=4096, **BUDGET)
    here = hc.top(f"{tmp_path}/events/*.parquet", column="key", counters=4096, **BUDGET)
    assert there.limit(20).keys.column("key").to_pylist() == here.limit(20).keys.column("key").to_pylist()
    assert there.guarantee.mechanism == "floor release of key shards"
    assert there.guarantee.parameters["shards"] == SHARDS
    keys = pq.read_table(tmp_path / "events", filters=[("key", "<=", 20)])["key"]
    exact = Counter(keys.to_numpy().tolist())
    table = there.limit(20).at_confidence(1 - 1e-9).table.to_pylist()
    assert all(row["lower"] <= exact[row["key"]] <= row["upper"] for row in table)


def test_a_killed_worker_changes_nothing(spark, tmp_path):
    frame = events(spark, ROWS)
    marker = str(tmp_path / "killed")

    def killed_once(task):
        def build(batches):
            def dying(batches):
                for index, batch in enumerate(batches):
                    if index == 1:  # in the middle of a shard
                        try:
                            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                        except FileExistsError:
                            pass
                        else:
                            os.kill(os.getpid(), signal.SIGKILL)
                    yield batch

            yield from task(dying(batches))

        return build

    plain = digests(frame)
    assert len(set(plain)) == SHARDS
    assert digests(frame, killed_once) == plain
    assert os.path.exists(marker)


def test_one_removed_row_changes_one_shard(spark):
    frame = events(spark, ROWS)
    for rule in ({}, {"row_id": "id"}):
        whole, without = digests(frame, **rule), digests(frame.filter("id != 77777"), **rule)
        assert sum(one != other for one, other in zip(whole, without, strict=True)) == 1


def test_the_driver_holds_shards_times_counters(spark):
    found = sketches(events(spark, ROWS))
    assert len(found) == SHARDS
    assert all(len(sketch.shape().keys) <= COUNTERS for sketch in found)
    assert sum(len(sketch.to_bytes()) for sketch in found) <= SHARDS * (COUNTERS * 16 + 1024)
    assert sum(sketch.total for sketch in found) == ROWS


def test_a_shard_without_rows_is_a_shard(spark):
    few = spark.range(3000).selectExpr("'tea' AS key")
    release = hc.engines.spark.top(few, column="key", shards=5, **BUDGET)
    assert release.keys.column("key").to_pylist() == ["tea"]
    assert release.guarantee.parameters["shards"] == 5
    assert release.guarantee.mechanism == "floor release of key shards"
    dealt = hc.engines.spark.top(few.withColumn("id", few["key"]), column="key", row_id="id", **BUDGET)
    assert dealt.guarantee.mechanism == "shard release"
    assert not dealt.error.apart


@pytest.mark.parametrize("mechanism", ["shards", "gaussian"])
def test_users(spark, mechanism):
    from pyspark.sql import functions

    users = spark.range(4000).select(functions.col("id").alias("user"))
    keys = functions.explode(functions.array(*map(functions.lit, ["tea", "tea", "milk", "salt"])))
    frame = users.select("user", keys.alias("key"))
    options = {"user": "user", "max_keys": 3, "shards": 4, "counters": 64, "mechanism": mechanism}
    release = hc.engines.spark.top(frame, column="key", **options, **BUDGET)
    assert release.guarantee.unit.name == "user"
    assert sorted(release.keys.column("key").to_pylist()) == ["milk", "salt", "tea"]
    for row in release.at_confidence(1 - 1e-9).table.to_pylist():
        assert row["lower"] <= 4000
        assert row["upper"] is None or row["upper"] >= 4000


def test_each_user_is_cut(spark):
    from hushcount.jobs.spark import columns
    from hushcount.jobs.spark import shards as engine
    from hushcount.keys.columns import KeyColumns
    from hushcount.sources.duckdb.bounding import AllRows, DistinctPairs

    rows = [(user, f"k{i % 7}") for user in range(50) for i in range(20)] + [(None, "k1"), (1, None)]
    frame = spark.createDataFrame(rows, "user int, key string")
    columns = columns.key_columns(frame, KeyColumns.of("key", "auto").with_user("user"))
    pairs = [tuple(row) for row in engine.bounded(frame, columns, DistinctPairs(3)).collect()]
    assert len(set(pairs)) == len(pairs) == 150
    assert set(Counter(user for _, user in pairs).values()) == {3}
    kept = [tuple(row) for row in engine.bounded(frame, columns, AllRows(5)).collect()]
    assert Counter(user for _, user in kept) == dict.fromkeys(range(50), 5)


@pytest.mark.parametrize("mechanism", ["shards", "gaussian"])
def test_text_read_as_numbers_is_one_key_of_a_user(spark, mechanism):
    """The same number in three spellings: a user still counts once, and the key lies in one shard."""
    frame = spark.range(4000).selectExpr("id AS user", "explode(array('7', ' 7', '007')) AS key")
    options = {"user": "user", "max_keys": 3, "shards": 4, "counters": 16, "mechanism": mechanism}
    release = hc.engines.spark.top(frame, column="key", key_type="int", **options, **BUDGET)
    assert release.keys.column("key").to_pylist() == [7]
    assert release.at_confidence(1 - 1e-9).table.to_pylist()[0]["lower"] <= 4000
    assert 3500 < release.table.to_pylist()[0]["count"] < 4500


def test_names_and_types_that_spark_makes_hard(spark):
    frame = spark.range(3000).selectExpr(
        "id AS `u.v`", "'a' AS `k.x``y`", "timestamp'2020-01-01 00:00:00' AS hushcount_hash"
    )
    for column in ("k.x`y", "hushcount_hash", ["k.x`y", "hushcount_hash"]):
        options = {"user": "u.v", "max_keys": 1, "shards": 2, "counters": 16}
        release = hc.engines.spark.top(frame, column=column, **options, **BUDGET)
        assert len(release) == 1
        assert set(release.keys.column_names) == ({"key"} if isinstance(column, str) else set(column))
    dealt = hc.engines.spark.top(frame, column="hushcount_hash", row_id="u.v", shards=2, **BUDGET)
    assert dealt.keys.column("key")[0].as_py().year == 2020


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        (
            "collate('tea', 'UTF8_LCASE') AS key",
            "Column 'key' compares text by a collation; collate it by UTF8_BINARY first.",
        ),
        ("'tea' AS key|'milk' AS KEY", "The frame has key columns whose names Spark does not tell apart."),
        (
            "double(id) AS key",
            "Column 'key' holds floating point numbers; bin or round them to whole numbers first.",
        ),
    ],
)
def test_columns_that_cannot_be_keys(spark, expression, sentence):
    """Equal under a collation is not equal in a sketch: which spelling is kept would depend on the order."""
    frame = spark.range(10).selectExpr(*expression.split("|"))
    with pytest.raises(hc.errors.HushcountError) as refused:
        hc.engines.spark.top(frame, column="key", **BUDGET)
    assert str(refused.value) == sentence


def test_files_as_shards_only_on_the_word_of_the_caller(spark, tmp_path):
    for name in ("de", "fr"):
        pq.write_table(pa.table({"key": [name] * 2000 + ["tea"] * 2000}), tmp_path / f"{name}.parquet")
    frame = spark.read.parquet(str(tmp_path))
    release = hc.engines.spark.top(
        frame, column="key", shards=4, partition_by="file", files_cut_by="country", **BUDGET
    )
    assert release.guarantee.assumptions[-1] == (
        "files are cut by country, an attribute of the row, not by count or size (asserted by the caller)"
    )
    assert set(release.keys.column("key").to_pylist()) == {"tea", "de", "fr"}
    filtered = hc.engines.spark.top(
        frame.filter("key <> 'de'"), column="key", partition_by="file", files_cut_by="country", **BUDGET
    )
    assert set(filtered.keys.column("key").to_pylist()) == {"tea", "fr"}
    memory = spark.createDataFrame([("tea",)], "key string")
    # There Spark no longer knows the file of a row, only the one that is being read.
    changed = frame.mapInArrow(lambda batches: batches, "key string")
    joined = frame.join(frame.select("key").distinct(), "key")
    for lost in (memory, changed, joined):
        with pytest.raises(hc.errors.ParameterError) as refused:
            hc.engines.spark.top(lost, column="key", partition_by="file", files_cut_by="country", **BUDGET)
        assert str(refused.value) == (
            'partition_by="file" needs a frame as it is read from files, without joins or Python in between.'
        )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"column": "url"}, "Column 'url' is not in the frame; it has: key, user."),
        ({"user": "who", "max_keys": 2}, "Column 'who' is not in the frame; it has: key, user."),
        ({"user": "user"}, "max_keys must be given with user to count users; it has no default."),
        ({"user": "user", "max_keys": 0}, "max_keys must be at least 1, got 0."),
        ({"row_id": "line"}, "Column 'line' is not in the frame; it has: key, user."),
        (
            {"user": "user", "max_keys": 2, "row_id": "key"},
            "Rows are assigned to shards by one rule, got user and row_id.",
        ),
        ({"column": ["key", "user"], "domain": "1..9", "delta": 0}, "domain is for one key column, got 2."),
        (
            {"domain": f"1..{2**64 - 1}", "delta": 0},
            "Spark has no whole numbers above 2^63 - 1, so domain must not reach beyond.",
        ),
        ({"domain": [b"tea"], "delta": 0}, "domain holds binary, keys are string."),
        (
            {"user": "user", "max_keys": 2, "exact": True, "shards": 4},
            "exact cannot be combined with a rule for shards, which takes sketches; leave one out.",
        ),
        (
            {"exact": True, "counters": 64},
            "exact cannot be combined with counters, which takes sketches; leave one out.",
        ),
        ({"counters": 1}, "counters must be at least 2, got 1."),
    ],
)
def test_bad_input(spark, options, sentence):
    frame = spark.createDataFrame([("tea", 1)], "key string, user int")
    with pytest.raises(hc.errors.HushcountError) as refused:
        hc.engines.spark.top(frame, **{"column": "key", **BUDGET, **options})
    assert str(refused.value) == sentence


def test_a_failed_job_does_not_quote_the_data(spark):
    frame = spark.createDataFrame([("private",)], "key string")
    with pytest.raises(hc.errors.DataError) as refused:
        hc.engines.spark.top(frame, column="key", key_type="int", shards=1, **BUDGET)
    assert "private" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_the_command(spark, tmp_path, capfd, ending):
    path = tmp_path / f"events.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"key": ["tea"] * 3000 + ["salt"]}), path)
    elif ending == "csv":
        path.write_text("key\n" + "tea\n" * 3000 + "salt\n")
    else:
        path.write_text('{"key": "tea"}\n' * 3000 + '{"key": "salt"}\n')
    budget = ["--epsilon", "1", "--delta", "1e-8"]
    code = main(["top", str(path), "--column", "key", "--engine", "spark", "--shards", "3", *budget])
    lines = capfd.readouterr().out.splitlines()
    assert code == 0
    assert [line.split("\t")[0] for line in lines if "\t" in line] == ["key", "tea"]


def test_one_core_counts_the_same(spark, tmp_path):
    two = digests(events(spark, ROWS))
    spark.stop()
    with spark_session("local[1]", tmp_path) as session:
        one = digests(events(session, ROWS))
    assert one == two


def test_speculation_counts_once(tmp_path):
    """The first attempt at one shard sleeps until its copy, on another host, has run."""
    need_java()
    settings = {
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.efficiency.enabled": "false",
        "spark.executor.memory": "512m",
    }
    log, done = str(tmp_path / "attempts"), str(tmp_path / "done")

    def slow_once(task):
        def build(batches):
            from pyspark import TaskContext

            context = TaskContext.get()
            shard, attempt = context.partitionId(), context.attemptNumber()
            yield from task(batches)
            with open(log, "a") as lines:
                lines.write(f"{shard} {attempt}\n")
            for _ in range(600 if (shard, attempt) == (SHARDS - 1, 0) else 0):
                if os.path.exists(done):
                    break
                time.sleep(0.1)
            if (shard, attempt) == (SHARDS - 1, 1):
                os.close(os.open(done, os.O_CREAT))

        return build

    with spark_cluster(tmp_path) as master, spark_session(master, tmp_path, **settings) as session:
        frame = events(session, ROWS // 10)
        found = sketches(frame, slow_once)
        plain = digests(frame)
    assert shard_digests(found) == plain
    assert sum(sketch.total for sketch in found) == ROWS // 10
    with open(log) as lines:
        assert f"{SHARDS - 1} 1" in lines.read().splitlines()
