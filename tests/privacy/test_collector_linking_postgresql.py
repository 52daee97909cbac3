"""On PostgreSQL too nothing that a collector writes tells which token belongs to which report.

Two runs have the same reports and the same tokens, but another pairing of them and another order of arrival.
Where rows lie on a server, and its own log, depend on when its processes ran; what the collector has put into
its tables must be the same in both, byte for byte.
"""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.collector import REPORT, bearer, campaign, collecting, new, reports_of
from tests.postgresql import location, postgresql_server  # noqa: F401

from hushcount.service.store import reports as store_reports
from hushcount.service.store.campaigns import token_hash

USERS = 24
NOW = 1_800_000_000.0
TOKENS = [f"a-token-of-user-number-{number}" for number in range(USERS)]


def tables(address):
    """All rows of campaigns, tokens and reports, in the order in which they lie in the files."""
    found = {}
    with psycopg.connect(address, autocommit=True, options="-c search_path=hushcount") as connection:
        for name in ("campaign", "token", "batch", "spent"):
            rows = connection.execute(f"SELECT * FROM {name} ORDER BY ctid".encode()).fetchall()
            found[name] = [tuple(map(_plain, row)) for row in rows]
    return found


def _plain(value):
    return bytes(value) if isinstance(value, memoryview) else value


def run(address, manifest, made, order, pairing):
    """All tables after all have reported together."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS hushcount CASCADE")
    with collecting(address, lambda: NOW, smallest_group=USERS, longest_wait=30.0) as client:
        path = new(client, manifest, access=b'"token"')

        def known(store):
            with store._database.transaction():
                for hashed in sorted(map(token_hash, TOKENS)):
                    store._database.change("INSERT INTO token VALUES (?, ?, 'client')", hashed, manifest.id)

        client.portal.call(client.collector.writing.do, known)
        with ThreadPoolExecutor(USERS) as pool:

            def send(user):
                headers = REPORT | bearer(TOKENS[pairing[user]])
                return client.post(f"{path}/reports", headers=headers, content=made[user]).status_code

            assert list(pool.map(send, order)) == [202] * USERS
        return tables(address)


@pytest.fixture
def prepared():
    manifest = campaign(expires=int(NOW) + 1000)
    return manifest, reports_of(manifest, USERS)


USERS_IN_ORDER = list(range(USERS))
ANOTHER_PAIRING = USERS_IN_ORDER[7:] + USERS_IN_ORDER[:7]


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_pairing_and_order_leave_no_trace(location, prepared):  # noqa: F811
    first = run(location, *prepared, USERS_IN_ORDER, USERS_IN_ORDER)
    second = run(location, *prepared, USERS_IN_ORDER[::-1], ANOTHER_PAIRING)
    assert first == second
    written = repr(first).encode() + b"".join(
        each for rows in first.values() for row in rows for each in row if isinstance(each, bytes)
    )
    _, made = prepared
    assert all(report[9:25] in written for report in made)
    assert all(token_hash(token)[:16] in written for token in TOKENS)
    assert not any(token.encode() in written for token in TOKENS)


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_the_comparison_sees_a_store_that_keeps_the_order(location, prepared, monkeypatch):  # noqa: F811
    monkeypatch.setattr(store_reports, "in_order", lambda names: list(range(len(names))))
    monkeypatch.setattr(store_reports, "_known", lambda names, runs: [False] * len(names))
    first = run(location, *prepared, USERS_IN_ORDER, USERS_IN_ORDER)
    second = run(location, *prepared, USERS_IN_ORDER[::-1], ANOTHER_PAIRING)
    assert first != second
