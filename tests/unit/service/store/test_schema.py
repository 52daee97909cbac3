"""Stores of earlier versions are brought up to date, those of newer ones refused, and failures keep all."""

import os
import sqlite3
import subprocess
import time

import pytest
from tests.collector import ADMIN, REPORT, REPORTS, batch_of, campaign, collecting, new, reports_of, stored
from tests.postgresql import location, postgresql_server  # noqa: F401

from hushcount.errors import DataError
from hushcount.service.store import schema
from hushcount.service.store.reports import Single
from hushcount.service.store.schema import MIGRATIONS, open_store
from hushcount.service.store.store import CollectorStore


def test_migrations_run_once_and_in_order(tmp_path, monkeypatch):
    path = str(tmp_path / "store.db")
    with open_store(path):
        pass
    more = ("ALTER TABLE campaign ADD COLUMN later TEXT",)
    monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, more))
    for _ in range(2):
        with open_store(path) as database:
            assert database.rows("SELECT version FROM collector") == [(len(MIGRATIONS) + 1,)]
            assert database.rows("SELECT later FROM campaign") == []


def test_a_store_of_the_first_version_keeps_its_reports(location, monkeypatch):  # noqa: F811
    monkeypatch.setattr(schema, "MIGRATIONS", MIGRATIONS[:1])
    store = CollectorStore(location)
    store.campaigns.add(manifest := campaign(), "open", ())
    reports = reports_of(manifest, 30)
    store.reports.add_singles(manifest, [Single(each) for each in reports], time.time())
    store.close()
    monkeypatch.undo()
    with collecting(location) as client:
        path = f"/v1/campaigns/{manifest.id}"
        assert stored(client, path) == 30
        assert client.post(f"{path}/reports", headers=REPORT, content=reports[0]).status_code == 409
        client.portal.call(client.collector.wipe)
    with open_store(location) as database:
        assert database.rows("SELECT version FROM collector") == [(len(MIGRATIONS),)]
        assert database.rows("SELECT id FROM residue") == [], "what was deleted before is wiped too"


def test_a_step_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = str(tmp_path / "store.db")
    with open_store(path):
        pass
    monkeypatch.setattr(
        schema, "MIGRATIONS", (*MIGRATIONS, ("ALTER TABLE campaign ADD COLUMN later TEXT", "NONSENSE"))
    )
    with pytest.raises(DataError):
        open_store(path)
    monkeypatch.undo()
    with open_store(path) as database:
        assert database.rows("SELECT version FROM collector") == [(len(MIGRATIONS),)]


def test_a_newer_store_is_refused(tmp_path):
    path = str(tmp_path / "store.db")
    with open_store(path) as database, database.transaction():
        database.change("UPDATE collector SET version = 99")
    with pytest.raises(DataError, match="newer version"):
        open_store(path)


def test_a_locked_store_is_answered_by_503_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "_SETTINGS", ("PRAGMA busy_timeout = 50", "PRAGMA secure_delete = ON"))
    path = tmp_path / "store.db"
    with collecting(path) as client:
        where = new(client, manifest := campaign())
        first, second = reports_of(manifest, 2)
        assert client.post(f"{where}/reports", headers=REPORT, content=first).status_code == 202
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused = client.post(f"{where}/reports", headers=REPORT, content=second)
        assert refused.status_code == 503
        assert refused.headers["Retry-After"]
        batch = batch_of(reports_of(manifest, 5))
        assert client.post(f"{where}/reports", headers=REPORTS | ADMIN, content=batch).status_code == 503
        other.execute("ROLLBACK")
        other.close()
        assert client.post(f"{where}/reports", headers=REPORT, content=second).status_code == 202
        assert client.post(f"{where}/reports", headers=REPORT, content=first).status_code == 409
        assert stored(client, where) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_answered_by_503_and_loses_nothing(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", small], check=False)
    if mounted.returncode:
        pytest.skip("A SMALL DISK COULD NOT BE MOUNTED: full disks were not tested.")
    try:
        with collecting(small / "store.db") as client:
            where = new(client, manifest := campaign())
            accepted, statuses, taken = 0, set(), []
            for _ in range(12):
                sent = reports_of(manifest, 1500)
                answer = client.post(f"{where}/reports", headers=REPORTS | ADMIN, content=batch_of(sent))
                statuses.add(answer.status_code)
                if answer.status_code == 202:
                    accepted += answer.json()["accepted"]
                    taken += sent
            assert statuses == {202, 503}
            assert accepted == len(taken) == stored(client, where)
        subprocess.run(["mount", "-o", "remount,size=8m", small], check=True)
        with collecting(small / "store.db") as client:
            again = client.post(f"{where}/reports", headers=REPORTS | ADMIN, content=batch_of(taken))
            assert again.json() == {"accepted": 0, "duplicates": accepted}
            more = client.post(
                f"{where}/reports", headers=REPORTS | ADMIN, content=batch_of(reports_of(manifest, 1500))
            )
            assert more.json()["accepted"] == 1500
    finally:
        subprocess.run(["umount", small], check=False)


def test_what_is_over_is_deleted(tmp_path):
    now, path = [time.time()], tmp_path / "store.db"
    with collecting(path, lambda: now[0]) as client:
        where = new(client, manifest := campaign(users=300))
        reports = reports_of(manifest, 400)
        client.post(f"{where}/reports", headers=REPORTS | ADMIN, content=batch_of(reports))
        released = client.post(f"{where}/release", headers=ADMIN).json()
        now[0] = manifest.expires + manifest.terms.retention_days * 86400 - 60
    assert reports[0][9:25] in b"".join(each.read_bytes() for each in tmp_path.iterdir())
    with collecting(path, lambda: now[0]) as client:
        assert client.get(where, headers=ADMIN).json()["state"] == "running"
    now[0] += 120
    with collecting(path, lambda: now[0]) as client:
        for _ in range(100):
            if client.get(where, headers=ADMIN).json()["state"] == "ended":
                break
            time.sleep(0.1)
        found = client.get(where, headers=ADMIN).json()
        assert (found["state"], found["reports"], found["reports_by_hour"]) == ("ended", 400, [])
        assert client.get(f"{where}/heavy-hitters").json() == released
        assert client.post(f"{where}/reports", headers=REPORT, content=reports[0]).status_code == 410
        kept = b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert not any(report[9:25] in kept for report in reports)
    with collecting(path, lambda: now[0]) as client:
        assert client.delete(where, headers=ADMIN).status_code == 204
        assert client.get(where, headers=ADMIN).status_code == 410
    assert manifest.seed.hex().encode() not in b"".join(each.read_bytes() for each in tmp_path.iterdir())
