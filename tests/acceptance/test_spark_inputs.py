"""Spark reads each value by its own row and file, and whatever fails there says one plain sentence."""

import os
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_session import need_java, spark_session

import hushcount as hc
from hushcount.cli.main import main

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

BUDGET = {"epsilon": 1.0, "delta": 1e-8}
FEW = {"shards": 2, "counters": 64, **BUDGET}
ROW_IDS = (
    "row ids belong to the rows: none depends on other rows or on how Spark splits the data (asserted by the"
    " caller)"
)
ROWS = "each row of the frame is made from one event, whatever the other rows are (asserted by the caller)"


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    need_java()
    with spark_session("local[2]", tmp_path_factory.mktemp("spark")) as session:
        yield session


def command(capfd, path, *options):
    """Exit code, rows of the table and messages of `hushcount top --engine spark`."""
    budget = ["--epsilon", "1", "--delta", "1e-8", "--engine", "spark", "--shards", "2", "--counters", "64"]
    code = main(["top", str(path), *options, *budget])
    said = capfd.readouterr()
    rows = [line.split("\t") for line in said.out.splitlines()[1:] if "\t" in line]
    return code, {row[0]: int(row[1]) for row in rows}, said.err


def refusal(call, *arguments, **options):
    with pytest.raises(hc.errors.HushcountError) as refused:
        call(*arguments, **options)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    return str(refused.value)


def test_a_frame_goes_to_spark(spark):
    frame = spark.range(3000).selectExpr("'tea' AS key", "id % 1500 AS user")
    release = hc.top(frame, column="key", **BUDGET)
    assert release.guarantee.mechanism == "truncated geometric"
    assert release.keys.column("key").to_pylist() == ["tea"]
    users = hc.top(frame, column="key", user="user", max_keys=1, **BUDGET)
    assert users.guarantee.unit.name == "user"
    assert 1300 < users.table.to_pylist()[0]["count"] < 1700


def test_every_job_takes_a_frame(spark):
    frame = spark.range(3000).selectExpr("'tea.example' AS key", "id AS user")
    for user in ({}, {"user": "user", "max_keys": 1}):
        asked = {"column": "key", "epsilon": 1.0, "delta": 1e-8, **user}
        tree = hc.tree(frame, hierarchy="domain", threshold=100, **asked)
        assert tree.nodes.to_pylist() == ["example.tea.·.·"]
        assert "each row of the frame is made from one event" in tree.guarantee.assumptions[-1]
        assert hc.sample(frame, rate=0.5, **asked).keys.column("key").to_pylist() == ["tea.example"]
        assert hc.keys(frame, **asked).keys.column("key").to_pylist() == ["tea.example"]
        kind = {"kind": "count-min"}
        (row,) = hc.oracle(frame, **kind, **asked).estimate(["tea.example"], confidence=1 - 1e-9).to_pylist()
        assert row["lower"] <= 3000 <= (row["upper"] or 3000)


def test_sizes_windows_domains_and_totals(spark):
    frame = spark.range(3000).selectExpr(
        "cast(id % 2 AS string) AS key", "3 AS n", "'2026-11-15T06:00:00Z' AS at"
    )
    asked = {"column": "key", "epsilon": 1.0}
    for sized in ({"weight": "n", "max_weight": 3, "exact": True}, {"times": "n"}):
        counts = hc.top(frame, **asked, **sized, delta=1e-8).table["count"].to_pylist()
        assert all(4300 < count < 4700 for count in counts)
    assert len(hc.top(frame, **asked, delta=1e-8, window="2026-11-15", time="at", other=True)) == 2
    assert len(hc.top(frame, **asked, delta=1e-8, window="2026-11-16", time="at")) == 0
    known = hc.engines.spark.top(frame, **asked, delta=0, domain="1..9", shards=3)
    assert known.keys.column("key").to_pylist()[0] == 1
    assert 0 not in known.keys.column("key").to_pylist()
    users = hc.top(frame, **asked, delta=0, domain=["0", "2"], user="n", max_keys=1, counters=64)
    assert users.guarantee.unit.name == "user"


def test_row_ids_that_spark_numbers_are_refused(spark):
    from pyspark.sql import functions

    frame = spark.range(3000).selectExpr("'tea' AS key", "id")
    sentence = (
        "Column 'line' depends on how Spark splits or orders the data (monotonically_increasing_id, rand,"
        " sample, limit and the like), so one row would change others. Use a value that is stored with each"
        " row."
    )
    numbered = frame.withColumn("line", functions.monotonically_increasing_id())
    numbered.cache()
    drawn = frame.withColumn("line", functions.rand(seed=1))
    counted = frame.withColumn("line", functions.expr("row_number() OVER (ORDER BY key)"))
    for made in (numbered, drawn.withColumn("line", functions.hash("line")), counted):
        assert refusal(hc.engines.spark.top, made, column="key", row_id="line", **FEW) == sentence
        # A column that is not used does no harm.
        hc.engines.spark.top(made, column="key", **FEW)
    release = hc.engines.spark.top(frame, column="key", row_id="id", **FEW)
    assert release.guarantee.assumptions[-2:] == (ROWS, ROW_IDS)


def test_keys_and_rows_that_spark_draws_are_refused(spark):
    from pyspark.sql import functions

    frame = spark.range(3000).selectExpr("'tea' AS key")
    sentence = (
        "The frame depends on how Spark splits or orders the data (monotonically_increasing_id, rand, sample,"
        " limit and the like), so one row would change others. Use values that are stored with each row."
    )
    number = functions.monotonically_increasing_id()
    drawn = [frame.withColumn("key", number), frame.sample(0.9, seed=1), frame.filter(number > 5)]
    for made in (*drawn, frame.limit(2000), frame.offset(5).filter("key <> 'x'")):
        assert refusal(hc.engines.spark.top, made, column="key", **FEW) == sentence


def test_a_column_comes_from_the_header_of_its_own_file(spark, tmp_path, capfd):
    """Spark takes the larger file first; one row more must not swap the columns."""
    (tmp_path / "a.csv").write_text("url,user\n" + "page,alice\n" * 1000)
    for rows in (999, 1001):
        (tmp_path / "b.csv").write_text("more,user,url\n" + "x,alice,page\n" * rows)
        code, table, _ = command(capfd, tmp_path, "--column", "url", "--format", "csv")
        assert code == 0
        assert list(table) == ["page"]
        assert 1900 < table["page"] < 2100


def test_a_column_that_one_file_lacks(spark, tmp_path, capfd):
    (tmp_path / "a.csv").write_text("url,user\n" + "page,alice\n" * 1000)
    (tmp_path / "b.csv").write_text("user,link\n" + "alice,page\n" * 1000)
    code, table, said = command(capfd, tmp_path, "--column", "url", "--format", "csv")
    assert (code, table) == (2, {})
    assert said == "Column 'url' is not in the file; it has: user, link.\n"


def test_frames_that_spark_reads_by_guesses_are_refused(spark, tmp_path):
    (tmp_path / "a.csv").write_text("url,user\n" + "01,alice\n" * 1000)
    (tmp_path / "b.csv").write_text("user,url\n" + "alice,01\n" * 1001)
    by_position = (
        "The frame reads several CSV files by the header of one of them. Read them with enforceSchema=False,"
        " or give the files to hushcount top --engine spark, which finds columns by the header of each file."
    )
    inferred = (
        "The frame is read with inferSchema, so one row can change how others are read. Give the types with"
        " schema, or leave all columns as text."
    )
    unequal = "The CSV files have different headers. Give files that have the same columns in the same order."
    for place, options, sentence in [
        (tmp_path, {"header": True}, by_position),
        (tmp_path, {"header": True, "enforceSchema": False}, unequal),
        (tmp_path / "a.csv", {"header": True, "inferSchema": True}, inferred),
    ]:
        frame = spark.read.csv(str(place), **options).filter("url IS NOT NULL")
        assert refusal(hc.engines.spark.top, frame, column="url", **FEW) == sentence
    frame = spark.read.csv(str(tmp_path / "a.csv"), header=True)
    assert hc.engines.spark.top(frame, column="url", **FEW).keys.column("key").to_pylist() == ["01"]


@pytest.mark.parametrize("more", ["", '{"url": "x"}\n'])
def test_frames_of_json_need_a_schema(spark, tmp_path, more):
    """One text among whole numbers made Spark read all of them as text."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"url": 1}\n' * 1000 + more)
    inferred, stated = spark.read.json(str(path)), spark.read.schema("url string").json(str(path))
    for frame in (inferred, inferred.filter("url IS NOT NULL"), stated.filter("url IS NOT NULL")):
        assert refusal(hc.engines.spark.top, frame, column="url", **FEW) == (
            "The frame reads JSON or XML, whose columns and types Spark guesses from all rows unless they are"
            " given, so one row can change how others are read. Give them with schema and pass the frame as"
            " it is read, or read lines with spark.read.text and take them apart with from_json."
        )
    lines = spark.read.text(str(path)).selectExpr("from_json(value, 'url string').url AS url")
    for frame in (stated, lines):
        assert hc.engines.spark.top(frame, column="url", **FEW).keys.column("key").to_pylist() == ["1"]


def test_frames_of_csv_without_a_header_need_a_schema(spark, tmp_path):
    """The first row says whether there is a second column."""
    (tmp_path / "a.csv").write_text("page,alice\n" * 1000)
    frame = spark.read.csv(str(tmp_path / "a.csv"))
    assert refusal(hc.engines.spark.top, frame, column="_c1", **FEW) == (
        "The frame reads CSV without a header, so its first row says how many columns there are. Give the"
        " columns with schema."
    )
    frame = spark.read.schema("url string, user string").csv(str(tmp_path / "a.csv"))
    assert hc.engines.spark.top(frame, column="url", **FEW).keys.column("key").to_pylist() == ["page"]


@pytest.mark.parametrize("more", [False, True])
def test_frames_with_folders_of_guessed_types_are_refused(spark, tmp_path, more):
    """One row in code=AB moved a count by 500: 01 and 1 were one number, or two texts."""
    for code in ("01", "1", *["AB"] * more):
        (tmp_path / f"code={code}").mkdir()
        rows = 1 if code == "AB" else 500
        pq.write_table(pa.table({"url": ["page"] * rows}), tmp_path / f"code={code}" / "x.parquet")
    frame = spark.read.parquet(str(tmp_path))
    renamed = frame.withColumnRenamed("code", "key").cache()
    for made, column in ((frame, "code"), (renamed, "key"), (frame.filter("code <> '2'"), "url")):
        assert refusal(hc.engines.spark.top, made, column=column, **FEW) == (
            "The frame uses a column that is made of the names of folders, whose type Spark guesses from all"
            " of them. Set spark.sql.sources.partitionColumnTypeInference.enabled to false before the frame"
            " is read."
        )
    assert hc.engines.spark.top(frame, column="url", **FEW).keys.column("key").to_pylist() == ["page"]
    session = spark.newSession()
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    release = hc.engines.spark.top(session.read.parquet(str(tmp_path)), column="code", **FEW)
    assert sorted(release.keys.column("key").to_pylist()) == ["01", "1"]


@pytest.mark.parametrize("rows", ["page,alice\npage\n", '"pa\nge",alice\n'])
def test_rows_that_are_no_csv(spark, tmp_path, capfd, rows):
    """Half a row of two lines must not count as a row."""
    (tmp_path / "a.csv").write_text("url,user\n" + "page,alice\n" * 1000 + rows)
    code, table, said = command(capfd, tmp_path / "a.csv", "--column", "url")
    assert (code, table) == (1, {})
    assert (
        said == "A file has rows that Spark cannot read as CSV: each row must be one line with all columns.\n"
    )


def test_headers_that_spark_makes_hard(spark, tmp_path, capfd):
    text = ",url,URL,other,other\n1,page,x,y,z\n" + "2,,x,y,z\n" * 10 + "3,page,x,y,z\n" * 999
    (tmp_path / "odd [1]{2}*.csv").write_text("\ufeff" + text)
    code, table, _ = command(capfd, tmp_path, "--column", "url", "--format", "csv")
    assert (code, list(table)) == (0, ["page"])
    assert 900 < table["page"] < 1100
    code, _, said = command(capfd, tmp_path, "--column", "other", "--format", "csv")
    assert code == 2
    assert said == "Column 'other' occurs more than once in the file.\n"


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_names_of_partition_folders_are_text(spark, tmp_path, capfd, ending):
    """One row in code=AB made Spark read 01 and 1 as one number, or not."""
    rows = {"csv": ("url\n", "page\n"), "jsonl": ("", '{"url": "page"}\n')}
    for more in (False, True):
        for code in ("01", "1", *["AB"] * more):
            folder = tmp_path / f"code={code}"
            folder.mkdir(exist_ok=True)
            events = 1 if code == "AB" else 1000
            if ending == "parquet":
                pq.write_table(pa.table({"url": ["page"] * events}), folder / "x.parquet")
            else:
                header, row = rows[ending]
                (folder / f"x.{ending}").write_text(header + row * events)
        exit_code, table, _ = command(capfd, tmp_path, "--column", "code", "--format", ending)
        assert (exit_code, sorted(table)) == (0, ["01", "1"])
        assert all(900 < count < 1100 for count in table.values())


def test_a_linked_file_counts_once(spark, tmp_path, capfd):
    (tmp_path / "a.csv").write_text("url\n" + "page\n" * 1000)
    os.link(tmp_path / "a.csv", tmp_path / "b.csv")
    os.symlink("a.csv", tmp_path / "c.csv")
    for path in (tmp_path, f"{tmp_path}/*.csv"):
        code, table, _ = command(capfd, path, "--column", "url", "--format", "csv")
        assert (code, list(table)) == (0, ["page"])
        assert 900 < table["page"] < 1100
    frame = spark.read.csv(str(tmp_path), header=True, enforceSchema=False)
    assert refusal(hc.engines.spark.top, frame, column="url", **FEW) == (
        "The frame reads one file under two names (links), so its rows would count twice. Name the file once."
    )


def test_a_file_that_changes_while_it_is_read(spark, tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"key": ["tea"] * 1000}), path)

    def touched(batches):
        os.utime(path, ns=(1, 1))
        yield from batches

    frame = spark.read.parquet(path).mapInArrow(touched, "key string")
    assert refusal(hc.engines.spark.top, frame, column="key", **FEW) == (
        f"{path} changed while it was read, so nothing was released; run it again."
    )


def test_the_key_of_the_hashes_is_nowhere(spark, capfd):
    """Spark quotes the failing expression, with the run's hash key in it, in exceptions and in its log."""
    frame = spark.range(10).selectExpr("'tea' AS key", "map('a', id) AS row")
    assert refusal(hc.engines.spark.top, frame, column="key", row_id="row", **FEW) == (
        "Column 'row' holds nested values; select one field of them, or cast them to text first."
    )
    said = capfd.readouterr()
    assert not re.search("xxhash64|Traceback|org.apache", said.out + said.err)


def test_what_fails_in_the_frame_is_not_quoted(spark, capfd):
    frame = spark.createDataFrame([("private",)], "text string").selectExpr("CAST(text AS int) AS key")
    assert refusal(hc.engines.spark.top, frame, column="key", **FEW) == (
        "The Spark job failed (NumberFormatException), so nothing was released. Spark's log says more, maybe"
        " with raw data."
    )
    said = capfd.readouterr()
    assert not re.search("private|Traceback|org.apache", said.out + said.err)


def test_text_that_is_no_number_is_named(spark):
    frame = spark.createDataFrame([("private",)], "key string")
    assert refusal(hc.engines.spark.top, frame, column="key", key_type="int", **FEW) == (
        "A key column has values that are not whole numbers (type int)."
    )


def test_keys_that_are_too_long_are_dropped_before_those_of_a_user_are_chosen(spark):
    """Otherwise a long key, which is never published, would take the place of another."""
    frame = spark.range(3000).selectExpr("id AS user", "explode(array('tea', repeat('x', 5000))) AS key")
    release = hc.engines.spark.top(frame, column="key", user="user", max_keys=1, **FEW)
    assert release.keys.column("key").to_pylist() == ["tea"]
    assert 2900 < release.table.to_pylist()[0]["count"] < 3100


def test_text_that_is_not_utf8_is_named(spark):
    frame = spark.range(10).selectExpr("CAST(X'FF' AS string) AS key")
    assert refusal(hc.engines.spark.top, frame, column="key", **FEW) == (
        "A key column has text that is not valid UTF-8."
    )


@pytest.mark.parametrize("zone", ["GMT+05:30", "UTC", "Asia/Kolkata"])
def test_timestamps_are_keys_in_every_zone(spark, tmp_path, zone):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.range(3000).selectExpr("timestamp_micros(1577836800000000) AS key", "'x' AS other")
        single = hc.engines.spark.top(frame, column="key", output=str(tmp_path / "a.csv"), **FEW)
        pair = hc.engines.spark.top(frame, column=["key", "other"], output=str(tmp_path / "b.json"), **FEW)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    for release in (single, pair):
        assert release.keys.schema.field("key").type == pa.timestamp("us", "UTC")
        assert release.keys.column("key").cast(pa.int64()).to_pylist() == [1577836800000000]
    assert "2020-01-01 00:00:00" in (tmp_path / "a.csv").read_text()


def test_timestamps_after_the_year_9999(spark, tmp_path):
    frame = spark.range(3000).selectExpr("timestamp_micros(9223372036854775000) AS key")
    release = hc.engines.spark.top(frame, column="key", output=str(tmp_path / "a.csv"), **FEW)
    assert release.keys.column("key").cast(pa.int64()).to_pylist() == [9223372036854775000]
    assert "+294247-01-10 04:00:54" in (tmp_path / "a.csv").read_text()


def test_the_input_is_not_overwritten(spark, tmp_path, capfd):
    text = "url,user\n" + "page,alice\n" * 1000
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").symlink_to("a.csv")
    code, table, _ = command(
        capfd, tmp_path / "a.csv", "--column", "url", "--output", str(tmp_path / "b.csv")
    )
    assert (code, table) == (2, {})
    assert (tmp_path / "a.csv").read_text() == text


def test_unknown_options_are_refused(spark):
    frame = spark.range(3).selectExpr("'tea' AS key")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        hc.engines.spark.top(frame, column="key", colour="red", **FEW)
