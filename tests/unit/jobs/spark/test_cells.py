"""Cells that Spark adds up part by part are those of one sketch of all rows."""

import pytest
from tests.spark_session import need_java, spark_session

import hushcount as hc
from hushcount.jobs.request import Request
from hushcount.jobs.run import Run
from hushcount.jobs.spark.cells import count_on_spark

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    need_java()
    with spark_session("local[2]", tmp_path_factory.mktemp("spark")) as session:
        words = session.range(20_000).selectExpr("concat('w', cast(sqrt(id) as int)) AS word", "id")
        yield words.repartition(7)


@pytest.mark.parametrize("kind", [hc.CountMin, hc.CountSketch])
def test_cells_are_those_of_all_rows(frame, kind):
    words = [f"w{int(number**0.5)}" for number in range(20_000)]
    whole = kind(3, 64, seed=b"shared")
    whole.update(words)
    for rows in (frame, frame.repartition(1), frame.filter("id < 0").union(frame)):
        reading = Run(Request(rows, "word", ordered=False).open(), kind(3, 64, seed=b"shared"))
        assert count_on_spark(reading)
        assert (reading.sketch.cells == whole.cells).all()
        assert reading.sketch.total == 20_000


def test_one_row_less_changes_one_cell_of_each_row(frame):
    found = []
    for rows in (frame, frame.filter("id <> 777")):
        reading = Run(Request(rows, "word", ordered=False).open(), hc.CountMin(3, 64, seed=b"shared"))
        count_on_spark(reading)
        found.append(reading.sketch.cells)
    changed = found[0] - found[1]
    assert changed.sum(axis=1).tolist() == [1, 1, 1]
    assert set(changed.ravel().tolist()) == {0, 1}


def test_more_rows_than_the_public_bound_are_refused(frame):
    reading = Run(Request(frame, "word", ordered=False).open(), hc.CountMin(3, 64), max_events=100)
    with pytest.raises(hc.errors.DataError, match=r"^The data hold more than max_events = 100 events"):
        count_on_spark(reading)


def test_other_sources_are_left_to_others():
    assert not count_on_spark(Run(Request(["a"], ordered=False).open(), hc.CountMin(3, 64)))


def test_an_oracle_of_a_frame(frame):
    release = hc.oracle(frame, column="word", epsilon=1.0, delta=1e-8)
    (row,) = release.estimate(["w140"], confidence=1 - 1e-9).to_pylist()
    assert row["lower"] <= 281 <= row["upper"]
    assert "each row of the frame is made from one event" in release.guarantee.assumptions[-1]
    users = hc.oracle(frame, column="word", user="id", max_keys=1, epsilon=1.0)
    assert users.guarantee.unit.name == "user"
