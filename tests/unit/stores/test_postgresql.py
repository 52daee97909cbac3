"""PostgreSQL: transactions are whole and seen by all, failures are sentences, secrets are not shown."""

import subprocess
import sys
from contextlib import closing

import psycopg
import pytest

from hushcount.errors import DataError
from hushcount.stores import postgresql
from hushcount.stores.database import UnansweredError, open_database, shown
from hushcount.stores.postgresql import PostgreSQL

SCHEMA = ("CREATE TABLE IF NOT EXISTS spent (epsilon TEXT NOT NULL, answer BLOB)",)
ADD = """
import sys
from hushcount.stores.database import open_database
with open_database(sys.argv[1]) as database:
    for _ in range(50):
        with database.transaction():
            (number,) = database.rows("SELECT total FROM counter" + database.alone)[0]
            database.change("UPDATE counter SET total = ?", number + 1)
"""


@pytest.fixture
def address(postgresql_server, request):
    name = f"store_{abs(hash(request.node.name))}"
    with psycopg.connect(postgresql_server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgresql_server.format(name)


@pytest.fixture
def database(address):
    with open_database(address, SCHEMA) as opened:
        yield opened


def refused(call, *arguments):
    with pytest.raises(DataError) as caught:
        call(*arguments)
    assert caught.value.__context__ is None
    return str(caught.value)


def test_values_and_rows(database):
    with database.transaction():
        assert database.change("INSERT INTO spent VALUES (?, ?)", "0.1", b"\0answer") == 1
        assert database.change("INSERT INTO spent VALUES (?, ?)", "0.2", None) == 1
    assert database.rows("SELECT * FROM spent WHERE epsilon = ?", "0.1") == [("0.1", b"\0answer")]
    assert database.rows("SELECT count(*) FROM spent") == [(2,)]
    assert database.has_table("spent")
    assert not database.has_table("other")


def test_settings_of_a_transaction(database):
    with database.transaction():
        assert database.rows("SHOW transaction_isolation") == [("read committed",)]
        assert database.rows("SHOW synchronous_commit") == [("on",)]
        assert database.rows("SHOW lock_timeout") == [("30s",)]


def test_all_or_nothing(database):
    def add():
        with database.transaction():
            database.change("INSERT INTO spent VALUES ('0.1', NULL)")
            raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        add()
    assert database.rows("SELECT * FROM spent") == []


def test_tables_are_in_a_schema_of_their_own(database, address):
    with closing(psycopg.connect(address)) as connection:
        tables = "SELECT table_schema FROM information_schema.tables WHERE table_name = 'spent'"
        assert connection.execute(tables).fetchall() == [("hushcount",)]


def test_reading_sees_one_moment_and_changes_nothing(database, address):
    with open_database(address) as other, other.reading():
        assert other.rows("SELECT * FROM spent") == []
        with database.transaction():
            database.change("INSERT INTO spent VALUES ('0.1', NULL)")
        assert other.rows("SELECT * FROM spent") == []
        place = shown(address)
        assert refused(other.change, "INSERT INTO spent VALUES ('0.1', NULL)") == (
            f"{place} cannot be written: it is read-only."
        )


def test_processes_take_turns(database, address):
    with database.transaction():
        database.change("CREATE TABLE counter (total BIGINT)")
        database.change("INSERT INTO counter VALUES (0)")
    running = [subprocess.Popen([sys.executable, "-c", ADD, address]) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert database.rows("SELECT total FROM counter") == [(100,)]


def test_a_lock_that_is_kept_is_a_sentence(database, address, monkeypatch):
    monkeypatch.setattr(postgresql, "PATIENCE", "0.01")
    with database.transaction():
        database.change("INSERT INTO spent VALUES ('0.1', NULL)")
    with open_database(address) as other, database.transaction():
        database.rows("SELECT * FROM spent FOR UPDATE")

        def wait():
            with other.transaction():
                other.rows("SELECT * FROM spent FOR UPDATE")

        assert refused(wait) == "Another process has kept the database locked for too long; run it again."


def test_a_lost_connection_is_a_sentence_and_an_unanswered_commit_is_marked(database, address):
    (identity,) = database.rows("SELECT pg_backend_pid()")[0]

    def end():
        with closing(psycopg.connect(address, autocommit=True)) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [identity])

    def cut(before_commit):
        with database.transaction():
            database.change("INSERT INTO spent VALUES ('0.1', NULL)")
            end()
            if not before_commit:
                database.rows("SELECT 1")

    with pytest.raises(UnansweredError) as caught:
        cut(before_commit=True)
    assert str(caught.value) == f"The connection to {shown(address)} was lost."
    assert refused(database.rows, "SELECT 1") == f"The connection to {shown(address)} was lost."
    with open_database(address) as other:
        assert other.rows("SELECT * FROM spent") == []


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            psycopg.errors.DiskFull("secret"),
            "The disk or the memory of {} is full, so nothing was recorded; free some and run it again.",
        ),
        (
            psycopg.errors.InsufficientPrivilege("secret"),
            "{} cannot be used: the user of the database lacks the permission.",
        ),
        (psycopg.errors.UndefinedTable("secret"), "{} does not exist."),
        (psycopg.errors.UndefinedColumn("secret"), "{} is not a database that hushcount can use."),
        (ValueError("secret"), "{} is not a database that hushcount can use."),
    ],
)
def test_failures_are_sentences_without_values(database, address, monkeypatch, error, sentence):
    def fail(self, *_):
        raise error

    monkeypatch.setattr(PostgreSQL, "_run", fail)
    assert refused(database.rows, "SELECT 1") == sentence.format(shown(address))


def test_a_server_out_of_reach_is_a_sentence_without_its_password(tmp_path):
    address = f"postgresql://me:secret@/team?host={tmp_path}"
    assert refused(open_database, address) == "postgresql:///team cannot be reached, or refuses the login."


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DataError) as caught:
        open_database("postgresql:///team")
    assert str(caught.value) == (
        "PostgreSQL needs the library psycopg: run pip install 'hushcount[postgres]'."
    )
