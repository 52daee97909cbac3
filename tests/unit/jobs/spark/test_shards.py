"""What the Spark engine does without Spark: tasks, digests, and words where something is missing."""

import sys

import pyarrow as pa
import pytest
from tests.spark_session import need_java, shard_digests

from hushcount.errors import ParameterError
from hushcount.jobs.spark import files
from hushcount.jobs.spark.release import top
from hushcount.jobs.spark.shards import EVENTS, USERS, ShardSketches, ShardTask, new_sketch
from hushcount.keys.columns import KeyColumns
from hushcount.sketches.kinds import load

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def batches(*parts):
    return iter([pa.RecordBatch.from_pydict({"key": part}) for part in parts])


def sketch_of(task, rows):
    (result,) = list(task(rows))
    return load(result.column("sketch")[0].as_py())


def test_a_task_is_a_function_of_its_rows():
    task = ShardTask(KeyColumns.of("key", "auto").typed([pa.string()]), EVENTS, 2)
    one = sketch_of(task, batches(["a", "a"], ["b", "c"]))
    same = sketch_of(task, batches(["a"], ["a", "b", "c"]))
    other = sketch_of(task, batches(["a", "a"], ["a", "b"]))
    assert one.to_bytes() != same.to_bytes()  # ids and hash keys are their own
    assert shard_digests([one]) == shard_digests([same]) != shard_digests([other])


def test_a_task_of_users_counts_each_once():
    columns = KeyColumns.of("key", "auto").with_user("user").typed([pa.string(), pa.int64()])
    rows = pa.RecordBatch.from_pydict({"key": ["a", "b", "a"], "user": [1, 1, 2]})
    sketch = sketch_of(ShardTask(columns, USERS, 4), iter([rows]))
    assert sketch.estimate(["a", "b"]).tolist() == [2, 1]


@pytest.mark.parametrize("kind", [EVENTS, USERS])
@pytest.mark.parametrize("by_key", [True, False])
def test_public_numbers_do_not_change_with_the_data(kind, by_key):
    whole = ShardSketches(kind, 4, by_key)
    before = whole.public()
    full = new_sketch(kind, 4)
    full.update(pa.array(list("abcdef")), *[pa.array(range(6))] * (kind == USERS))
    whole.update(pa.array([full.to_bytes(), b""]))
    assert whole.public() == before == whole.shape().public()
    assert (whole.total, len(whole.sketches)) == (full.total, 2)


def test_the_digest_sees_the_floor():
    one, other = new_sketch(EVENTS, 2), new_sketch(EVENTS, 2)
    one.update(["a", "b", "c"])
    other.update(["a", "b", "c", "c"])
    assert shard_digests([one]) != shard_digests([other])


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ParameterError) as refused:
        files.read_files("events.parquet", None, ["key"])
    assert str(refused.value) == "The Spark engine needs PySpark 4: in a checkout, run pip install .[spark]."


@pytest.mark.parametrize(
    ("path", "form", "sentence"),
    [
        ("-", "csv", "The Spark engine reads FILE, not standard input or --sql."),
        (None, None, "The Spark engine reads FILE, not standard input or --sql."),
        ("events.txt", None, "The Spark engine reads csv, tsv, jsonl, parquet; give --format."),
        ("events.txt", "lines", "The Spark engine reads csv, tsv, jsonl, parquet; give --format."),
    ],
)
def test_what_it_reads(path, form, sentence):
    with pytest.raises(ParameterError) as refused:
        files.read_files(path, form, ["key"])
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("required", "outcome", "sentence"),
    [
        (
            "",
            pytest.skip.Exception,
            "SPARK WAS NOT TESTED: no Java found; install Java 17 to run these tests.",
        ),
        ("1", pytest.fail.Exception, "HUSHCOUNT_REQUIRE_SPARK is 1, but no Java was found."),
    ],
)
def test_without_java_tests_are_skipped_loudly_or_fail(monkeypatch, tmp_path, required, outcome, sentence):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("HUSHCOUNT_REQUIRE_SPARK", required)
    with pytest.raises(outcome) as stopped:
        need_java()
    assert str(stopped.value) == sentence


def test_what_is_no_frame_is_refused():
    with pytest.raises(ParameterError) as refused:
        top([1, 2], column="key", epsilon=1.0, delta=1e-6)
    assert str(refused.value) == "frame must be a Spark frame, got list."
