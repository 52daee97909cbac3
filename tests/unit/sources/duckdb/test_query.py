"""The files that a query names are known, count once, and give its fingerprint."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.files.fingerprint import Fingerprint
from hushcount.sources.open import open_source

STATED = "header = true, columns = {url: 'VARCHAR', country: 'VARCHAR'}"
CSV_WAY_OUT = (
    "Name the file alone, as in FROM 'a.csv', to read all columns as text, or state them, as in"
    " read_csv('a.csv', header = true, columns = {'url': 'VARCHAR'})."
)
JSON_WAY_OUT = "State them, as in read_json('a.jsonl', columns = {'url': 'VARCHAR'})."


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("d")
    Path("d/a.csv").write_text("url,country\na,FR\n")
    Path("d/b.csv").write_text("url,country\nb,ES\n")


def opened(query):
    return open_source(None, sql=query, column="url")


def refusal(query, kind=DataError):
    with pytest.raises(kind) as caught:
        opened(query)
    assert caught.value.__cause__ is caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT url FROM 'd/a.csv'", ["d/a.csv"]),
        ('FROM "d/a.csv"', ["d/a.csv"]),
        (f"SELECT url FROM read_csv('d/*.csv', {STATED})", ["d/a.csv", "d/b.csv"]),
        (f"SELECT url FROM read_csv(['d/b.csv', $$d/a.csv$$], {STATED})", ["d/b.csv", "d/a.csv"]),
        ("WITH x AS (FROM 'd/b.csv') SELECT url FROM x WHERE url IN (SELECT url FROM 'd/a.csv')", None),
        ("SELECT 'd/a.csv ' AS url", []),
    ],
)
def test_the_files_of_a_query(query, names):
    assert sorted(opened(query).inputs) == sorted(["d/a.csv", "d/b.csv"] if names is None else names)


def test_a_pattern_that_matches_links_to_one_file_is_refused():
    os.symlink("a.csv", "d/soft.csv")
    for pattern in ("d/*.csv", "d/**/*.csv"):
        assert refusal(f"SELECT url FROM '{pattern}'") == (
            f"{pattern} in the SQL query matches several links to one file, whose rows would count twice;"
            " remove the links or name the files."
        )
    assert opened("SELECT url FROM 'd/soft.csv'").inputs == ("d/soft.csv",)
    os.unlink("d/soft.csv")
    os.link("d/a.csv", "d/hard.csv")
    assert "several links to one file" in refusal(f"SELECT url FROM read_csv('d/*.csv', {STATED})")


def test_a_cycle_of_links_is_refused():
    os.symlink(".", "d/loop")
    assert refusal("SELECT url FROM 'd/**/*.csv'") == (
        "d/loop is a link to a folder above it, so files would count many times;"
        " remove the link or name the files otherwise."
    )


def test_a_computed_name_is_refused():
    sentence = "The SQL query must name its files in full, not compute their names."
    assert refusal("SELECT url FROM read_csv('d/' || '*.csv')", ParameterError) == sentence
    assert opened("SELECT 'x' || range AS url FROM range(2 + 3)").inputs == ()


def marks(query):
    return Fingerprint.parse(opened(query).fingerprint)


def test_the_fingerprint_is_of_files_and_question():
    france = marks("SELECT url FROM 'd/*.csv' WHERE country = 'FR'")
    assert france == marks("select  url from 'd/*.csv'\n where country='FR' -- only these")
    spain = marks("SELECT url FROM 'd/*.csv' WHERE country = 'ES'")
    assert not france.repeats(spain)
    assert france.shares_files(spain)
    Path("d/b.csv").write_text("url,country\nb,FR\n")
    assert marks("SELECT url FROM 'd/*.csv' WHERE country = 'FR'") != france


def keys(query):
    return sorted(key for batch in opened(query).batches() for key in batch.keys.to_pylist())


def guess(name, way_out):
    return (
        f"{name} in the SQL query would guess its columns from the rows, so that one row could change how the"
        f" others are read. {way_out}"
    )


@pytest.mark.parametrize(
    ("call", "name", "way_out"),
    [
        ("'d/a.jsonl'", "d/a.jsonl", JSON_WAY_OUT),
        ("'d/*.jsonl'", "d/*.jsonl", JSON_WAY_OUT),
        ("'d/a.json.gz'", "d/a.json.gz", JSON_WAY_OUT),
        ("read_json('d/a.jsonl')", "read_json", JSON_WAY_OUT),
        ("read_json_auto('d/a.jsonl', columns = {url: 'VARCHAR'}, format = 'auto')", "read_json_auto", None),
        ("read_ndjson('d/a.jsonl', columns := {url: 'VARCHAR'}, records := 'AUTO')", "read_ndjson", None),
        ("read_csv('d/a.csv')", "read_csv", CSV_WAY_OUT),
        ("read_csv_auto('d/a.csv', all_varchar = true, quote = '')", "read_csv_auto", CSV_WAY_OUT),
        ("(SELECT * FROM (VALUES (1)) JOIN read_csv('d/a.csv') ON true)", "read_csv", CSV_WAY_OUT),
    ],
)
def test_columns_are_never_guessed(call, name, way_out):
    Path("d/a.jsonl").write_text('{"url": "tea"}\n')
    assert refusal(f"SELECT url FROM {call}", ParameterError) == guess(name, way_out or JSON_WAY_OUT)


@pytest.mark.parametrize("more", ["", '{"url": 5}\n', '{"url": {"a": 1}}\n', '{"url": null}\n{"x": []}\n'])
def test_a_json_row_does_not_change_how_others_are_read(more):
    Path("a.jsonl").write_text('{"url": "tea"}\n' * 3 + more)
    found = keys("SELECT url FROM read_json('a.jsonl', columns = {url: 'VARCHAR'}, auto_detect = true)")
    assert [key for key in found if key == "tea"] == ["tea"] * 3


@pytest.mark.parametrize(
    "more", ["", "'x',1\n", '"a\nb",1\n', "5,1\n", "1;2;3,1\n", "2024-01-01,1\n", "#x,1\n", "url,country\n"]
)
def test_a_csv_row_does_not_change_how_others_are_read(more):
    rows = ["007,1", "'tea',2", '"",3', ",4", "true,5"]
    Path("a.csv").write_text("url,country\n" + more + "\n".join(rows) + "\n")
    own = ["", "'tea'", "007", "true"]
    found = keys("FROM 'a.csv'")
    for key in own:
        found.remove(key)
    assert found == [key for key in [more.rpartition(",")[0].strip('"')] if key]
    assert keys("SELECT a.url FROM 'a.csv' WHERE country = '1' AND url = '007'") == ["007"]


def test_a_file_without_a_query_gives_the_same_keys():
    Path("a.tsv").write_text('url\tcountry\n"a\tb"\t1\n\t2\n""\t3\nNULL\t4\n')
    batches = open_source("a.tsv", column="url").batches()
    assert sorted(key for batch in batches for key in batch.keys.to_pylist()) == keys("FROM 'a.tsv'")


def test_names_of_columns_that_sql_cannot_tell_apart_are_numbered():
    Path("a.csv").write_text("url,URL,,url\na,b,c,d\n")
    assert keys("SELECT url || URL_1 || column2 || url_1_1 AS url FROM a.csv") == ["abcd"]


def test_headers_must_be_equal():
    Path("d/b.csv").write_text("country,url\nES,b\n")
    for query in ("FROM 'd/*.csv'", f"FROM read_csv('d/*.csv', {STATED})"):
        assert refusal(query) == "d/b.csv has another header than d/a.csv; read each file by itself."


def test_types_of_parquet_files_must_be_equal():
    pq.write_table(pa.table({"url": ["007"]}), "d/a.parquet")
    pq.write_table(pa.table({"url": [7]}), "d/b.parquet")
    for query in (
        "FROM 'd/*.parquet'",
        "FROM read_parquet(['d/a.parquet', 'd/b.parquet'], union_by_name = true)",
    ):
        assert refusal(query) == "d/b.parquet has another column type than the files before it."


def test_types_of_folders_are_not_guessed():
    for code in ("01", "1"):
        os.makedirs(f"p/url={code}")
        pq.write_table(pa.table({"n": [1]}), f"p/url={code}/a.parquet")
    query = "FROM read_parquet('p/*/*.parquet', hive_partitioning = true, hive_types_autocast = true)"
    assert keys(query) == ["01", "1"]
    assert "names columns that do not exist" in refusal("SELECT url FROM 'p/*/*.parquet'", ParameterError)


@pytest.mark.parametrize(
    "call", ["query('SELECT 1 AS url')", "query_table('d/a.csv')", "sniff_csv('d/a.csv')", "glob('*')"]
)
def test_functions_that_hide_what_they_read_are_refused(call):
    assert refusal(f"SELECT url FROM {call}", ParameterError) == (
        f"hushcount cannot check what {call.partition('(')[0]} reads; name the file in the SQL query, or read"
        " it by read_csv, read_json or read_parquet."
    )


def test_other_files_are_refused():
    Path("a.csv1").write_text("url\na\n")
    assert refusal("FROM 'a.csv?'", ParameterError) == (
        "a.csv? in the SQL query must be a CSV, TSV or Parquet file."
    )
    assert "does not exist" in refusal("FROM 's3://bucket/a.csv'")


def test_links_to_one_file_count_once_or_are_refused():
    os.link("d/a.csv", "d/link.csv")
    twice = "read_csv in the SQL query would read a file twice; name each file once."
    assert refusal(f"FROM read_csv(['d/a.csv', 'd/link.csv'], {STATED})") == twice
    assert refusal(f"FROM read_csv(['d/a.csv', 'd/a.csv'], {STATED})") == twice
    assert refusal("FROM 'd/a.csv' UNION ALL FROM 'd/link.csv'") == (
        "The SQL query names a file by two links, so its rows would count twice; use one name for it."
    )


def test_a_variable_of_the_program_is_no_table():
    assert "does not exist" in refusal("SELECT url FROM rows", ParameterError)
