"""Compressed Arrow data that would expand beyond a bound are refused before they expand."""

import itertools
import re
import struct

import pyarrow as pa
import pytest
from pyarrow import ipc

import hushcount as hc
from hushcount.errors import DataError
from hushcount.sources.formats import arrow_sizes

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
    monkeypatch.setattr(arrow_sizes, "MOST", 10)
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
