"""SQLite columns have the type that they declare, or are read as text; others are refused."""

import os
import sqlite3
from collections import Counter

import pytest

import hushcount as hc
from hushcount.errors import DataError, ParameterError
from hushcount.sources.duckdb.counted import counted_keys
from hushcount.sources.open import open_source

BUDGET = {"epsilon": 1, "delta": 1e-8}
MIXED = "A column of {} holds a value of another type than it declares; convert it in --sql, with CAST."


@pytest.fixture
def made(tmp_path):
    def make(columns, *rows):
        path = str(tmp_path / "a.db")
        connection = sqlite3.connect(path)
        connection.execute(f"CREATE TABLE t ({columns})")
        for row in rows:
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
        connection.close()
        return path

    return make


def keys_of(path, sql, column=None):
    source = open_source(path, sql=sql, column=column, ordered=False)
    return [key for batch in source.batches() for key in batch.keys.to_pylist()]


def counts_of(path, sql):
    found = Counter()
    for keys, counts in counted_keys(open_source(path, sql=sql, ordered=False)):
        found.update(dict(zip(keys.to_pylist(), counts.tolist(), strict=True)))
    return found


def test_types_are_the_declared_ones(made):
    path = made(
        "i INTEGER, v VARCHAR(8), b BLOB, n NUMERIC, x", (1, "a", b"\0\xff", 1.5, 7), (2, "b", b"", 2, "c")
    )
    assert keys_of(path, "SELECT i FROM t") == [1, 2]
    assert keys_of(path, "SELECT v FROM t") == ["a", "b"]
    assert keys_of(path, "SELECT b FROM t") == [b"\0\xff", b""]
    assert keys_of(path, "SELECT n FROM t") == ["1.5", "2"]
    assert keys_of(path, "SELECT x FROM t") == ["7", "c"]
    assert keys_of(path, "SELECT i + 1 AS next FROM t") == ["2", "3"]
    assert keys_of(path, "SELECT CAST(i + 1 AS INTEGER) AS next FROM t") == ["2", "3"]


def test_text_is_grouped_by_its_bytes(made):
    path = made("k TEXT COLLATE NOCASE", ("tea",), ("TEA",), ("tea",), (None,))
    assert counts_of(path, "SELECT k FROM t") == Counter({"tea": 2, "TEA": 1})
    assert counts_of(path, "SELECT upper(k) AS k FROM t;") == Counter({"TEA": 3})


def test_a_value_of_another_type_is_an_error(made):
    path = made("i INTEGER", (1,), ("secret",))
    for exact in (False, True):
        with pytest.raises(DataError) as caught:
            hc.top(path, sql="SELECT i FROM t", exact=exact, **BUDGET)
        assert str(caught.value) == MIXED.format(path)
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("sql", "kind", "sentence"),
    [
        ("SELECT 1; SELECT 2", ParameterError, "The SQL query does not parse, or is not a single SELECT."),
        ("SELEC", ParameterError, "The SQL query does not parse, or is not a single SELECT."),
        (
            "SELECT j FROM t",
            ParameterError,
            "The SQL query names columns that do not exist, or uses them wrongly.",
        ),
        ("SELECT * FROM nope", DataError, "The table does not exist in {}."),
        (
            "SELECT i AS k, i AS k FROM t",
            ParameterError,
            "Column 'k' occurs more than once in the SQL result.",
        ),
        ("SELECT abs(-9223372036854775808) AS k FROM t", DataError, "The SQL query failed on the data."),
    ],
)
def test_sentences(made, sql, kind, sentence):
    path = made("i INTEGER", (1,))
    with pytest.raises(kind) as caught:
        keys_of(path, sql, "k" if " AS k, " in sql else None)
    assert str(caught.value) == sentence.format(path)
    assert caught.value.__context__ is None


def test_damage_is_a_sentence(made):
    path = made("i INTEGER", *((n,) for n in range(5000)))
    with open(path, "r+b") as stream:
        stream.seek(4096)
        stream.write(b"\xff" * 8192)
    with pytest.raises(DataError) as caught:
        keys_of(path, "SELECT i FROM t")
    assert str(caught.value) == f"{path} cannot be read as an SQLite database, or is locked."


def test_no_output_replaces_the_database(made, tmp_path):
    path = tmp_path / "a.json"
    os.rename(made("i INTEGER", *((n % 3,) for n in range(5000))), path)
    before = path.read_bytes()
    with pytest.raises((DataError, ParameterError), match=r"a\.json"):
        hc.top(path, sql="SELECT i FROM t", output=path, **BUDGET)
    assert path.read_bytes() == before
