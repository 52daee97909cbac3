"""Nothing that a collector writes, its log included, tells which token belongs to which report.

Two runs have the same reports and the same tokens, but another pairing of them and another order of arrival.
Every page of the database and of its write-ahead log must be the same, byte for byte, and so must all lines
that are logged: then whatever is computed from them says nothing of pairing or order.
"""

import logging
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from tests.collector import REPORT, bearer, campaign, collecting, new, reports_of, stored, tokens

from hushcount.service import observed
from hushcount.service.store import reports as store_reports
from hushcount.service.store.campaigns import token_hash

USERS = 24
LOG = logging.getLogger("hushcount.service")
NOW = 1_800_000_000.0


def frames(wal):
    """The pages in a write-ahead log with their numbers; headers have random salts."""
    octets = wal.read_bytes()
    size = int.from_bytes(octets[8:12], "big")
    starts = range(32, len(octets) - 24 - size + 1, 24 + size)
    return [(octets[at : at + 4], octets[at + 24 : at + 24 + size]) for at in starts]


def everything(store):
    """All that is on disk, without what is random in each log."""
    return store.read_bytes(), frames(Path(f"{store}-wal"))


@pytest.fixture
def prepared(tmp_path):
    """A store with a campaign and its tokens, the reports, and a way to begin with it once more."""
    before = tmp_path / "before.db"
    manifest = campaign(expires=int(NOW) + 1000)
    with collecting(before, lambda: NOW) as client:
        path = new(client, manifest, access=b'"token"')
        issued = tokens(client, path, USERS)
    with sqlite3.connect(before) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, path, issued, reports_of(manifest, USERS)


def run(prepared, folder, order, pairing, capsys):
    """Everything on disk and in the log after all have reported together."""
    before, path, issued, made = prepared
    folder.mkdir()
    store = folder / "store.db"
    shutil.copy(before, store)
    observed.start_log()
    with collecting(store, lambda: NOW, smallest_group=USERS, longest_wait=20.0) as client:
        client.get(path)
        with ThreadPoolExecutor(USERS) as pool:

            def send(user):
                return client.post(
                    f"{path}/reports", headers=REPORT | bearer(issued[pairing[user]]), content=made[user]
                ).status_code

            assert list(pool.map(send, order)) == [202] * USERS
        found = everything(store)
    LOG.handlers.clear()
    LOG.propagate = True
    lines = [line.partition('"level"')[2] for line in capsys.readouterr().err.splitlines()]
    return found, lines


def test_pairing_and_order_leave_no_trace(prepared, tmp_path, capsys):
    users = list(range(USERS))
    first = run(prepared, tmp_path / "first", users, users, capsys)
    second = run(prepared, tmp_path / "second", users[::-1], users[7:] + users[:7], capsys)
    assert first == second
    _, _, issued, made = prepared
    written = first[0][0] + b"".join(page for _, page in first[0][1])
    assert all(
        report[9:25] in written and token_hash(token)[:16] in written
        for report, token in zip(made, issued, strict=True)
    )
    assert not any(token.encode() in written for token in issued)


def test_the_comparison_sees_a_store_that_keeps_the_order_of_tokens(prepared, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(store_reports, "in_order", lambda names: list(range(len(names))))
    monkeypatch.setattr(store_reports, "_known", lambda names, runs: [False] * len(names))
    users = list(range(USERS))
    first = run(prepared, tmp_path / "first", users, users, capsys)
    second = run(prepared, tmp_path / "second", users[::-1], users[7:] + users[:7], capsys)
    assert first != second


def test_fewer_than_a_group_are_not_stored(prepared, tmp_path):
    before, path, issued, made = prepared
    store = tmp_path / "store.db"
    shutil.copy(before, store)
    known = before.read_bytes().count(token_hash(issued[0])[:16])
    with collecting(store, lambda: NOW, smallest_group=3) as client:
        first = client.post(f"{path}/reports", headers=REPORT | bearer(issued[0]), content=made[0])
        assert first.status_code == 503
        assert 1 <= int(first.headers["Retry-After"]) <= 60
        assert stored(client, path) == 0
        pages, log = everything(store)
        written = pages + b"".join(page for _, page in log)
        assert made[0][9:25] not in written
        assert written.count(token_hash(issued[0])[:16]) == known, "as one of those that were issued"
        # Replays do not make a group larger.
        with ThreadPoolExecutor(3) as pool:
            replayed = list(
                pool.map(
                    lambda _: (
                        client.post(
                            f"{path}/reports", headers=REPORT | bearer(issued[0]), content=made[0]
                        ).status_code
                    ),
                    range(3),
                )
            )
        assert 202 not in replayed
        assert stored(client, path) == 0


def test_no_time_is_finer_than_an_hour(prepared, tmp_path):
    before, path, issued, made = prepared
    store = tmp_path / "store.db"
    shutil.copy(before, store)
    with collecting(store, lambda: NOW + 617, smallest_group=1) as client:
        client.post(f"{path}/reports", headers=REPORT | bearer(issued[0]), content=made[0])
    with sqlite3.connect(store) as connection:
        rows = connection.execute("SELECT hour, digest FROM batch").fetchall()
    assert rows == [(int(NOW + 617) // 3600, b"")]
    assert sha256(made[0]).digest() not in store.read_bytes()
