"""Which files Spark is given, and what is refused before it starts."""

import os

import pytest

from hushcount.errors import HushcountError
from hushcount.jobs.spark import files, is_frame
from hushcount.jobs.spark.failures import _sentence


def test_files_are_listed_once_and_patterns_in_names_are_escaped(tmp_path):
    (tmp_path / "a[1]*.csv").write_text("url\npage\n")
    os.link(tmp_path / "a[1]*.csv", tmp_path / "b.csv")
    os.symlink("b.csv", tmp_path / "c.csv")
    found = files._found(str(tmp_path), None)
    assert found.paths == (f"{tmp_path}/a\\[1\\]\\*.csv",)
    assert found.base == str(tmp_path)
    assert files._found(f"{tmp_path}/b.csv", None).base is None


@pytest.mark.parametrize("path", ["s3a://bucket/events.parquet", "hdfs:/events.parquet", "events.parquet"])
def test_what_this_machine_does_not_see_is_left_to_spark(path):
    assert files._found(path, None).paths == (path,)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("_a.csv", "url\n1\n", "Spark ignores files whose names begin with . or _; rename them."),
        ("a.arrow", "x", "The Spark engine reads csv, tsv, jsonl, parquet; give --format."),
        ("a.csv", "", "{path} is empty."),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(HushcountError) as refused:
        files._found(str(path), None)
    assert str(refused.value) == sentence.format(path=path)


def test_a_header_of_several_lines(tmp_path):
    (tmp_path / "a.csv").write_text('"u\nrl",user\n1,2\n')
    found = files._found(str(tmp_path / "a.csv"), None)
    with pytest.raises(HushcountError) as refused:
        files._header(found.inputs[0], found.format)
    assert str(refused.value) == (
        f"{tmp_path}/a.csv has a header of several lines, which the Spark engine cannot read."
    )


def test_frames_are_known_without_pyspark():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})
    assert is_frame(type("More", (frame,), {})())
    assert not is_frame(type("Row", (), {"__module__": "pyspark.sql.types"})())
    assert not any(map(is_frame, (None, [1], "a.csv", frame)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "Traceback\nhushcount.errors.DataError: Column 'hushcount_column0' has text that is odd.\nat x",
            "A key column has text that is odd.",
        ),
        (
            "[MALFORMED_CSV_RECORD] private",
            ("A file has rows that Spark cannot read as CSV: each row must be one line with all columns."),
        ),
        (
            "private",
            "The Spark job failed (ValueError), so nothing was released. Spark's log says more, maybe with"
            " raw data.",
        ),
    ],
)
def test_no_text_of_spark_goes_further(text, sentence):
    assert str(_sentence(ValueError(text))) == sentence
