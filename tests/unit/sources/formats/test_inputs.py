"""A file that changes while it is read is refused, whatever its format."""

import os
import shutil

import duckdb
import pyarrow as pa
import pytest

from hushcount.errors import DataError
from hushcount.files.fingerprint import _samples, content_digest
from hushcount.sources.formats import inputs
from hushcount.sources.open import open_source

ROWS = 1_500_000
NAMES = ("a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.arrow", "a.arrows", "a.txt")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def make(name):
    rows = duckdb.sql(f"SELECT 'key' || i % 1000 AS url FROM range({ROWS}) r(i)")
    if name.endswith((".arrow", ".arrows")):
        opened = pa.ipc.new_file if name.endswith(".arrow") else pa.ipc.new_stream
        table = rows.to_arrow_table()
        with opened(name, table.schema) as writer:
            writer.write_table(table, max_chunksize=10_000)
    else:
        form = {"parquet": "parquet, ROW_GROUP_SIZE 20480", "jsonl": "json", "txt": "csv, HEADER false"}
        ending = name.split(".")[1]
        separator = ", DELIMITER '\t'" if ending == "tsv" else ""
        rows.query("r", f"COPY r TO '{name}' (FORMAT {form.get(ending, 'csv')}{separator})")


def shrink(name):
    os.truncate(name, os.path.getsize(name) // 2)


def grow(name):
    with open(name, "ab") as stream:
        stream.write(b"x\n")


def replace(name):
    shutil.copy(name, "copy")
    os.replace("copy", name)


def rewrite(name):
    """Other bytes of the same size and time."""
    status = os.stat(name)
    with open(name, "r+b") as stream:
        stream.seek(-3, os.SEEK_END)
        stream.write(b"z")
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", [shrink, grow, replace, rewrite, os.unlink])
@pytest.mark.parametrize("name", NAMES)
def test_a_change_after_the_first_batch_is_refused(name, change):
    make(name)
    source = open_source(name, column=None if name.endswith(".txt") else "url")

    def read():
        for number, _ in enumerate(source.batches()):
            if number == 0:
                change(name)

    with pytest.raises(DataError) as caught:
        read()
    changed = f"{name} changed while it was read, so nothing was released; run it again."
    assert str(caught.value) == changed or (str(caught.value).startswith(name) and change is not grow)
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("name", NAMES)
def test_a_new_link_is_no_change(name):
    make(name)
    source = open_source(name, column=None if name.endswith(".txt") else "url")
    rows = 0
    for batch in source.batches():
        if not rows:
            os.link(name, "backup")  # changes the time of the file's status, not its content
        rows += batch.rows
    assert rows == ROWS


def disguise(name):
    """Change four bytes that lie in no sample, and put the modification time back."""
    status = os.stat(name)
    samples = list(_samples(status.st_size))
    place = next(start + length for start, length in samples if start + length + 4 < samples[-1][0])
    with open(name, "r+b") as file:
        file.seek(place)
        file.write(b"aaaa")
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("name", NAMES)
def test_bytes_changed_outside_of_the_samples_with_the_time_put_back(name):
    make(name)
    source = open_source(name, column=None if name.endswith(".txt") else "url")
    before = content_digest(name)

    def read():
        for number, _ in enumerate(source.batches()):
            if number == 0:
                disguise(name)

    with pytest.raises(DataError) as caught:
        read()
    assert str(caught.value).startswith(name)
    assert content_digest(name) == before


def test_files_behind_a_query_are_watched_too():
    make("a.csv")
    source = open_source(None, sql="SELECT url FROM 'a.csv'", column="url")

    def read():
        for _ in source.batches():
            if os.path.exists("a.csv"):
                os.unlink("a.csv")

    with pytest.raises(DataError) as caught:
        read()
    assert str(caught.value) == "a.csv changed while it was read, so nothing was released; run it again."


def test_parquet_with_another_number_of_rows_than_it_states(monkeypatch):
    make("a.parquet")
    whole = inputs.os.path.getsize("a.parquet")
    source = open_source("a.parquet", column="url")
    monkeypatch.setattr("hushcount.sources.formats.columnar._first_group", lambda metadata, skip: (1, 0))
    with pytest.raises(DataError) as caught:
        list(source.batches())
    assert str(caught.value) == "a.parquet has another number of rows than it states."
    assert whole == os.path.getsize("a.parquet")


def test_a_checkpoint_of_other_content_is_noticed():
    make("a.csv")
    before = open_source("a.csv", column="url").fingerprint
    rewrite("a.csv")
    assert open_source("a.csv", column="url").fingerprint != before
