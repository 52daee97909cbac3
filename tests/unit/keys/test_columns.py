"""Key types are kept, several columns make one key, and text is checked and compared bytewise."""

import datetime

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.errors import DataError, ParameterError
from hushcount.keys.arrays import decode_rows, encode_rows
from hushcount.keys.buffers import is_utf8
from hushcount.keys.plain import KeyLimit
from hushcount.sources.open import open_source

SEEDED = settings(deadline=None, derandomize=True, database=None)
DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(1969, 12, 31, 12, 30, 1, 999999)
COLUMNS = {
    **{
        str(kind): pa.array([0, -1 if kind.bit_width else 0, 127], kind)
        for kind in (pa.int8(), pa.int16(), pa.int32())
    },
    "int64": pa.array([-(2**63), 2**63 - 1, 0], pa.int64()),
    "uint8": pa.array([0, 255, 1], pa.uint8()),
    "uint32": pa.array([0, 2**32 - 1, 1], pa.uint32()),
    "uint64": pa.array([0, 2**64 - 1, 1], pa.uint64()),
    "string": pa.array(["", "3:é", "\x00"]),
    "large_string": pa.array(["", "é", "e\u0301"], pa.large_string()),
    "binary": pa.array([b"", b"\xff:", b"\x00"]),
    "large_binary": pa.array([b"", b"\xff", b"\x00"], pa.large_binary()),
    "fixed": pa.array([b"abcd", b"\x00\x00\x00\x00", b"1:a2"], pa.binary(4)),
    "bool": pa.array([True, False, True]),
    "date32": pa.array([DAY, datetime.date(1, 1, 1), DAY], pa.date32()),
    "date64": pa.array([DAY, datetime.date(1950, 1, 1), DAY], pa.date64()),
    "time32": pa.array([datetime.time(1, 2, 3), datetime.time(0), datetime.time(23)], pa.time32("s")),
    "time64": pa.array([datetime.time(1, 2, 3, 4), datetime.time(0), datetime.time(23)], pa.time64("us")),
    "timestamp": pa.array([NOON, NOON, NOON], pa.timestamp("us")),
    "zoned": pa.array([NOON, NOON, NOON], pa.timestamp("ns", "Europe/Berlin")),
}
TABLE = pa.table(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_types_are_kept(tmp_path, name):
    (batch,) = open_source(TABLE, column=name).batches()
    assert batch.keys.equals(COLUMNS[name])
    pq.write_table(TABLE, tmp_path / "a.parquet", use_dictionary=False)
    (batch,) = open_source(tmp_path / "a.parquet", column=name).batches()
    stored = pa.date32() if name == "date64" else pa.time32("ms") if name == "time32" else COLUMNS[name].type
    assert batch.keys.equals(COLUMNS[name].cast(stored))


@pytest.mark.parametrize("name", COLUMNS)
def test_composite_keys_decode_to_their_types(name):
    table = pa.table({"a": COLUMNS[name], "b": COLUMNS["string"]})
    source = open_source(table, column=["a", "b"])
    (batch,) = source.batches()
    assert batch.keys.type == pa.binary()
    assert source.decode(batch.keys).combine_chunks().equals(table)
    empty = source.decode(batch.keys.slice(0, 0))
    assert empty.schema.types == table.schema.types
    assert empty.num_rows == 0


def test_composite_rows_with_a_null_are_dropped():
    table = pa.table({"a": ["x", None, "y", None], "b": [1, 2, None, None]})
    source = open_source(table, column=["b", "a"])
    (batch,) = source.batches()
    assert source.decode(batch.keys).to_pydict() == {"b": [1], "a": ["x"]}
    assert batch.rows == 4


@SEEDED
@given(
    st.lists(
        st.tuples(st.binary(max_size=12), st.text(max_size=12), st.integers(-(2**63), 2**63 - 1)), min_size=1
    )
)
def test_composite_is_injective(rows):
    columns = [
        pa.array(values, kind)
        for values, kind in zip(zip(*rows, strict=True), (pa.binary(), pa.string(), pa.int64()), strict=True)
    ]
    keys = encode_rows(columns)
    assert len(set(keys.to_pylist())) == len(set(rows))
    decoded = decode_rows(keys, "abc", [column.type for column in columns])
    assert list(zip(*decoded.to_pydict().values(), strict=True)) == rows


def test_dictionaries_views_and_extensions_by_value():
    text = pa.array(["a", "b", None, "a"])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, 8]))
    uuids = pa.array([b"0" * 16], pa.uuid())
    for array, kind in [
        (text.dictionary_encode(), pa.string()),
        (text.cast(pa.string_view()), pa.string()),
        (text.cast(pa.binary()).cast(pa.binary_view()), pa.binary()),
        (pa.array([1, 1]).dictionary_encode(), pa.int64()),
        (runs, pa.int64()),
        (uuids, pa.binary(16)),
    ]:
        (batch,) = open_source(array).batches()
        assert batch.keys.type == kind
        assert batch.keys.null_count == 0


def test_text_and_int_on_request():
    (batch,) = open_source(pa.array([1, 2]), key_type="text").batches()
    assert batch.keys.equals(pa.array(["1", "2"]))
    (batch,) = open_source(pa.array([DAY]), key_type="text").batches()
    assert batch.keys.equals(pa.array(["2024-02-29"]))
    (batch,) = open_source(["7", " -8 ", None], key_type="int").batches()
    assert batch.keys.equals(pa.array([7, -8]))
    (batch,) = open_source(pa.array([7], pa.uint16()), key_type="int").batches()
    assert batch.keys.equals(pa.array([7], pa.uint16()))


@pytest.mark.parametrize("value", ["secret", "1.5", "", "9223372036854775808"])
def test_int_refuses_other_text(value):
    with pytest.raises(DataError) as caught:
        list(open_source(pa.table({"x": ["1", value]}), column="x", key_type="int").batches())
    assert str(caught.value) == "Column 'x' has values that are not whole numbers (type int)."
    assert caught.value.__context__ is None


def test_invalid_utf8_in_an_arrow_string():
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"secret\xff"]).buffers())
    for array in (broken, broken.dictionary_encode()):
        with pytest.raises(DataError) as caught:
            list(open_source(array).batches())
        assert str(caught.value) == "The data has text that is not valid UTF-8."


@SEEDED
@given(st.lists(st.binary(max_size=11)), st.integers(0, 12), st.integers(0, 12), st.booleans())
def test_utf8_check_is_that_of_python(values, start, length, large):
    kinds = (pa.large_binary(), pa.large_string()) if large else (pa.binary(), pa.string())
    array = pa.Array.from_buffers(kinds[1], len(values), pa.array(values, kinds[0]).buffers()).slice(
        start, length
    )

    def valid(value):
        try:
            return bool(value.decode()) or True
        except UnicodeDecodeError:
            return False

    assert is_utf8(array) == all(map(valid, values[start : start + length]))


LONG, SHORT = "x" * 4097, "x" * 4096
WAYS = {
    "text": pa.array,
    "large": lambda values: pa.array(values, pa.large_string()),
    "bytes": lambda values: pa.array([value and value.encode() for value in values]),
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
    "views": lambda values: pa.array(values, pa.string_view()),
    "list": list,
    "lazy": lambda values: pl.LazyFrame({"a": values}),
}


@pytest.mark.parametrize("way", WAYS)
def test_longer_keys_are_dropped_like_nulls(way):
    data = WAYS[way](["a", LONG, SHORT, None, "b"])
    source = open_source(data, ordered=False)
    kept = [key for batch in source.batches() for key in batch.keys.to_pylist()]
    assert [len(key) for key in kept] == [1, 4096, 1]
    assert source.notes[-2:] == ("Null keys are dropped.", "Keys longer than 4096 bytes are dropped.")
    assert sum(batch.rows for batch in open_source(data).batches()) in (5, 3)


@pytest.mark.parametrize("way", WAYS)
def test_longer_keys_stop_the_run_on_request(way):
    fail = KeyLimit.of(4096, "fail")
    source = open_source(WAYS[way](["a", LONG, "b"]), limit=fail)
    assert source.notes[-1] == "Keys longer than 4096 bytes stop the run."
    with pytest.raises(DataError) as caught:
        list(source.batches())
    assert str(caught.value) == "A key is longer than 4096 bytes; shorten or hash such keys first."
    assert list(open_source(WAYS[way](["a", SHORT, None]), limit=fail).batches())


def test_the_limit_counts_bytes_of_the_whole_key():
    table = pa.table({"a": ["é", "éé", "aaaa"], "b": [1, 1, 11], "user": ["u", "v", "w"]})
    three = KeyLimit.of(3, "drop")
    (batch,) = open_source(table, column="a", limit=three).batches()
    assert batch.keys.to_pylist() == ["é"]
    (batch,) = open_source(table, column=["a", "b"], limit=KeyLimit.of(7, "drop")).batches()
    assert batch.keys.to_pylist() == [b"2:\xc3\xa91:1"]
    (batch,) = open_source(table, column=["a", "b"], user="user", limit=KeyLimit.of(7, "drop")).batches()
    assert batch.keys.to_pylist() == [{"user": "u", "key": b"2:\xc3\xa91:1"}]
    (batch,) = open_source(pa.array([b"abcd"], pa.binary(4)), limit=three).batches()
    assert len(batch.keys) == 0
    numbers = open_source(pa.array([1 << 40]), limit=three)
    assert numbers.notes == ("Null keys are dropped.",)
    assert [batch.keys.to_pylist() for batch in numbers.batches()] == [[1 << 40]]


def test_whether_a_key_is_dropped_depends_on_its_row_alone():
    values = ["a", LONG, None, SHORT]
    alone = [len(batch.keys) for value in values for batch in open_source([value]).batches()]
    assert alone == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("size", "on_bad", "text"),
    [
        (0, "drop", "max_key_bytes must be at least 1, got 0."),
        (65536, "drop", "max_key_bytes must be at most 65535, got 65536."),
        (True, "drop", "max_key_bytes must be a whole number, got True."),
        (float("nan"), "drop", "max_key_bytes must be a whole number, got nan."),
        (5, "skip", "on_bad must be one of drop, fail, got 'skip'."),
        (5, "", "on_bad must be one of drop, fail, got ''."),
        (5, None, "on_bad must be one of drop, fail, got None."),
    ],
)
def test_refused_limits(size, on_bad, text):
    with pytest.raises(ParameterError) as caught:
        KeyLimit.of(size, on_bad)
    assert str(caught.value) == text


def test_types_that_cannot_be_written_are_refused_before_counting():
    table = pa.table({"a": pa.array([0], pa.timestamp("us", "Mars/Phobos")), "b": ["x"]})
    for asked in ({"column": "a"}, {"column": ["a", "b"]}):
        with pytest.raises(DataError) as caught:
            open_source(table, **asked)
        text = "The time zone Mars/Phobos of the keys is not known here; convert them to UTC."
        assert str(caught.value) == text
    assert list(open_source(table, column="b", user="a").batches())  # users are not written


def test_times_as_text_on_request():
    (batch,) = open_source(pa.array([0], pa.timestamp("us", "GMT+05:30")), key_type="text").batches()
    assert batch.keys.to_pylist() == ["1970-01-01 05:30:00+05:30"]
