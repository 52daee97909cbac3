"""Three million rows of every main format: in order, and in memory that does not grow with the file."""

import hashlib
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

ROWS = 3_000_000
COLUMNS = (
    "SELECT 'key-' || hash(i % 500000)::VARCHAR || repeat('x', 80) AS url, i AS n, 'text beside it' AS t"
    f" FROM range({ROWS}) AS r(i)"
)
# Python with numpy and pyarrow takes about 90 MB, DuckDB 30 more; the keys of all rows would add 330.
LIMITS = {
    "parquet": 280,
    "csv": 250,
    "csv.gz": 250,
    "jsonl": 380,
    "jsonl.gz": 380,
    "arrow": 250,
    "lines": 220,
}
PROGRAM = """
import hashlib, sys
from hushcount.sources.open import open_source
name, form, column = sys.argv[1:]
digest, rows = hashlib.blake2b(digest_size=16), 0
for batch in open_source(name, format=form, column=column or None).batches():
    digest.update("\\n".join(batch.keys.to_pylist()).encode() + b"\\n")
    rows += batch.rows
# Unlike ru_maxrss, this peak does not start at that of the parent process.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(digest.hexdigest(), rows, int(peak.split()[1]) // 1024)
"""


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect(config={"threads": 2, "preserve_insertion_order": True}) as opened:
        opened.execute(f"CREATE TABLE events AS {COLUMNS}")
        yield opened


@pytest.fixture(scope="module")
def expected(connection):
    digest = hashlib.blake2b(digest_size=16)
    for batch in connection.sql("SELECT url FROM events ORDER BY n").to_arrow_reader(65536):
        digest.update("\n".join(batch.column(0).to_pylist()).encode() + b"\n")
    return digest.hexdigest()


def write(connection, path, form):
    if form == "arrow":
        rows = connection.sql("FROM events ORDER BY n").to_arrow_reader(65536)
        with pa.ipc.new_file(path, rows.schema) as writer:
            for batch in rows:
                writer.write_batch(batch)
        return
    options = {
        "parquet": "FORMAT parquet",
        "csv": "FORMAT csv",
        "csv.gz": "FORMAT csv, COMPRESSION gzip",
        "jsonl": "FORMAT json",
        "jsonl.gz": "FORMAT json, COMPRESSION gzip",
        "lines": "FORMAT csv, HEADER false",
    }[form]
    columns = "url" if form == "lines" else "*"
    connection.execute(f"COPY (SELECT {columns} FROM events ORDER BY n) TO '{path}' ({options})")


@pytest.mark.slow
@pytest.mark.parametrize("form", LIMITS)
def test_order_and_memory(tmp_path, connection, expected, form):
    path = tmp_path / f"events.{form}"
    write(connection, str(path), form)
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        str(path),
        form.removesuffix(".gz"),
        "" if form == "lines" else "url",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    digest, rows, peak = done.stdout.split()
    assert (digest, int(rows)) == (expected, ROWS)
    assert int(peak) < LIMITS[form], f"peak {peak} MB"
