"""Crafted Arrow files are refused before a buffer is followed, or expands beyond a bound.

Parquet: values that all rows share take little memory, alone or beside another column."""

import itertools
import re
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import hushcount as hc
from hushcount.cli.main import main
from hushcount.errors import DataError
from hushcount.sources.formats import columnar
from hushcount.sources.open import open_source

FAR = 1 << 30
BAD_OFFSETS = [(0, 3, 6, FAR), (0, 3, FAR, 9), (-4, 3, 6, 9), (0, 6, 3, 9), (0, 3, -6, 9), (7, 3, 6, 9)]
BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(column, opened=pa.ipc.new_file):
    batch = pa.record_batch({"item": column})
    with opened("a.arrow", batch.schema) as writer:
        writer.write_batch(batch)


def replace(old: bytes, new: bytes) -> None:
    data = Path("a.arrow").read_bytes()
    assert old in data
    Path("a.arrow").write_bytes(data.replace(old, new))


def words(*numbers: int, kind: str = "i") -> bytes:
    return struct.pack(f"<{len(numbers)}{kind}", *numbers)


def refusal():
    with pytest.raises(DataError) as caught:
        list(open_source("a.arrow", column="item").batches())
    assert caught.value.__cause__ is caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("opened", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize(
    "offsets",
    [(0, 3, 6, 1 << 30), (0, 3, 1 << 30, 9), (-4, 3, 6, 9), (0, 6, 3, 9), (0, 3, -6, 9), (7, 3, 6, 9)],
)
@pytest.mark.parametrize(("kind", "form"), [(pa.string(), "i"), (pa.large_string(), "q")])
def test_offsets_out_of_bounds(opened, offsets, kind, form):
    write(pa.array(["tea", "pot", "cup"], kind), opened)
    replace(words(0, 3, 6, 9, kind=form), words(*offsets, kind=form))
    assert refusal() == "a.arrow is damaged: it refers to values outside of its Arrow buffers."


@pytest.mark.parametrize("opened", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize("index", [3, -1, 1 << 30])
def test_dictionary_indices_out_of_bounds(opened, index):
    write(pa.array(["tea", "pot", "cup", "pot", "tea"]).dictionary_encode(), opened)
    replace(words(0, 1, 2, 1, 0), words(0, 1, index, 1, 0))
    assert refusal() == "a.arrow is damaged: it refers to values outside of its Arrow buffers."


def test_the_program_says_so_in_a_sentence(capfd):
    write(pa.array(["tea", "pot", "cup", "pot", "tea"]).dictionary_encode())
    replace(words(0, 1, 2, 1, 0), words(0, 1, 9, 1, 0))
    assert main(["top", "a.arrow", "--column", "item", *BUDGET]) == 1
    said = "a.arrow is damaged: it refers to values outside of its Arrow buffers.\n"
    assert capfd.readouterr() == ("", said)


PEAK = """
from hushcount.sources.open import open_source
import hushcount as hc
sketch = hc.SpaceSaving(counters=10)
for batch in open_source("a.arrow", column="item").batches():
    sketch.update(batch.keys)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM:")).split()[1])
"""


@pytest.mark.slow
def test_a_long_value_that_all_rows_share_takes_little_memory():
    """60,000 rows of one value of 50 KB would be 3 GB of text."""
    index = pa.array([0] * 60_000, pa.int8())
    write(pa.DictionaryArray.from_arrays(index, pa.array(["x" * 50_000])))
    assert Path("a.arrow").stat().st_size < 200_000
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 700_000, "KB at most"


ROWS = 4000
LAYOUTS = {"file": ipc.new_file, "stream": ipc.new_stream}
CODECS = ["zstd", "lz4"]
SENTENCE = "has a compressed batch of rows that expands to more than 1 GiB: write it in smaller batches."


def written(path, layout, codec, table):
    options = ipc.IpcWriteOptions(compression=codec)
    with LAYOUTS[layout](str(path), table.schema, options=options) as out:
        out.write_table(table)
    return str(path)


def keys_of(table_path):
    return hc.top(table_path, column="key", epsilon=1, delta=1e-6).keys


@pytest.fixture
def table():
    plain = pa.array(["tea"] * ROWS)
    return pa.table({"key": plain, "other": plain.dictionary_encode(), "n": range(ROWS)})


@pytest.mark.parametrize("codec", [*CODECS, None])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_whole_data_are_read(tmp_path, table, layout, codec):
    path = written(tmp_path / "a.arrow", layout, codec, table)
    assert keys_of(path).column("key").to_pylist() == ["tea"]


@pytest.mark.parametrize("column", ["key", "other"])
@pytest.mark.parametrize("written_as", [*itertools.product(LAYOUTS, CODECS)])
def test_batches_and_dictionaries_that_expand_too_far(tmp_path, monkeypatch, table, written_as, column):
    """The bound is lowered to below what the columns, or the values of the dictionary, take."""
    path = written(tmp_path / "a.arrow", *written_as, pa.table({"key": table[column]}))
    monkeypatch.setattr(columnar, "MOST", 10)
    with pytest.raises(DataError, match=f"{re.escape(path)} {re.escape(SENTENCE)}"):
        keys_of(path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_length_that_a_file_only_states(tmp_path, layout):
    """A buffer of a few bytes that states 2^40 is refused before memory is asked for."""
    numbers = pa.table({"key": pa.array([7] * ROWS, pa.int64())})
    path = tmp_path / "a.arrow"
    written(path, layout, "zstd", numbers)
    true = struct.pack("<q", 8 * ROWS)
    assert path.read_bytes().count(true) == 1
    path.write_bytes(path.read_bytes().replace(true, struct.pack("<q", 1 << 40)))
    with pytest.raises(DataError, match=re.escape(SENTENCE)):
        keys_of(str(path))


PARQUET_PEAK = """
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
    command = [sys.executable, "-c", PARQUET_PEAK, *columns]
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
