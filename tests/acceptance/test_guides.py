"""The blocks of the guides run as they stand there, in their order, on files that are made here.

Addresses of databases are replaced by those of a server of the tests. Lines that ask a store of objects
are run by the tests which start one: `ELSEWHERE` says which.
"""

import datetime
import glob
import os
import re
import shlex
import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from pyarrow import parquet
from tests.spark_session import need_java, spark_session

import hushcount as hc
from hushcount.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
YESTERDAY = datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=1)
ELSEWHERE = {
    "s3://": "tests/unit/sources/test_stores.py",
    "https://example.com": "tests/unit/sources/test_stores.py",
}


def times(of, first, many):
    """Moments after the first one, a few seconds apart."""
    begin = datetime.datetime.fromisoformat(first).replace(tzinfo=datetime.UTC)
    return pa.array([begin + datetime.timedelta(seconds=n % of) for n in range(many)])


def searches(many=3000):
    """Rows of searches in November and in January."""
    words = [("tea", "milk", "salt")[n % 3] for n in range(many)]
    return pa.table({"query": words, "at": times(3600, "2026-11-15T06:00:00", many)})


def for_ledger():
    table = searches()
    january = pa.table({"query": table["query"], "at": times(3600, "2026-01-01T06:00:00", len(table))})
    parquet.write_table(pa.concat_tables([table, january]), "searches.parquet")


def for_watch():
    urls = [f"/{n % 3}" for n in range(3000)]
    parquet.write_table(
        pa.table({"url": urls, "ts": times(3000, f"{YESTERDAY}T00:00:00", 3000)}), "hour.parquet"
    )


def for_folders():
    for country in ("de", "ch"):
        for day in (11, 12):
            folder = Path(f"searches/country={country}/day=2026-11-{day}")
            folder.mkdir(parents=True)
            parquet.write_table(searches(), folder / "part.parquet")


def for_threads():
    parquet.write_table(pa.table({"url": [f"/{n % 3}" for n in range(3000)]}), "clicks.parquet")


def for_databases():
    pages = [f"/{n % 3}" for n in range(3000)]
    visits = pa.table({"page": pages, "status": [200] * 3000})
    parquet.write_table(visits, "visits.parquet")
    flows = pa.table({"source": [f"10.0.{n % 2}.1" for n in range(20_000)]})
    with sqlite3.connect("shop.sqlite") as shop:
        shop.execute("CREATE TABLE visits (page TEXT, status INTEGER)")
        shop.executemany("INSERT INTO visits VALUES (?, 200)", [(page,) for page in pages])
    with duckdb.connect() as connection:
        connection.register("made", flows)
        connection.execute("ATTACH 'flows.duckdb'; CREATE TABLE flows.flows AS FROM made")


def for_foreign():
    Path("theirs.csv").write_text("key,counter\ntea,5210\ncoffee,1302\nmilk,2\n")


def for_release_json():
    """A release signed as the page says."""
    private = ed25519.Ed25519PrivateKey.generate()
    unlocked = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    Path("publisher.key").write_bytes(private.private_bytes(serialization.Encoding.PEM, *unlocked))
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    Path("publisher.pub").write_bytes(public)
    hc.top(["tea"] * 3000, epsilon=1, delta=1e-8).write("signed.json", sign="publisher.key")


def for_ldp():
    """A campaign with some reports."""
    Path("typed.csv").write_text("word\n" + "tea\ncoffee\n" * 500)
    run_command("hushcount ldp new words.json --items words:6 --epsilon 2 --users 1000")
    run_command("hushcount ldp randomise words.json typed.csv --column word --output reports.bin")


def for_nothing():
    """The page makes its own data."""


GUIDES = {
    "watch": for_watch,
    "folders": for_folders,
    "threads": for_threads,
    "foreign-sketches": for_foreign,
    "ldp": for_ldp,
    "ldp-paper": for_nothing,
    "release-json": for_release_json,
}


def commands(text):
    """The commands of a block, continued lines joined and remarks left out."""
    for line in text.replace("\\\n", " ").splitlines():
        command = line.removeprefix("$ ").partition("  #")[0].strip()
        if command and "..." not in command:
            yield command


def run_command(command):
    """Run a command; it prints something, and its exit code is 0."""
    program, *arguments = shlex.split(command)
    assert program == "hushcount", command
    assert main(arguments) == 0, command


def run_block(language, text, names):
    """Run the commands or the code of a block."""
    if language == "python" or text.startswith(">>> "):
        exec(compile(text.replace(">>> ", ""), "guide", "exec"), names)
        return
    for command in commands(text):
        if not any(there in command for there in ELSEWHERE):
            run_command(command)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks_of(page):
    found = BLOCK.findall((DOCS / f"{page}.md").read_text())
    assert found
    return found


@pytest.mark.parametrize("page", GUIDES)
def test_every_block_runs(page, folder):
    GUIDES[page]()
    names = {"hc": hc}
    for language, text in blocks_of(page):
        run_block(language, lately(text), names)


def lately(text):
    """Return a block whose first period began yesterday, so that some periods are over, and not many."""
    ends = (datetime.date.today() + datetime.timedelta(days=366)).isoformat()
    return text.replace("2026-12-01", YESTERDAY.isoformat()).replace("2027-12-01", ends)


def test_the_ledger(folder):
    """Each block begins with a ledger in which nothing is spent, or makes its own."""
    for_ledger()
    names = {"hc": hc}
    for language, text in blocks_of("ledger"):
        for old in glob.glob("spent.db*"):
            os.remove(old)
        if "init" not in text:
            hc.Ledger("spent.db").init("searches", epsilon=6, delta=1e-6)
        run_block(language, text, names)


def test_spark(folder):
    """The page of Spark, on one frame that has all the columns that it names."""
    need_java()
    pages = [f"/{n % 3}" for n in range(3000)]
    rows = {
        "page": pages,
        "visitor": [f"v{n}" for n in range(3000)],
        "query": pages,
        "source": ["10.0.0.1"] * 3000,
    }
    Path("visits").mkdir()
    parquet.write_table(pa.table(rows), "visits/part.parquet")
    with spark_session("local[2]", folder) as session:
        frame = session.read.parquet(str(folder / "visits"))
        for language, text in blocks_of("spark"):
            run_block(language, text, {"hc": hc, "frame": frame})


def test_databases(folder, postgresql_server):
    """The page of databases, with a server of the tests in place of db.example."""
    import psycopg
    from adbc_driver_postgresql import dbapi

    for_databases()
    with psycopg.connect(postgresql_server.format("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE shop")
    address = postgresql_server.format("shop")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (page text); CREATE SCHEMA reports")
        connection.execute("INSERT INTO visits SELECT '/' || n % 3 FROM generate_series(1, 3000) n")
    with dbapi.connect(address) as ours:
        names = {"hc": hc, "connection": ours}
        names["release"] = hc.top(["tea"] * 3000, epsilon=1, delta=1e-8)
        for language, text in blocks_of("databases"):
            run_block(language, re.sub(r"postgresql://\w+@db.example/shop", address, text), names)
