"""What is deleted is in no file of the store any more, on SQLite and on PostgreSQL."""

import sqlite3
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from tests.collector import (
    ADMIN,
    REPORT,
    REPORTS,
    batch_of,
    bearer,
    campaign,
    collecting,
    new,
    reports_of,
    tokens,
)
from tests.postgresql import location, postgresql_server  # noqa: F401

from hushcount.service.collector import Collector
from hushcount.service.store import residue
from hushcount.service.store.campaigns import token_hash
from hushcount.service.store.seals import LIFE
from hushcount.service.store.store import CollectorStore
from hushcount.stores.database import is_server

DAY = 86400


def files(location):  # noqa: F811
    """All bytes of the store: an SQLite file with its log, or the tables of a server."""
    if not is_server(location):
        found = Path(location).parent.glob(Path(location).name + "*")
    else:
        with psycopg.connect(location, autocommit=True) as connection:
            connection.execute("CHECKPOINT")  # so that all that is in its memory is in the files
            named = "SELECT oid::text FROM pg_database WHERE datname = current_database()"
            ((database,),) = connection.execute(named).fetchall()
        found = Path(parse_qs(urlsplit(location).query)["host"][0], "data", "base", database).iterdir()
    return b"".join(each.read_bytes() for each in found if each.is_file())


def gone(location, *secrets):  # noqa: F811
    """Whether none of some secrets is in the files, nor half of one: a page may end in the middle."""
    kept = files(location)
    return not any(half in kept for each in secrets for half in (each[:8], each[-8:]))


def soon(found):
    """Whether something holds now or in some seconds: a start rewrites the files while they are read."""
    return any(found() or time.sleep(0.2) for _ in range(50))


class Filled:
    """A campaign with tokens and reports, and what must leave with it."""

    def __init__(self, client):
        self.path = new(client, manifest := campaign(), access=b'"token"')
        self.manifest = manifest
        reports = reports_of(manifest, 300)
        issued = tokens(client, self.path, 3)
        for report, token in zip(reports, issued, strict=False):
            headers = REPORT | bearer(token)
            assert client.post(f"{self.path}/reports", headers=headers, content=report).status_code == 202
        body = batch_of(reports[3:])
        assert client.post(f"{self.path}/reports", headers=REPORTS | ADMIN, content=body).status_code == 202
        self.nonces = [report[9:25] for report in reports[::10]]
        self.hashes = [token_hash(token)[:16] for token in issued]


def test_a_deleted_campaign_leaves_the_files(location):  # noqa: F811
    with collecting(location) as client:
        first, second = Filled(client), Filled(client)
        for each in (*first.nonces, *first.hashes, first.manifest.seed.hex().encode()):
            assert not gone(location, each), "the search finds what is there"
        assert client.delete(first.path, headers=ADMIN).status_code == 204
        assert gone(location, *first.nonces, *first.hashes, first.manifest.seed.hex().encode())
        assert not gone(location, second.nonces[0])
        assert client.get(second.path, headers=ADMIN).json()["reports"] == 300
        refused = client.post(f"{first.path}/reports", headers=REPORT, content=bytes(27))
        assert refused.status_code == 410


def test_after_retention_reports_and_tokens_leave_and_the_campaign_answers_410(location):  # noqa: F811
    now = [time.time()]
    with collecting(location, lambda: now[0]) as client:
        filled = Filled(client)
        released = client.post(f"{filled.path}/release", headers=ADMIN, json={"threshold": 100}).json()
        now[0] = filled.manifest.expires + filled.manifest.terms.retention_days * DAY - 1
        assert client.get(f"{filled.path}/check", headers=ADMIN).status_code == 200
        now[0] += 1
        asked = [("GET", "check"), ("GET", "frequencies?item=7"), ("POST", "release"), ("POST", "tokens")]
        for _ in range(2):  # before anything is deleted, and after that
            for method, what in asked:
                given = {"json": {}} if method == "POST" else {}
                found = client.request(method, f"{filled.path}/{what}", headers=ADMIN, **given)
                assert found.status_code == 410, what
            client.portal.call(client.collector.delete_overdue)
        sent = client.post(
            f"{filled.path}/reports", headers=REPORT | bearer("x" * 20), content=reports_of(campaign(), 1)[0]
        )
        assert sent.status_code in (401, 410)
        assert client.get(f"{filled.path}/heavy-hitters").json() == released
        assert client.get(filled.path, headers=ADMIN).json()["state"] == "ended"
    assert gone(location, *filled.nonces, *filled.hashes)


def test_what_nobody_released_is_410_too(tmp_path):
    now = [time.time()]
    with collecting(tmp_path / "store.db", lambda: now[0]) as client:
        filled = Filled(client)
        now[0] = filled.manifest.expires + filled.manifest.terms.retention_days * DAY
        assert client.get(f"{filled.path}/heavy-hitters", headers=ADMIN).status_code == 410
        assert client.get(f"{filled.path}/heavy-hitters").status_code == 410


def test_expired_keys_leave_the_files(location):  # noqa: F811
    now = [time.time()]
    with collecting(location, lambda: now[0]) as client:
        store = CollectorStore(str(location))
        (key,) = store.seals.opening(now[0]).values()
        store.close()
        assert soon(lambda: key.private in files(location))
        now[0] += LIFE + 1
        client.portal.call(client.collector.delete_overdue)
        assert gone(location, key.private)


def test_a_crash_before_the_files_are_wiped_is_made_good(location, monkeypatch):  # noqa: F811
    with collecting(location) as client:
        filled = Filled(client)
        monkeypatch.setattr(Collector, "wipe", _no_time)
        assert client.delete(filled.path, headers=ADMIN).status_code == 204
        assert not gone(location, filled.nonces[0])
        monkeypatch.undo()
    with collecting(location) as client:
        client.portal.call(client.collector.delete_overdue)
        assert gone(location, *filled.nonces)


async def _no_time(_):
    """What a crash leaves of wiping."""


def test_somebody_who_reads_delays_it(tmp_path, caplog):
    path = tmp_path / "store.db"
    with collecting(path) as client:
        filled = Filled(client)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM batch").fetchall()
        assert client.delete(filled.path, headers=ADMIN).status_code == 204
        assert "wipe delayed" in caplog.text
        assert not gone(path, filled.nonces[0])
        reader.execute("COMMIT")
        reader.close()
        client.portal.call(client.collector.wipe)
        assert gone(path, *filled.nonces)


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_a_lock_on_a_server_delays_it(location, monkeypatch):  # noqa: F811
    monkeypatch.setattr(residue, "_PATIENCE", "100ms")
    with collecting(location) as client:
        filled = Filled(client)
        with psycopg.connect(location, options="-c search_path=hushcount") as other:
            other.execute("SELECT count(*) FROM batch").fetchall()  # and its transaction goes on
            assert client.delete(filled.path, headers=ADMIN).status_code == 204
        client.portal.call(client.collector.wipe)
    assert gone(location, *filled.nonces)


def test_what_is_deleted_meanwhile_is_wiped_again(tmp_path):
    store = CollectorStore(str(tmp_path / "store.db"))
    database = store._database
    with database.transaction():
        residue.note_residue(database)
    rows = database.rows

    def another(statement, *values):
        if statement.startswith("PRAGMA"):
            with database.transaction():
                residue.note_residue(database)
        return rows(statement, *values)

    database.rows = another
    assert residue.wipe(database)
    database.rows = rows
    assert database.rows("SELECT count(*) FROM residue") == [(1,)]
    assert residue.wipe(database)
    assert database.rows("SELECT count(*) FROM residue") == [(0,)]
    store.close()
