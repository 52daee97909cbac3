"""Databases are known by the first bytes of their files, and a relation becomes a query of all its rows."""

import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.stores.reading import is_connection, kind_of_file, of_query, of_relation


def test_queries_of_queries():
    assert of_query("a", "SELECT 1 ; ") == "SELECT a FROM (\nSELECT 1 \n) AS hushcount_rows"
    assert of_relation('a"b.c') == 'SELECT * FROM "a""b"."c"'
    with pytest.raises(ParameterError):
        of_relation("a.")


def test_kinds_of_files(tmp_path):
    (tmp_path / "a").write_bytes(b"SQLite format 3\0more")
    (tmp_path / "b").write_bytes(b"12345678DUCK....")
    (tmp_path / "c").write_bytes(b"")
    assert kind_of_file(tmp_path / "a") == "sqlite"
    assert kind_of_file(tmp_path / "b") == "duckdb"
    for name, words in (("c", "is no database"), ("d", "does not exist"), ("", "cannot be read")):
        with pytest.raises(DataError, match=words):
            kind_of_file(tmp_path / name)
    assert not is_connection("postgresql://")
