"""Releases as relations of databases: rows and guarantee together, or nothing of both."""

import datetime as dt
import itertools
import json
import sqlite3
import sys
from contextlib import closing

import duckdb
import psycopg
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import DataError, ParameterError
from hushcount.stores.results import GUARANTEES, RELEASE, Relation

CLEAR = {"epsilon": 20, "delta": 1e-8}
KEYS = ["tea"] * 500 + ["milk"] * 300
_numbers = itertools.count()


@pytest.fixture(scope="module")
def server(postgresql_server):
    name = f"results_{next(_numbers)}"
    with psycopg.connect(postgresql_server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgresql_server.format(name)


class Place:
    """A database to which releases are written, and what stands in it."""

    def __init__(self, kind, location):
        self.kind, self.location = kind, location

    def __getitem__(self, name):
        return f"{self.location}#{name}"

    def shown(self, name):
        return f"{self.location.partition('?')[0]}#{name}"

    def _connect(self):
        if self.kind == "postgresql":
            return psycopg.connect(self.location, autocommit=True)
        if self.kind == "duckdb":
            return duckdb.connect(self.location)
        return sqlite3.connect(self.location, isolation_level=None)

    def run(self, statement):
        with closing(self._connect()) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def guarantees(self):
        return self.run(f"SELECT {RELEASE}, relation, unit, epsilon, delta, document FROM {GUARANTEES}")

    def names(self):
        if self.kind == "sqlite":
            return {name for (name,) in self.run("SELECT name FROM sqlite_master WHERE type = 'table'")}
        tables = "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('main', 'public')"
        return {name for (name,) in self.run(tables)}


@pytest.fixture
def on_server(server):
    made = Place("postgresql", server)
    made.run("DROP SCHEMA public CASCADE")
    made.run("CREATE SCHEMA public")
    return made


@pytest.fixture(params=["postgresql", "duckdb", "sqlite"])
def place(request, tmp_path):
    if request.param != "postgresql":
        return Place(request.param, str(tmp_path / f"out.{request.param}"))
    return request.getfixturevalue("on_server")


def rows_of(release):
    name = release.made.id
    columns = (column.to_pylist() for column in release.table.columns)
    return [(*row, name) for row in zip(*columns, strict=True)]


def refused(kind, call, *arguments, **named):
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    assert caught.value.__context__ is None
    return str(caught.value)


def test_rows_and_guarantee(place):
    release = hc.top(KEYS, output=place["top"], **CLEAR)
    assert place.run("SELECT * FROM top ORDER BY count DESC") == rows_of(release)
    ((name, relation, unit, epsilon, delta, document),) = place.guarantees()
    assert (name, relation, unit, epsilon, delta) == (release.made.id, "top", "event", 20.0, 1e-8)
    about = json.loads(document)
    assert about["guarantee"]["epsilon"] == "20"
    assert about["rows"] is None
    assert "tea" not in document


def test_trees_samples_and_no_rows_at_all(place):
    tree = hc.tree(["/shop/tea"] * 900, hierarchy="path/2", threshold=300, **CLEAR)
    tree.write(place["tree"])
    names = ", ".join(tree.table.column_names)
    assert place.run(f"SELECT {names}, {RELEASE} FROM tree ORDER BY level") == rows_of(tree)
    empty = hc.top(["salt"], output=place["none"], **CLEAR)
    assert empty.table.num_rows == 0
    assert place.run("SELECT * FROM none") == []
    assert {row[1] for row in place.guarantees()} == {"tree", "none"}


def test_types_and_names(place):
    day = dt.date(2026, 11, 18)
    time = dt.datetime(2026, 11, 18, 20, 30, 0, 1)
    columns = {
        'a "b" % ?': [day] * 400,
        "time": [time] * 400,
        "n": pa.array([(1 << 64) - 1] * 400, pa.uint64()),
        "raw": [b"\xff"] * 400,
        "Group": ["x"] * 400,
    }
    release = hc.top(pa.table(columns), column=list(columns), output=place["Über top"], **CLEAR)
    ((one, two, three, four, five, *_, name),) = place.run('SELECT * FROM "Über top"')
    as_text = place.kind == "sqlite"
    assert (one, two) == ((str(day), str(time)) if as_text else (day, time))
    assert (str(three), four, five, name) == (str((1 << 64) - 1), "\\xff", "x", release.made.id)


def test_a_relation_that_exists(place):
    first, second = (hc.top(KEYS, **CLEAR) for _ in range(2))
    first.write(place["top"])
    for if_exists, rows in (("append", [first, second]), ("append", [first, second]), ("replace", [second])):
        second.write(place["top"], if_exists=if_exists)
        assert sorted(place.run("SELECT * FROM top")) == sorted(row for one in rows for row in rows_of(one))
        assert {row[0] for row in place.guarantees()} == {one.made.id for one in rows}
    exists = f"{place.shown('top')} exists; name another relation, or state if_exists: replace or append."
    assert refused(ParameterError, first.write, place["top"]) == exists
    tree = hc.tree(["/a"] * 900, hierarchy="path/1", threshold=300, **CLEAR)
    columns = ", ".join((*tree.table.column_names, RELEASE))
    assert refused(DataError, tree.write, place["top"], if_exists="append") == (
        f"{place.shown('top')} has other columns than the release, so nothing was appended to it; they must"
        f" be {columns}."
    )
    assert sorted(place.run("SELECT * FROM top")) == sorted(rows_of(second))
    tree.write(place["top"], if_exists="replace")
    assert [row[0] for row in place.guarantees()] == [tree.made.id]
    first.write(place["more"], if_exists="append")
    assert {row[1] for row in place.guarantees()} == {"top", "more"}


def test_a_relation_of_others_is_never_replaced(place):
    place.run("CREATE TABLE visits (page TEXT)")
    place.run("INSERT INTO visits VALUES ('secret')")
    for others in (set(), {GUARANTEES, "top"}):
        said = refused(ParameterError, hc.top, KEYS, output=form(place["visits"], "replace"), **CLEAR)
        assert said == (
            f"{place.shown('visits')} was not written by hushcount, so it is not replaced; name another."
        )
        assert place.names() == {"visits"} | others
        hc.top(KEYS, output=form(place["top"], "replace"), **CLEAR)
    assert place.run("SELECT * FROM visits") == [("secret",)]


def form(path, if_exists):
    from hushcount.releases.writers import Form

    return Form(path, if_exists=if_exists)


def test_it_is_refused_before_data_are_read(place):
    hc.top(KEYS, output=place["top"], **CLEAR)

    def unread():
        raise AssertionError("the data were read")
        yield

    assert "exists; name another" in refused(ParameterError, hc.top, unread(), output=place["top"], **CLEAR)


def test_a_relation_and_files_appear_together(on_server, tmp_path):
    """The relation comes first, because it may fail; without it there are no files."""
    place = on_server
    book = str(tmp_path / "spent.db")
    hc.Ledger(book).init("visits", epsilon=25, delta=1e-6, unit="event")
    paid = {"ledger": book, "dataset": "visits", "run_id": "monday"}
    asked = {"report": tmp_path / "r.html", "plot": tmp_path / "p.svg", **CLEAR, **paid}
    keys = ["a\0b"] * 900
    assert refused(DataError, hc.top, keys, output=place["top"], **asked) == (
        f"{place.shown('top')} cannot hold the rows: a key is a text or a time that PostgreSQL does not have."
    )
    assert place.names() == set()
    assert not (tmp_path / "r.html").exists()
    assert not (tmp_path / "p.svg").exists()
    # It is paid, and can be written to another place at no further cost.
    release = hc.top(keys, output=tmp_path / "top.csv", **asked)
    assert (tmp_path / "r.html").exists()
    assert release.table["key"].to_pylist() == ["a\0b"]


def test_an_answer_of_the_ledger_is_written_again(place, tmp_path):
    book = str(tmp_path / "spent.db")
    hc.Ledger(book).init("visits", epsilon=25, delta=1e-6, unit="event")
    paid = {"ledger": book, "dataset": "visits", "run_id": "monday"}
    releases = [hc.top(KEYS, output=form(place["top"], "append"), **CLEAR, **paid) for _ in range(3)]
    assert sorted(place.run("SELECT * FROM top")) == sorted(rows_of(releases[0]))
    assert len(place.guarantees()) == 1


def test_a_lost_connection_leaves_nothing(on_server, tmp_path):
    place = on_server
    hc.top(KEYS, output=place["top"], **CLEAR)
    ends = "BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END"
    place.run(f"CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS '{ends}'")
    place.run(f"CREATE TRIGGER last BEFORE INSERT ON {GUARANTEES} FOR EACH ROW EXECUTE FUNCTION ends()")
    before = place.run("SELECT * FROM top")
    asked = {"output": form(place["top"], "replace"), "report": tmp_path / "r.html", **CLEAR}
    assert refused(DataError, hc.top, KEYS, **asked) == (
        f"The connection to {place.shown('')[:-1]} was lost. Nothing was written there."
    )
    assert place.run("SELECT * FROM top") == before
    assert not (tmp_path / "r.html").exists()


def test_a_schema_and_rights(on_server, server):
    place = on_server
    place.run("DROP SCHEMA IF EXISTS shop CASCADE")
    assert refused(DataError, hc.top, KEYS, output=place["shop.top"], **CLEAR) == (
        f"{place.shown('shop.top')} cannot be written: its schema does not exist."
    )
    place.run("CREATE SCHEMA shop")
    hc.top(KEYS, output=place["shop.top"], **CLEAR)
    assert place.run(
        "SELECT count(*) FROM shop.top JOIN shop.hushcount_guarantees USING (hushcount_release)"
    ) == [(2,)]
    place.run("DROP ROLE IF EXISTS reader")
    place.run("CREATE ROLE reader LOGIN")
    reader = server.replace("user=hushcount", "user=reader")
    place.run("GRANT USAGE ON SCHEMA shop TO reader")
    place.run("GRANT SELECT ON ALL TABLES IN SCHEMA shop TO reader")
    assert refused(DataError, hc.top, KEYS, output=form(f"{reader}#shop.top", "append"), **CLEAR) == (
        f"{place.shown('shop.top')} cannot be written: the user of the database lacks the permission."
    )
    place.run("CREATE VIEW shop.seen AS SELECT key FROM shop.top")
    tree = hc.tree(["/a"] * 900, hierarchy="path/1", threshold=300, **CLEAR)
    assert refused(DataError, tree.write, place["shop.top"], if_exists="replace") == (
        f"{place.shown('shop.top')} cannot be replaced by other columns, because a view or another object"
        " needs it."
    )
    hc.top(KEYS, **CLEAR).write(place["shop.top"], if_exists="replace")
    assert len(place.run("SELECT * FROM shop.seen")) == 2


def test_no_secret_is_told(on_server, server, tmp_path, monkeypatch):
    secret = f"{server}&password=hunter2"
    release = hc.top(KEYS, output=form(f"{secret}#told", "append"), report=tmp_path / "r.html", **CLEAR)
    dry = hc.top(KEYS, output=form(f"{secret}#told", "append"), dry_run=True, **CLEAR)
    told = [str(dry), json.dumps(dry.to_dict()), (tmp_path / "r.html").read_text(), release.to_json()]
    told += [document for *_, document in on_server.guarantees()]
    wrong = "postgresql://me:hunter2@127.0.0.1:1/shop"
    for path in (f"{wrong}#top", wrong, f"{wrong}#a..b"):
        told.append(refused((DataError, ParameterError), release.write, path))
    assert told[-3] == "postgresql://127.0.0.1:1/shop cannot be reached, or refuses the login."
    named = "output must name a relation of the database, as in postgresql://127.0.0.1:1/shop#top."
    assert told[-2:] == [named] * 2
    assert not [text for text in told if "hunter2" in text]
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DataError) as caught:
        release.write(f"{secret}#told")
    assert str(caught.value) == "PostgreSQL needs the library psycopg: run pip install 'hushcount[postgres]'."


@pytest.mark.parametrize(
    ("path", "more", "sentence"),
    [
        ("a.duckdb", {}, "output must name a relation of the database, as in a.duckdb#top."),
        ("a.csv", {"if_exists": "append"}, "if_exists is for relations of a database; a file is replaced."),
        ("a.duckdb#t", {"if_exists": "ask"}, "if_exists must be one of fail, replace, append, got ask."),
        (
            "a.duckdb#t",
            {"sidecar": True},
            "sign, excel and sidecar are for files; a relation has its guarantee beside it.",
        ),
        ("no/a.duckdb#t", {}, "Cannot write no/a.duckdb: the folder no does not exist."),
        ("b.duckdb#t", {}, "b.duckdb is no database; give a DuckDB or SQLite file, or postgresql://...."),
        ("a.txt#t", {}, "output must end in one of .csv, .tsv, .parquet, .json, got a.txt#t."),
    ],
)
def test_sentences(tmp_path, monkeypatch, path, more, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.duckdb").write_text("this is no database of any kind")
    release = hc.top(KEYS, **CLEAR)
    assert refused((DataError, ParameterError), release.write, path, **more) == sentence
    assert sorted(found.name for found in tmp_path.iterdir()) == ["b.duckdb"]


def test_a_file_in_use(tmp_path):
    release, path = hc.top(KEYS, **CLEAR), str(tmp_path / "a.sqlite")
    release.write(f"{path}#top")
    assert Relation.of(f"{path}#top").shown == f"{path}#top"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
