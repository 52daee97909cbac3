"""Crafted Arrow files are refused before any of their buffers is followed."""

import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hushcount.cli.main import main
from hushcount.errors import DataError
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
