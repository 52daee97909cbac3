"""Logins of a real PostgreSQL server with TLS and passwords: right ones, and what is said of wrong ones."""

import os
from pathlib import Path

import psycopg
import pytest
from tests.postgresql import guarded_server, programs
from tests.tls import certificates

from hushcount.cli.main import main

pytest.importorskip("adbc_driver_postgresql.dbapi")
SECRET = "hunter-2-pa%ss"
ESCAPED = "hunter-2-pa%25ss"
ASKED = ("--relation", "visits", "--column", "page", "--epsilon", "4", "--delta", "1e-8")
LOGIN = (
    "postgresql://localhost:{}/postgres refuses the login: the user or the password is wrong, or none was"
    " found.\n"
)
TRUST = (
    "postgresql://{}:{}/postgres is not trusted: its certificate must be for this host and signed by"
    " sslrootcert.\n"
)


@pytest.fixture(scope="module")
def guarded():
    assert programs() is not None, "PostgreSQL is not installed."
    with guarded_server(SECRET) as (port, authority):
        login = {"host": "localhost", "port": port, "user": "hushcount", "password": SECRET}
        with psycopg.connect(**login, dbname="postgres", sslmode="require", autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE visits AS SELECT 'k' || i % 3 AS page FROM generate_series(1, 900) i"
            )
        yield port, authority


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)


@pytest.fixture
def top(capfd):
    def call(address, *more):
        code = main(["top", "--database", address, *ASKED, *more])
        captured = capfd.readouterr()
        told = (
            captured.out
            + captured.err
            + "".join(
                path.read_bytes().decode("latin-1") for path in Path().rglob("*") if path.name not in SECRETS
            )
        )
        assert SECRET not in told
        assert ESCAPED not in told
        return code, captured.out, captured.err

    return call


SECRETS = (".pgpass", "service.conf", "authority.pem", "server.pem", "server.key")


def address(port, host="localhost", more="", user="hushcount"):
    return f"postgresql://{user}@{host}:{port}/postgres?sslmode=verify-full{more}"


def counted(found):
    code, out, err = found
    assert (code, sorted(line.split("\t")[0] for line in out.splitlines()[1:])) == (0, ["k0", "k1", "k2"]), (
        err
    )


def test_passwords_from_wherever_the_client_library_looks(guarded, top, monkeypatch):
    port, authority = guarded
    trusted = f"&sslrootcert={authority}"
    counted(top(address(port, more=trusted, user=f"hushcount:{ESCAPED}")))
    Path(".pgpass").write_text(f"localhost:{port}:*:hushcount:{SECRET}\n")
    Path(".pgpass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(Path(".pgpass").resolve()))
    counted(top(address(port, more=trusted)))
    monkeypatch.delenv("PGPASSFILE")
    Path("service.conf").write_text(
        f"[shop]\nhost=localhost\nport={port}\nuser=hushcount\ndbname=postgres\npassword={SECRET}\n"
        f"sslmode=verify-full\nsslrootcert={authority}\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(Path("service.conf").resolve()))
    counted(top("postgresql://?service=shop"))
    code, _, err = top("postgresql://?service=nope")
    assert (code, err) == (1, "postgresql:// names a service that the service file does not have.\n")
    monkeypatch.delenv("PGSERVICEFILE")
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("PGSSLROOTCERT", str(authority))
    named = ["--database", address(port), "--relation", "visits", "--column", "page"]
    assert main(["sketch", *named, "-o", "s.hc"]) == 0
    assert main(["oracle", "build", *named, "--epsilon", "1", "--delta", "1e-8", "-o", "o.hc"]) == 0
    outputs = ("--output", "t.json", "--report", "t.html", "--exact")
    counted(top(address(port), *outputs))
    assert SECRET not in repr(Path("t.json").read_text()) + Path("t.html").read_text()


def test_wrong_passwords_are_one_sentence(guarded, top, monkeypatch):
    port, authority = guarded
    trusted = f"&sslrootcert={authority}"
    assert top(address(port, more=trusted)) == (1, "", LOGIN.format(port))
    monkeypatch.setenv("PGPASSWORD", "another")
    assert top(address(port, more=trusted), "--output", "t.json") == (1, "", LOGIN.format(port))
    assert top(address(port, more=trusted, user="stranger")) == (1, "", LOGIN.format(port))
    assert os.listdir() == []


def test_certificates_are_checked(guarded, top, monkeypatch, tmp_path):
    port, authority = guarded
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("PGSSLROOTCERT", str(authority))
    counted(top(address(port)))
    assert top(address(port, "127.0.0.1")) == (1, "", TRUST.format("127.0.0.1", port))
    certificates(tmp_path, "localhost")  # another authority
    monkeypatch.setenv("PGSSLROOTCERT", str(tmp_path / "authority.pem"))
    assert top(address(port)) == (1, "", TRUST.format("localhost", port))
    plain = address(port).replace("verify-full", "disable")
    assert top(plain) == (
        1,
        "",
        f"postgresql://localhost:{port}/postgres takes no connection without TLS; give sslmode=require or"
        " verify-full.\n",
    )


def test_results_and_ledgers_are_written_with_tls_too(guarded, top, monkeypatch, capfd):
    port, authority = guarded
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("PGSSLROOTCERT", str(authority))
    init = ["ledger", "init", address(port), "--dataset", "visits", "--unit", "result-row"]
    assert main([*init, "--epsilon", "25", "--delta", "1e-6"]) == 0
    capfd.readouterr()
    paid = ("--ledger", address(port), "--dataset", "visits", "--run-id", "monday")
    paid = (*paid, "--output", f"{address(port)}#pages")
    counted(top(address(port), *paid))
    with psycopg.connect(address(port, more=f"&sslrootcert={authority}"), password=SECRET) as connection:
        assert connection.execute("SELECT count(*) FROM pages").fetchone() == (3,)
        tables = connection.execute(
            "SELECT string_agg(t::text, '') FROM (SELECT * FROM hushcount_guarantees) t"
        ).fetchone()
    assert SECRET not in tables[0]
    monkeypatch.setenv("PGPASSWORD", "another")
    code, _, err = top(address(port), *paid)
    assert (code, err) == (1, LOGIN.format(port))
