"""On Spark, without one row the counts lack that row and nothing else, or both data sets are refused."""

import json
import os
import random
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_session import need_java, plain_keys, shard_digests, shard_sketches, spark_session

from hushcount.errors import HushcountError
from hushcount.jobs.choices import Partitioning
from hushcount.jobs.spark.columns import key_columns, renamed
from hushcount.jobs.spark.files import read_files
from hushcount.jobs.spark.shards import EVENTS, ShardTask, bounded
from hushcount.keys.columns import KeyColumns
from hushcount.sources.duckdb.bounding import AllRows, DistinctPairs

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SECRET, SHARDS, COUNTERS, ROWS = 0x5EED, 3, 64, 40
# A type of Spark, and values of it that other readers have taken for one another.
KINDS = {
    "string": ["'01'", "'1'", "' 1'", "'1.0'", "'é'", "'e\u0301'", "''", "'null'", "NULL"],
    "bigint": ["1", "01", "-1", "9223372036854775807", "NULL"],
    "date": ["DATE'2020-01-01'", "DATE'0001-01-01'", "DATE'9999-12-31'", "NULL"],
    "timestamp": ["TIMESTAMP'2020-01-01 00:00:00'", "TIMESTAMP_MICROS(9223372036854775000)", "NULL"],
    "timestamp_ntz": ["TIMESTAMP_NTZ'2020-01-01 00:00:00'", "TIMESTAMP_NTZ'2020-01-01 00:00:00.000001'"],
    "boolean": ["true", "false", "NULL"],
    "binary": ["X'00'", "X''", "X'FF'", "NULL"],
    "double": ["1.0D", "1.5D"],
    "decimal(4,1)": ["1.0", "2.0"],
}
TEXTS = ["01", "1", "1.0", "true", "NA", 'a"b', "a,b", "é", " 1", "2020-01-01", ""]
VALUES = [1, 1.0, "1", "01", True, None, "true", {"a": 1}, [1], "é", 1 << 60]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    need_java()
    with spark_session("local[2]", tmp_path_factory.mktemp("spark")) as session:
        yield session


def counted(frame, names, **rule):
    """The digests of the shards, and all counts; there are more counters than keys. Or the refusal."""
    try:
        columns = key_columns(frame, KeyColumns.of(names, "auto"))
        frame, columns, rule = renamed(frame, columns, Partitioning(SHARDS, **rule))
        sketches = shard_sketches(frame, ShardTask(columns, EVENTS, COUNTERS), rule, secret=SECRET)
    except HushcountError as refusal:
        return str(refusal)
    counts = Counter()
    for sketch in sketches:
        shape = sketch.shape()
        counts.update(dict(zip(plain_keys(shape.keys), shape.counts.tolist(), strict=True)))
    return shard_digests(sketches), counts


def check_one_row(whole, without):
    """One key lacks one event, in one shard, and nothing else differs."""
    if isinstance(whole, str) or isinstance(without, str):
        assert whole == without
        return
    assert sum(one != other for one, other in zip(whole[0], without[0], strict=True)) <= 1
    assert whole[1] - without[1] in [Counter(), *(Counter([key]) for key in whole[1])]
    assert not without[1] - whole[1]


def events(spark, draw):
    """A frame of one or two columns of random types, with a number for each row, and the column names."""
    kinds = draw.choices(list(KINDS), k=draw.choice((1, 2)))
    rows = [
        [f"CAST({draw.choice(KINDS[kind])} AS {kind})" for kind in kinds] + [str(line), str(line % 5)]
        for line in range(ROWS)
    ]
    names = [f"column{index}" for index in range(len(kinds))]
    listed = ", ".join(f"({', '.join(row)})" for row in rows)
    return spark.sql(f"SELECT * FROM VALUES {listed}").toDF(*names, "line", "user"), names


@pytest.mark.parametrize("seed", range(5))
def test_frames(spark, seed):
    """Columns of random types, counted by key and by row id."""
    draw = random.Random(seed)
    frame, names = events(spark, draw)
    without = frame.filter(f"line <> {draw.randrange(ROWS)}")
    rule = {"row_id": "line"} if seed % 2 else {}
    column = names[0] if len(names) == 1 else names
    check_one_row(counted(frame, column, **rule), counted(without, column, **rule))


@pytest.mark.parametrize("seed", range(2))
def test_users(spark, seed):
    """Without one row, what is kept of the other users is the same."""
    draw = random.Random(seed)
    frame, names = events(spark, draw)
    line = draw.randrange(ROWS)
    bound = AllRows(2) if seed else DistinctPairs(2)
    columns = KeyColumns.of(names, "auto").with_user("user")
    kept = [
        Counter(row[0] for row in others.selectExpr("xxhash64(*)").collect())
        for rows in (frame, frame.filter(f"line <> {line}"))
        for others in [bounded(rows, columns, bound, SECRET).filter(f"user <> {line % 5}")]
    ]
    assert kept[0] == kept[1] != Counter()


def write_csv(folder, rows):
    """Two files with their columns in different orders."""
    for part, header in enumerate((["url", "user"], ["user", "more", "url"])):
        lines = [
            ",".join('"' + row["url"].replace('"', '""') + '"' if name == "url" else name for name in header)
            for row in rows
            if row["file"] == part
        ]
        (folder / f"{part}.csv").write_text("\n".join([",".join(header), *lines]) + "\n")


def write_jsonl(folder, rows):
    for part in (0, 1):
        lines = [json.dumps({"url": row["value"], "x": 1}) for row in rows if row["file"] == part]
        (folder / f"{part}.jsonl").write_text("".join(f"{line}\n" for line in lines))


def write_parquet(folder, rows):
    """The key is the name of a folder; one row decides whether some folder exists."""
    for name in {row["folder"] for row in rows}:
        part = folder / f"url={name}"
        os.mkdir(part)
        count = sum(row["folder"] == name for row in rows)
        pq.write_table(pa.table({"x": [1] * count}), part / "a.parquet")


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_parquet])
def test_files(spark, tmp_path, write):
    """Values that a guess of types, from the header or from other rows, would take for one another."""
    draw = random.Random(7)
    rows = [
        {
            "file": draw.randrange(2),
            "url": draw.choice(TEXTS),
            "value": draw.choice(VALUES),
            "folder": draw.choice(["01", "1"]),
        }
        for _ in range(ROWS)
    ]
    removed = rows[11]
    removed["folder"], removed["value"], removed["url"] = "AB", "x", "x"
    found = []
    for name in ("whole", "without"):
        folder = tmp_path / name
        os.mkdir(folder)
        write(folder, [row for row in rows if name == "whole" or row is not removed])
        found.append(counted(read_files(str(folder), None, ["url"]), "url"))
    check_one_row(*found)
    assert sum(found[0][1].values()) == sum(found[1][1].values()) + 1
