"""A PostgreSQL server that is locked, out of room or gone is answered by 503, and nothing is lost."""

import psycopg
import pytest
from tests.collector import ADMIN, REPORT, REPORTS, batch_of, campaign, collecting, new, reports_of, stored
from tests.postgresql import location, postgresql_server  # noqa: F401

from hushcount.stores import postgresql

ON_POSTGRESQL = pytest.mark.parametrize("location", ["postgresql"], indirect=True)


def refused(answer):
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["Retry-After"]) > 0


def sent(client, path, reports):
    """The answers to a report and to a batch of others."""
    one = client.post(f"{path}/reports", headers=REPORT, content=reports[0])
    return one, client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=batch_of(reports[1:]))


@ON_POSTGRESQL
def test_a_locked_server(location, monkeypatch):  # noqa: F811
    monkeypatch.setattr(
        postgresql.PostgreSQL,
        "_begin",
        (*postgresql.PostgreSQL._begin[:-1], "SET LOCAL lock_timeout = '100ms'"),
    )
    with collecting(location) as client:
        path = new(client, manifest := campaign())
        first, second = reports_of(manifest, 10), reports_of(manifest, 10)
        assert [each.status_code for each in sent(client, path, first)] == [202, 202]
        with psycopg.connect(location, options="-c search_path=hushcount") as other:
            other.execute("SELECT * FROM campaign FOR UPDATE").fetchall()
            for answer in sent(client, path, second):
                refused(answer)
        assert [each.status_code for each in sent(client, path, second)] == [202, 202]
        assert [each.status_code for each in sent(client, path, first)] == [409, 202]
        assert stored(client, path) == 20


@ON_POSTGRESQL
def test_a_server_without_room(location):  # noqa: F811
    with collecting(location) as client:
        path = new(client, manifest := campaign())
        first, second = reports_of(manifest, 10), reports_of(manifest, 10)
        assert [each.status_code for each in sent(client, path, first)] == [202, 202]
        with psycopg.connect(location, autocommit=True, options="-c search_path=hushcount") as other:
            # The server answers with its own code for a full disk, after part of the transaction is done.
            other.execute(
                "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = 'disk_full'; END $$"
            )
            other.execute("CREATE TRIGGER full_disk AFTER UPDATE ON campaign EXECUTE FUNCTION full_disk()")
            for answer in sent(client, path, second):
                refused(answer)
            assert stored(client, path) == 10
            other.execute("DROP TRIGGER full_disk ON campaign")
        assert [each.status_code for each in sent(client, path, second)] == [202, 202]
        assert stored(client, path) == 20


@ON_POSTGRESQL
def test_a_server_that_cuts_connections(location):  # noqa: F811
    with collecting(location) as client:
        path = new(client, manifest := campaign())
        first, second = reports_of(manifest, 10), reports_of(manifest, 10)
        assert [each.status_code for each in sent(client, path, first)] == [202, 202]
        with psycopg.connect(location, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        refused(sent(client, path, second)[0])
        assert client.post(f"{path}/reports", headers=REPORT, content=second[0]).status_code == 202
        assert client.post(f"{path}/reports", headers=REPORT, content=first[0]).status_code == 409
