"""A stopped run continues exactly where it was, and only with the same data and sketch."""

import os
import signal
from pathlib import Path

import duckdb
import pytest

import hushcount as hc
from hushcount.errors import DataError, ParameterError, SketchFileError
from hushcount.jobs import checkpoints
from hushcount.jobs.checkpoints import Origin, Position
from hushcount.jobs.choices import SketchSize
from hushcount.jobs.request import Request
from hushcount.jobs.run import open_run
from hushcount.jobs.settings import ReleaseSettings, new_sketch
from hushcount.jobs.sketch_files import release_sketches, write_sketch
from hushcount.sources.open import open_source

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ROWS = 600_000
FIELD = "CASE WHEN i % 7 = 0 THEN NULL ELSE 'key' || (hash(i) % 1000 * (hash(i) % 1000) // 900) END"


ANOTHER_SKETCH = (
    "run.hc was saved for another sketch (mechanism, hierarchy, counters or budget), so it"
    " cannot be resumed. Delete it to start again."
)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    duckdb.sql(f"COPY (SELECT {FIELD} AS item, i AS n FROM range({ROWS}) r(i)) TO 'a.parquet'")


def stop_after(batches):
    """A progress function that interrupts a run."""
    seen = []

    def progress(_done, _size):
        seen.append(1)
        if len(seen) == batches:
            os.kill(os.getpid(), signal.SIGINT)

    return progress


def sketch_of(request, **options):
    write_sketch(request, "out.hc", size=SketchSize(counters=200), **options)
    return hc.load("out.hc")


def equal(one, other):
    """The same candidates, counts and floor."""
    left, right = one.shape(), other.shape()
    assert dict(zip(left.keys.to_pylist(), left.counts.tolist(), strict=True)) == dict(
        zip(right.keys.to_pylist(), right.counts.tolist(), strict=True)
    )
    assert (left.floor, one.total) == (right.floor, other.total)
    return True


@pytest.mark.parametrize("stop", [1, 2, 4])
def test_interrupted_and_continued(stop):
    request = Request("a.parquet", "item")
    with pytest.raises(KeyboardInterrupt):
        sketch_of(request, checkpoint="run.hc", progress=stop_after(stop))
    assert os.stat("run.hc").st_mode & 0o777 == 0o600
    assert not os.path.exists("out.hc")
    stopped, position = hc.load("run.hc"), checkpoints.Checkpoint(Path("run.hc")).restore()[1]
    assert 0 < stopped.total < position.rows < ROWS
    continued = sketch_of(request, checkpoint="run.hc")
    assert not os.path.exists("run.hc")
    assert equal(continued, sketch_of(request))


def test_saved_every_few_seconds(monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    seen = []

    def progress(_done, _size):
        seen.append(os.path.exists("run.hc"))

    hc.top("a.parquet", column="item", checkpoint="run.hc", progress=progress, **BUDGET)
    assert seen[0] is False
    assert all(seen[1:])
    assert not os.path.exists("run.hc")


def test_sql_keeps_its_order():
    request = Request(sql="SELECT item FROM 'a.parquet'", column="item")
    with pytest.raises(KeyboardInterrupt):
        sketch_of(request, checkpoint="run.hc", progress=stop_after(2))
    order = dict(checkpoints.Checkpoint(Path("run.hc")).restore()[1].state)
    continued = sketch_of(request, checkpoint="run.hc")
    whole = hc.SpaceSaving(counters=200)
    for batch in open_source(None, sql=request.sql, column="item", state=order).batches():
        whole.update(batch.keys)
    assert equal(continued, whole)


def stopped_run():
    with pytest.raises(KeyboardInterrupt):
        hc.top(
            "a.parquet", column="item", counters=200, checkpoint="run.hc", progress=stop_after(1), **BUDGET
        )


def test_other_data_is_refused():
    stopped_run()
    text = (
        "run.hc was saved for other data (file, modification time, column, type or query), so it"
        " cannot be resumed. Delete it to start again."
    )
    for options in ({"column": "n"}, {"column": "item", "key_type": "text"}):
        with pytest.raises(DataError) as caught:
            hc.top("a.parquet", counters=200, checkpoint="run.hc", **options, **BUDGET)
        assert str(caught.value) == text
    os.utime("a.parquet", (1, 1))
    with pytest.raises(DataError) as caught:
        hc.top("a.parquet", column="item", counters=200, checkpoint="run.hc", **BUDGET)
    assert str(caught.value) == text
    assert os.path.exists("run.hc")


@pytest.mark.parametrize("asked", [{"data": "a.csv"}, {"sql": "SELECT item FROM 'a.csv'"}])
def test_data_whose_modification_time_was_put_back_are_refused(asked):
    duckdb.sql("COPY (SELECT item FROM 'a.parquet') TO 'a.csv'")
    request = Request(**asked, column="item")
    with pytest.raises(KeyboardInterrupt):
        sketch_of(request, checkpoint="run.hc", progress=stop_after(2))
    status = os.stat("a.csv")
    unsampled = status.st_size // 15 * 7 + 20_000
    with open("a.csv", "r+b") as stream:
        stream.seek(unsampled)
        stream.write(b"x")
    os.utime("a.csv", ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(DataError) as caught:
        sketch_of(request, checkpoint="run.hc")
    assert str(caught.value) == (
        "run.hc was saved before its data were changed, although their modification time says otherwise,"
        " so it cannot be resumed. Delete it to start again."
    )


def test_data_that_were_moved_can_be_resumed():
    duckdb.sql("COPY (SELECT item FROM 'a.parquet') TO 'a.csv'")
    with pytest.raises(KeyboardInterrupt):
        sketch_of(Request("a.csv", column="item"), checkpoint="run.hc", progress=stop_after(2))
    os.rename("a.csv", "b.csv")
    moved = Request("b.csv", column="item")
    assert equal(sketch_of(moved, checkpoint="run.hc"), sketch_of(moved))


def test_another_sketch_is_refused():
    stopped_run()
    text = ANOTHER_SKETCH
    for options in (
        {"counters": 201},
        {"counters": 200, "mechanism": "pmg"},
        {"mechanism": "laplace-threshold"},
        {"threads": 2},
    ):
        with pytest.raises(DataError) as caught:
            hc.top("a.parquet", column="item", checkpoint="run.hc", **options, **BUDGET)
        assert str(caught.value) == text


def test_threads_go_on_with_the_same_number_only():
    asked = {"column": "item", "checkpoint": "run.hc", "counters": 200, **BUDGET}
    with pytest.raises(KeyboardInterrupt):
        hc.top("a.parquet", threads=2, progress=stop_after(1), **asked)
    with pytest.raises(DataError) as caught:
        hc.top("a.parquet", threads=4, **{**asked, "counters": 400})
    assert str(caught.value) == ANOTHER_SKETCH
    assert hc.top("a.parquet", threads=2, **asked).guarantee.parameters["shards"] == 2


def test_another_envelope_is_refused_before_counting():
    """Another kind or budget needs other cells, which a release would refuse only at the end."""
    common = {"column": "item", "checkpoint": "run.hc", "counters": 200, "max_events": ROWS, "delta": 1e-6}
    with pytest.raises(KeyboardInterrupt):
        hc.top("a.parquet", mechanism="count-min-envelope", epsilon=1.0, progress=stop_after(1), **common)
    for mechanism, epsilon in (("count-min-envelope", 0.1), ("count-sketch-envelope", 1.0)):
        with pytest.raises(DataError) as caught:
            hc.top("a.parquet", mechanism=mechanism, epsilon=epsilon, **common)
        assert str(caught.value) == ANOTHER_SKETCH
    hc.top("a.parquet", mechanism="count-min-envelope", epsilon=1.0, **common)


def test_an_unfinished_run_is_not_released():
    stopped_run()
    with pytest.raises(DataError) as caught:
        release_sketches(["run.hc"], ReleaseSettings(**BUDGET))
    assert str(caught.value) == "run.hc is the checkpoint of an unfinished run; finish that run first."


def test_not_a_checkpoint():
    sketch = hc.SpaceSaving(counters=200)
    sketch.update(["a"])
    sketch.save("plain.hc")
    with pytest.raises(ParameterError) as caught:
        hc.top("a.parquet", column="item", checkpoint="plain.hc", **BUDGET)
    assert str(caught.value) == "plain.hc is a sketch file without a position, not a checkpoint."
    sketch.save("odd.hc", position={"rows": 1})
    with pytest.raises(SketchFileError) as caught:
        hc.top("a.parquet", column="item", checkpoint="odd.hc", **BUDGET)
    assert str(caught.value) == "odd.hc has a position that this version cannot read."


def test_a_failed_output_keeps_the_checkpoint(monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)

    def full(*_, **__):
        raise DataError("Cannot write t.csv: no space left on device.")

    monkeypatch.setattr(hc.Release, "prepare", full)
    with pytest.raises(DataError):
        hc.top("a.parquet", column="item", checkpoint="run.hc", output="t.csv", **BUDGET)
    assert os.path.exists("run.hc")


def test_position_there_and_back():
    run = open_run(Request("a.parquet", ["item", "n"]), new_sketch("space-saving", 10), None)
    position = run.position()
    assert Position.from_dict(position.to_dict(), "x") == position
    assert Origin.from_dict(Origin.of(run.source).to_dict()) == Origin.of(run.source)
