"""Transactions are whole, seen by other processes, and refused where locks do not hold."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hushcount import signals
from hushcount.errors import DataError
from hushcount.stores import sqlite
from hushcount.stores.sqlite import SQLite, file_system

SCHEMA = "CREATE TABLE IF NOT EXISTS spent (epsilon REAL NOT NULL)"
ADD = """
import sys
from hushcount.stores.sqlite import SQLite
database = SQLite("ledger", [sys.argv[1]])
for _ in range(50):
    with database.transaction():
        ((number,),) = database.rows("SELECT count(*) FROM spent")
        database.change("INSERT INTO spent VALUES (?)", number)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ledger():
    with opened() as database:
        yield database


def spent(database):
    return [value for (value,) in database.rows("SELECT epsilon FROM spent ORDER BY epsilon")]


def test_settings(ledger):
    assert stat.S_IMODE(os.stat("ledger").st_mode) == 0o600
    assert ledger.rows("PRAGMA journal_mode") == [("wal",)]
    assert ledger.rows("PRAGMA synchronous") == [(2,)]
    assert ledger.rows("PRAGMA busy_timeout") == [(sqlite.PATIENCE,)]


def add(database, *steps):
    with database.transaction():
        database.change("INSERT INTO spent VALUES (1.0)")
        for step in steps:
            step()


def fail():
    raise ValueError("later")


def test_all_or_nothing(ledger):
    with pytest.raises(ValueError, match="later"):
        add(ledger, fail)
    assert spent(ledger) == []
    add(ledger)
    assert spent(ledger) == [1.0]


def test_a_signal_waits_for_the_commit(ledger):
    with signals.handled(), pytest.raises(KeyboardInterrupt):
        add(ledger, lambda: signal.raise_signal(signal.SIGINT))
    assert spent(ledger) == [1.0]


def test_processes_take_turns(ledger):
    command = [sys.executable, "-c", ADD, SCHEMA]
    running = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert spent(ledger) == list(range(100))


def test_a_lock_that_is_kept_is_a_sentence(ledger, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0)
    with opened() as other, ledger.transaction(), pytest.raises(DataError) as caught:
        add(other)
    assert str(caught.value) == "Another process has kept the database locked for too long; run it again."


def test_what_is_no_database_is_refused():
    Path("ledger").write_bytes(b"secret" * 1000)
    with pytest.raises(DataError) as caught:
        opened()
    assert str(caught.value) == "ledger is not a database that hushcount can use."
    assert caught.value.__context__ is None


def test_network_file_systems_are_refused(monkeypatch, tmp_path):
    Path("mounts").write_text("/dev/sda / ext4 rw 0 0\nhost:/x /data\\040x nfs4 rw 0 0\n")
    assert file_system("/data x/ledger", "mounts") == "nfs4"
    assert file_system("/data/ledger", "mounts") == "ext4"
    assert file_system("/data/ledger", "missing") == ""
    monkeypatch.setattr(sqlite, "file_system", lambda path: "nfs4")
    with pytest.raises(DataError) as caught:
        opened()
    assert str(caught.value) == (
        "ledger lies on a network file system (nfs4), which does not keep locks; move it."
    )
    assert not os.path.exists("ledger")


def opened(schema=(SCHEMA,)):
    return SQLite("ledger", schema)


def refused(call, *arguments):
    with pytest.raises(DataError) as caught:
        call(*arguments)
    assert caught.value.__context__ is None
    return str(caught.value)


def write(database, statement="INSERT INTO spent VALUES (1.0)"):
    with database.transaction():
        database.change(statement)


def test_a_database_has_rows_and_changes():
    with opened() as database:
        assert database.has_table("spent")
        assert not database.has_table("other")
        with database.transaction():
            assert database.change("INSERT INTO spent VALUES (?)", "0.5") == 1
        with database.reading():
            assert database.rows("SELECT epsilon FROM spent") == [(0.5,)]


def test_nothing_is_made_without_a_schema():
    assert refused(opened, ()) == "ledger does not exist."
    assert not os.path.exists("ledger")


def test_reading_sees_one_moment():
    with opened() as database, opened() as other, other.reading():
        assert other.rows("SELECT * FROM spent") == []
        write(database)
        assert other.rows("SELECT * FROM spent") == []


def test_a_full_disk_is_a_sentence_and_nothing_is_lost():
    with opened() as database:
        write(database)
        pages = database.rows("PRAGMA page_count")[0][0]
        database.change(f"PRAGMA max_page_count = {pages}")
        assert refused(write, database, "CREATE TABLE more AS SELECT zeroblob(100000)") == (
            "The disk of ledger is full, so nothing was recorded; free some and run it again."
        )
        assert database.rows("SELECT * FROM spent") == [(1.0,)]
        write(database)
        assert database.rows("SELECT count(*) FROM spent") == [(2,)]


def test_a_full_disk_at_the_commit_is_a_sentence(monkeypatch):
    """The log cannot grow any more when a transaction is committed: a limit on the size of files does it."""
    import resource

    with opened() as database:
        write(database)
        size = os.path.getsize("ledger-wal")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            sentence = refused(write, database)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, before)
        assert sentence in (
            "The disk of ledger is full, so nothing was recorded; free some and run it again.",
            "ledger cannot be read or written: input/output error.",
        )
        assert database.rows("SELECT count(*) FROM spent") == [(1,)]
        write(database)
    with opened() as database:
        assert database.rows("SELECT count(*) FROM spent") == [(2,)]


def test_a_read_only_database_is_a_sentence():
    with opened() as database:
        database.change("PRAGMA query_only = ON")
        assert refused(write, database) == "ledger cannot be written: it is read-only."
        assert database.rows("SELECT * FROM spent") == []


def test_a_database_that_is_locked_is_a_sentence(monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0)
    with opened() as database, opened(()) as other, database.transaction():
        assert refused(write, other) == (
            "Another process has kept the database locked for too long; run it again."
        )
