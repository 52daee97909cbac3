"""Objects of gs:// from a server of that protocol on this machine."""

import gzip
import itertools
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyarrow import parquet

import hushcount as hc
from hushcount.cli.main import main
from hushcount.errors import DataError
from hushcount.sources.formats import objects
from hushcount.sources.open import open_source

_numbers = itertools.count()
TABLE = pa.table({"url": [f"k{n % 7}" for n in range(3000)]})
KEYS = TABLE["url"].to_pylist()


@pytest.fixture(scope="module")
def host():
    """The server has a process of its own: pyarrow lets no other thread run while it waits for an answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--host=127.0.0.1", f"--port={port}"]
    with subprocess.Popen([*command, "--in-memory"], stderr=subprocess.DEVNULL) as server:
        address = f"http://127.0.0.1:{port}"
        while not _answers(f"{address}/storage/v1/b?project=test"):
            assert server.poll() is None
            time.sleep(0.05)
        yield address
        server.terminate()


def _answers(address):
    try:
        urllib.request.urlopen(address).read()
    except urllib.error.URLError:
        return False
    return True


@pytest.fixture
def bucket(host, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", host)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")

    def send(path, content, kind):
        request = urllib.request.Request(host + path, content, {"Content-Type": kind}, method="POST")
        urllib.request.urlopen(request).read()

    def call(key, content):
        place = f"/upload/storage/v1/b/{name}/o?uploadType=media&name={quote(key, safe='')}"
        send(place, content, "application/octet-stream")

    name = f"shop-{next(_numbers)}"
    send("/storage/v1/b?project=test", json.dumps({"name": name}).encode(), "application/json")
    return name, call


def keys_of(path, column="url", **options):
    source = open_source(path, column=column, **options)
    return [key for batch in source.batches() for key in batch.keys.to_pylist()]


def packed(table=TABLE):
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, row_group_size=700)
    return sink.getvalue().to_pybytes()


def text(table=TABLE):
    return "".join(f"{key}\n" for key in ["url", *table["url"].to_pylist()]).encode()


@pytest.mark.parametrize("form", ["parquet", "csv", "csv.gz"])
def test_every_format_of_an_object(bucket, form):
    name, put = bucket
    make = {"parquet": packed, "csv": text, "csv.gz": lambda table=TABLE: gzip.compress(text(table))}[form]
    put(f"a.{form}", make())
    path = f"gs://{name}/a.{form}"
    assert keys_of(path) == KEYS
    source = open_source(path, column="url")
    assert [key for batch in source.batches(1000) for key in batch.keys.to_pylist()] == KEYS[1000:]
    assert source.fingerprint == open_source(path, column="url").fingerprint != ""
    put(f"a.{form}", make(TABLE.slice(1)))
    assert open_source(path, column="url").fingerprint != source.fingerprint


def test_partitioned_folders_and_globs(bucket):
    name, put = bucket
    for country in ("fr", "de"):
        for day in (1, 2):
            put(f"data/country={country}/day={day}/a.parquet", packed())
    put("data/_SUCCESS", b"done")
    assert keys_of(f"gs://{name}/data", "country") == ["de"] * 6000 + ["fr"] * 6000
    assert keys_of(f"gs://{name}/data/country=*/day=2/*.parquet", "country") == ["de"] * 3000 + ["fr"] * 3000
    table = hc.top(f"gs://{name}/data", column=["country", "url"], epsilon=4, delta=1e-6).table
    assert table.column_names[:2] == ["country", "url"]
    assert len(table) == 14


def test_an_object_that_changes_while_it_is_read(bucket):
    """It is small, because the server answers one question after the other."""
    name, put = bucket
    put("a.csv", b"url\n" + b"x\n" * 100_000)
    batches = open_source(f"gs://{name}/a.csv", column="url").batches()
    next(batches)
    put("a.csv", b"url\n" + b"y\n" * 100_000)
    with pytest.raises(DataError) as caught:
        list(batches)
    assert str(caught.value) == (
        f"gs://{name}/a.csv changed while it was read, so nothing was released; run it again."
    )


def test_what_is_not_there_and_what_may_not_be_read(bucket, capfd, monkeypatch):
    name, _ = bucket
    budget = ["--column", "url", "--epsilon", "1", "--delta", "1e-6"]
    assert main(["top", f"gs://{name}/nope.csv", *budget]) == 1
    assert capfd.readouterr().err == f"gs://{name}/nope.csv does not exist.\n"
    monkeypatch.delenv("STORAGE_EMULATOR_HOST")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "nowhere.json")
    monkeypatch.setattr(objects, "SECONDS", 2.0)
    assert main(["top", f"gs://{name}/a.csv", *budget]) == 1
    assert capfd.readouterr().err == (
        f"gs://{name}/a.csv may not be read with the credentials that were found; give others by"
        " GOOGLE_APPLICATION_CREDENTIALS.\n"
    )
