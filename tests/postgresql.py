"""A private PostgreSQL server for tests: a fresh cluster in a temporary folder, on a socket there."""

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

REQUIRED = "HUSHCOUNT_REQUIRE_POSTGRESQL"
SKIPPED = "POSTGRESQL WAS NOT TESTED: no initdb found; install PostgreSQL to run these tests."
SETTINGS = "-c listen_addresses= -c max_connections=80 -c fsync=off"

_numbers = itertools.count()


def programs():
    """The folder of initdb and pg_ctl, None where PostgreSQL is not installed."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


def owner():
    """Whoever runs the server: it refuses to run as root."""
    if os.geteuid():
        return None
    known = [name for name in ("postgres", "nobody") if any(name == user.pw_name for user in pwd.getpwall())]
    return known[0]


@contextmanager
def server():
    """Start a server without passwords, give its address, stop it."""
    with _cluster() as (folder, run):
        run("initdb", "-D", folder / "data", "-U", "hushcount", "-A", "trust", "-N")
        with _started(folder, run, f"{SETTINGS} -k {folder}"):
            yield f"postgresql:///{{}}?host={folder}&user=hushcount"


@contextmanager
def guarded_server(password):
    """Start a server that asks for TLS and a password; give its port and the file of its authority.

    Its certificate is for localhost alone, and it listens to 127.0.0.1 alone.
    """
    from tests.tls import certificates  # of a library that only these tests need

    with _cluster() as (folder, run), socket.socket() as free:
        certificates(folder, "localhost")
        (folder / "password").write_text(password)
        for path in folder.iterdir():
            shutil.chown(path, owner() or os.geteuid())
        run(
            *("initdb", "-D", folder / "data", "-U", "hushcount", "-A", "scram-sha-256", "-N"),
            *("--pwfile", folder / "password"),
        )
        (folder / "data" / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        tls = f"-c ssl=on -c ssl_cert_file={folder}/server.pem -c ssl_key_file={folder}/server.key"
        listens = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories="
        with _started(folder, run, f"-c fsync=off {tls} {listens}"):
            yield port, folder / "authority.pem"


@contextmanager
def _cluster():
    """Give a new folder, and what runs the programs of PostgreSQL there."""
    folder, user = Path(tempfile.mkdtemp(prefix="hc-pg-")), owner()
    if user is not None:
        shutil.chown(folder, user)

    def run(program, *arguments):
        command = [programs() / program, *arguments]
        subprocess.run(
            command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    try:
        yield folder, run
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _started(folder, run, options):
    """Start the server of a folder, and stop it."""
    run("pg_ctl", "-D", folder / "data", "-w", "-o", options, "-l", folder / "log", "start")
    try:
        yield
    finally:
        run("pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")


@pytest.fixture(scope="session")
def postgresql_server():
    """The address of a running server, by the name of a database in it."""
    if programs() is None:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{REQUIRED} is 1, but no PostgreSQL was found.")
        pytest.skip(SKIPPED)
    with server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request, tmp_path):
    """Where a ledger may be made: a file that is not there yet, or an empty database of its own."""
    if request.param == "sqlite":
        return str(tmp_path / "spent.db")
    import psycopg

    address = request.getfixturevalue("postgresql_server")
    name = f"test_{next(_numbers)}"
    with psycopg.connect(address.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return address.format(name)
