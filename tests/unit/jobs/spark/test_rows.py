"""A Spark frame as a source: its counted keys, kept rows and leaves are what Python makes of the rows."""

import random
from collections import Counter, defaultdict
from itertools import pairwise

import pyarrow as pa
import pytest
from tests.spark_session import need_java, spark_session

from hushcount.errors import DataError, ParameterError
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.jobs.leaves import SortedLeaves
from hushcount.jobs.request import FRAME_ROWS, Request
from hushcount.jobs.spark import arriving
from hushcount.jobs.spark.arriving import Arriving
from hushcount.privacy import EVENT, Guarantee
from hushcount.sources.duckdb.bounding import AllRows, DistinctPairs
from hushcount.sources.duckdb.counted import RowsByHash, counted_keys

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
WORDS = ["tea", "milk", "", "é", "x" * 5000, None]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    need_java()
    with spark_session("local[2]", tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def rows():
    draw = random.Random(1)
    return [
        (draw.choice(WORDS), draw.choice([1, 2, None]), draw.randrange(40), f"10.0.{draw.randrange(3)}.1")
        for _ in range(3000)
    ]


@pytest.fixture(scope="module")
def frame(spark, rows):
    return spark.createDataFrame(rows, "word string, number int, user bigint, place string").repartition(5)


def counted(request):
    return {
        key: int(count)
        for keys, counts in counted_keys(request.open())
        for key, count in zip(keys.to_pylist(), counts, strict=True)
    }


def test_keys_are_counted_by_spark_without_nulls_and_long_ones(frame, rows):
    words = Counter(word for word, *_ in rows if word is not None and len(word) < 5000)
    assert counted(Request(frame, "word", ordered=False)) == words
    numbers = Counter(number for _, number, *_ in rows if number is not None)
    assert counted(Request(frame, "number", ordered=False)) == numbers


def test_several_columns_are_one_key(frame, rows):
    request = Request(frame, ["word", "number"], ordered=False)
    keys, counts = zip(*counted_keys(request.open()), strict=True)
    table = request.open().decode(pa.concat_arrays(keys)).to_pylist()
    numbers = [int(count) for batch in counts for count in batch]
    found = {(row["word"], row["number"]): count for row, count in zip(table, numbers, strict=True)}
    assert len(found) == len(table)
    whole = Counter(
        (word, number) for word, number, *_ in rows if None not in (word, number) and len(word) < 5000
    )
    assert found == whole


def test_what_spark_counts_is_what_its_rows_say(frame):
    source = Request(frame, "word", ordered=False).open()
    plain = Counter(key for batch in source.batches() for key in batch.keys.to_pylist())
    assert plain == counted(Request(frame, "word", ordered=False))
    assert source.grouped().unit == source.unit


@pytest.mark.parametrize("most", [1, 2, 100])
def test_users_keep_different_keys(frame, rows, most):
    bound = DistinctPairs(most)
    request = Request(frame, "word", user="user", bound=bound, ordered=False)
    held = defaultdict(set)
    for word, _, user, _ in rows:
        if word is not None and len(word) < 5000:
            held[user].add(word)
    found = counted(request)
    assert sum(found.values()) == sum(min(most, len(words)) for words in held.values())
    if most == 100:
        assert found == Counter(word for words in held.values() for word in words)
    assert request.open().unit.rows == most


def test_users_come_together_where_a_sketch_needs_them(frame):
    request = Request(frame, "word", user="user", bound=AllRows(3), ordered=False, with_users=True)
    users = [user for batch in request.open().batches() for user in batch.keys.field("user").to_pylist()]
    changes = sum(one != other for one, other in pairwise(users))
    assert changes + 1 == len(set(users)) == 40
    assert set(Counter(users).values()) == {3}


def test_leaves_are_counted_by_spark(frame, rows):
    leaves = SortedLeaves(parse_hierarchy("ipv4/8"), "drop", None)
    leaves.read(Request(frame, "place", ordered=False).open(), None)
    found = [int(count) for batch in leaves.shape().batches() for count in batch.counts]
    assert found == [count for _, count in sorted(Counter(place for *_, place in rows).items())]
    assert leaves.total == 3000


def test_an_order_is_that_of_a_keyed_hash(frame):
    assert isinstance(Request(frame, "word").open(), RowsByHash)


def test_a_frame_is_handed_over_with_an_assertion(frame):
    stated = Guarantee(1.0, 1e-8, EVENT, "floor release", "", "")
    assert Request(frame, "word").assuming(stated).assumptions == (FRAME_ROWS,)
    assert Request(["tea"]).assuming(stated) is stated
    with pytest.raises(ParameterError) as refused:
        Request(frame, "word", format="csv")
    assert str(refused.value) == "sql and format cannot be combined with a Spark frame."
    with pytest.raises(ParameterError) as refused:
        Request("a.db", sql="SELECT 1", engine="spark")
    assert str(refused.value) == "sql and relation cannot be combined with the Spark engine."


def test_moments_and_large_types_arrive_as_they_are(spark):
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        frame = spark.sql("SELECT timestamp'2020-01-01 00:00:00+02:00' AS time, 'tea' AS word FROM range(3)")
        found = pa.Table.from_batches(Arriving(frame).batches())
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    assert found.schema.types == [pa.timestamp("us", "UTC"), pa.large_string()]
    assert found["time"][0].as_py().isoformat() == "2019-12-31T22:00:00+00:00"
    assert found["word"].to_pylist() == ["tea"] * 3


def test_frames_of_a_server_are_sent_as_arrow_data(frame, rows, monkeypatch):
    """Spark Connect has no plan to see: its frames have one way to hand over Arrow data."""
    monkeypatch.setattr(arriving, "shows_plan", lambda frame: False)
    numbers = Counter(number for _, number, *_ in rows if number is not None)
    assert counted(Request(frame, "number", ordered=False)) == numbers


def test_nothing_is_kept_with_the_executors(spark, frame):
    counted(Request(frame, "word", ordered=False))
    next(iter(Arriving(frame).batches()))
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_a_part_that_is_too_large_for_the_driver_says_so():
    with pytest.raises(DataError) as refused:
        arriving.on_spark(_too_large)()
    assert str(refused.value).startswith("A part of the rows is larger than spark.driver.maxResultSize lets")


def _too_large():
    raise RuntimeError(
        "Total size of serialized results is bigger than spark.driver.maxResultSize: a raw key"
    )
