"""Parquet: values that all rows share take little memory, alone or beside another column."""

import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from hushcount.sources.open import open_source

PEAK = """
import sys
from hushcount.sources.open import open_source
rows = sum(batch.rows for batch in open_source("a.parquet", column=sys.argv[1:]).batches())
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(rows, peak.split()[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("columns", [("item",), ("item", "n")])
def test_a_long_value_that_all_rows_share(tmp_path, monkeypatch, columns):
    """60,000 rows of one value of 50 KB would be 3 GB of text."""
    monkeypatch.chdir(tmp_path)
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), pa.array(["x" * 50_000]))
    parquet.write_table(pa.table({"item": long, "n": ["a", "b"] * 30_000}), "a.parquet")
    command = [sys.executable, "-c", PEAK, *columns]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, peak = map(int, done.stdout.split())
    assert rows == 60_000
    assert peak < 700_000, "KB at most"


@pytest.mark.parametrize("encoded", [True, False])
def test_columns_together_and_alone_are_the_same(tmp_path, monkeypatch, encoded):
    monkeypatch.chdir(tmp_path)
    rows = [(f"key{i % 7}" if i % 5 else None, "é" * (i % 3), i) for i in range(5000)]
    names = ("one", "two", "n")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    parquet.write_table(table, "a.parquet", row_group_size=1500, use_dictionary=encoded)
    source = open_source("a.parquet", column=list(names))
    found = [row for batch in source.batches() for row in source.decode(batch.keys).to_pylist()]
    assert [tuple(row.values()) for row in found] == [row for row in rows if row[0] is not None]
