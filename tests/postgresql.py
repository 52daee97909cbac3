"""A private PostgreSQL server for tests: a fresh cluster in a temporary folder, on a socket there."""

import itertools
import os
import pwd
import shutil
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
    """Start a server, give its address, stop it."""
    folder, user = Path(tempfile.mkdtemp(prefix="hc-pg-")), owner()
    if user is not None:
        shutil.chown(folder, user)

    def run(program, *arguments):
        command = [programs() / program, *arguments]
        subprocess.run(
            command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    try:
        run("initdb", "-D", folder / "data", "-U", "hushcount", "-A", "trust", "-N")
        run(
            "pg_ctl",
            "-D",
            folder / "data",
            "-w",
            "-o",
            f"{SETTINGS} -k {folder}",
            "-l",
            folder / "log",
            "start",
        )
        try:
            yield f"postgresql:///{{}}?host={folder}&user=hushcount"
        finally:
            run("pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
