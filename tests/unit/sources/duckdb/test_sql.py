"""A SQL result comes in the order of a keyed hash of the row; nothing of DuckDB's errors gets out."""

import os
import stat
import tempfile
import threading

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushcount as hc
from hushcount import privacy
from hushcount.errors import DataError, ParameterError
from hushcount.sources.open import open_source


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"url": [f"k{i % 50}" for i in range(5000)], "n": range(5000)}), path)
    return path


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def keys_of(source, skip=0):
    return [key for batch in source.batches(skip) for key in batch.keys.to_pylist()]


def test_result_and_its_unit(events, temporary):
    source = open_source(None, sql=f"SELECT url FROM '{events}' -- comment; of mine\n WHERE n < 1000;")
    assert sorted(keys_of(source)) == sorted(f"k{i % 50}" for i in range(1000))
    assert source.unit is privacy.RESULT_ROW
    assert source.notes == (
        "The unit is one row of the SQL result.",
        "Null keys are dropped.",
        "Keys longer than 4096 bytes are dropped.",
    )
    assert source.key_names == ("key",)
    assert os.listdir(temporary) == []


def test_one_row_less_leaves_the_order_of_the_others(events):
    whole = open_source(None, sql=f"SELECT n FROM '{events}'")
    less = open_source(None, sql=f"SELECT n FROM '{events}' WHERE n <> 1234", state=whole.state)
    order = keys_of(whole)
    assert order != sorted(order)
    assert keys_of(less) == [n for n in order if n != 1234]


def test_order_is_that_of_the_row_not_of_the_file(events):
    state = open_source(None, sql="SELECT 1").state
    ways = [
        keys_of(open_source(None, column="url", state=state, sql=f"FROM (FROM '{events}' ORDER BY {order})"))
        for order in ("n", "n DESC", "hash(n)")
    ]
    assert ways[0] == ways[1] == ways[2]
    # The whole row is hashed, so equal keys do not come in one run.
    assert sum(a != b for a, b in zip(ways[0], ways[0][1:], strict=False)) > 4000


def test_state_and_fingerprint(events):
    query = f"SELECT url, n FROM '{events}'"
    first = open_source(None, sql=query, column="n")
    again = open_source(None, sql=query, column="n", state=first.state)
    assert again.fingerprint == first.fingerprint
    order = keys_of(first)
    for skip in (0, 1, 2047, 2048, 4999, 5000):
        assert keys_of(again, skip) == order[skip:]
    fresh = open_source(None, sql=query, column="n")
    assert fresh.fingerprint == first.fingerprint  # the order is no part of the question
    assert keys_of(fresh) != order
    assert len(bytes.fromhex(first.state["order_key"])) >= 8


def test_a_checkpoint_of_an_earlier_version_goes_on_in_its_order(events):
    key = "00" * 8
    query = f"SELECT n FROM '{events}'"
    expected = [n for (n,) in duckdb.sql(f"{query} ORDER BY hash('{key}', n), n").fetchall()]
    earlier = open_source(None, sql=query, state={"order_key": key})
    assert keys_of(earlier, 100) == expected[100:]
    assert keys_of(open_source(None, sql=query, state=earlier.state)) == expected
    now = open_source(None, sql=query, state={"order_key": key, "hash": "mixed"})
    assert keys_of(now) == [
        n for (n,) in duckdb.sql(f"{query} ORDER BY hash(hash('{key}', n)), n").fetchall()
    ]
    assert open_source(None, sql=query).state["hash"] == "mixed"


def test_several_columns_and_odd_names(events):
    query = f"""SELECT n AS "a ""b", url AS "c,d", [1, 2] AS nested FROM '{events}' WHERE n < 10"""
    source = open_source(None, sql=query, column=["c,d", 'a "b'])
    keys = pa.concat_arrays([batch.keys for batch in source.batches()])
    rows = source.decode(keys).to_pylist()
    assert sorted(rows, key=str) == sorted(({"c,d": f"k{i}", 'a "b': i} for i in range(10)), key=str)


def test_the_sort_spills_to_a_private_folder(events, temporary):
    batches = open_source(None, sql=f"SELECT url FROM '{events}'").batches()
    next(batches)
    (folder,) = temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    batches.close()
    assert os.listdir(temporary) == []
    assert all(thread.name != "hushcount-read-ahead" for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("query", "kind", "text"),
    [
        ("SELEC secret", ParameterError, "The SQL query does not parse."),
        ("", ParameterError, "The SQL query must be one statement."),
        ("SELECT 1; SELECT 2", ParameterError, "The SQL query must be one statement."),
        ("CREATE TABLE secret (a int)", ParameterError, "The SQL query must be a SELECT."),
        ("COPY (SELECT 1) TO 'secret.csv'", ParameterError, "The SQL query must be a SELECT."),
        (
            "SELECT * FROM secret",
            ParameterError,
            "The SQL query names a table or function that does not exist.",
        ),
        ("SELECT secret(1)", ParameterError, "The SQL query names a table or function that does not exist."),
        (
            "SELECT secret FROM (SELECT 1 AS a)",
            ParameterError,
            "The SQL query names columns that do not exist, or uses them wrongly.",
        ),
        (
            "SELECT * FROM 'secret.parquet'",
            DataError,
            "The SQL query reads a file that does not exist or cannot be read.",
        ),
        ("SELECT 1 AS a, 2 AS b", ParameterError, "column must be named; the SQL result has: a, b."),
        (
            "SELECT 1.5::DOUBLE AS a",
            DataError,
            "Column 'a' holds floating point numbers; bin or round them to whole numbers first.",
        ),
    ],
)
def test_bad_queries(query, kind, text):
    with pytest.raises(kind) as caught:
        open_source(None, sql=query)
    assert str(caught.value) == text
    assert caught.value.__context__ is None


def test_values_that_fail_are_not_quoted(events):
    source = open_source(None, sql=f"SELECT CAST('secret' || url AS INTEGER) AS a FROM '{events}'")
    with pytest.raises(DataError) as caught:
        keys_of(source)
    assert str(caught.value) == "The SQL query failed on the data."
    assert caught.value.__context__ is None


def test_missing_column_and_bad_state(events):
    with pytest.raises(ParameterError) as caught:
        open_source(None, sql=f"SELECT url, n FROM '{events}'", column="usr")
    assert str(caught.value) == "Column 'usr' is not in the SQL result; it has: url, n."
    with pytest.raises(ParameterError) as caught:
        open_source(None, sql="SELECT 1", state={"order_key": "'); DROP"})
    assert str(caught.value) == "state must hold the order key of an earlier run."


def test_rows_that_are_too_long_for_duckdb_are_told_the_way_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,n\n" + "x" * 3_000_000 + ",1\n" + "tea,2\n" * 500)
    with pytest.raises(DataError) as caught:
        hc.top(sql=f"SELECT item FROM '{path}'", epsilon=1, delta=1e-6)
    assert str(caught.value) == (
        "A row of a CSV file in the SQL query is too long. Allow longer ones, as in read_csv('a.csv',"
        " header = true, columns = {'url': 'VARCHAR'}, max_line_size = 100000000); all columns must be"
        " stated."
    )
    columns = "columns = {'item': 'VARCHAR', 'n': 'VARCHAR'}"
    stated = f"read_csv('{path}', header = true, {columns}, max_line_size = 100000000)"
    release = hc.top(sql=f"SELECT item FROM {stated}", epsilon=1, delta=1e-6)
    assert release.keys.column(0).to_pylist() == ["tea"]
