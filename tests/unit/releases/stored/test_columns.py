import pyarrow as pa
import pytest

from hushcount.releases.stored.columns import column_from, column_plain, table_from, type_from, type_plain


def test_values_are_exact():
    times = pa.array([0, None], pa.int64()).view(pa.timestamp("us", "GMT+05:30"))
    assert column_plain("time", times) == {
        "name": "time",
        "type": "timestamp[us, tz=GMT+05:30]",
        "values": [0, None],
    }
    assert column_plain("b", pa.array([b"\xff"]))["values"] == ["ff"]
    assert column_plain("d", pa.array(["a", "b", "a"]).dictionary_encode())["type"] == "string"


def test_text_that_is_not_utf8_is_a_list_of_bytes():
    odd = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"a"]).buffers())
    plain = column_plain("key", odd)
    assert plain["values"] == [[255], "a"]
    name, again = column_from(plain)
    assert name == "key"
    assert again.type == pa.string()
    assert again.cast(pa.binary()).to_pylist() == [b"\xff", b"a"]


@pytest.mark.parametrize(
    "text",
    ["list<item: int64>", "fixed_size_binary[1048577]", "decimal128(99, 2)", "timestamp[us, tz=]", "", 5],
)
def test_no_other_type_is_read(text):
    with pytest.raises((ValueError, pa.ArrowException)):
        type_from(text)


def test_types_that_keys_cannot_have_are_not_written():
    with pytest.raises(ValueError, match=r"type|list"):
        type_plain(pa.list_(pa.int64()))


def test_columns_have_different_names():
    one = {"name": "a", "type": "int64", "values": [1]}
    assert table_from([one]).to_pydict() == {"a": [1]}
    with pytest.raises(ValueError, match="columns"):
        table_from([one, one])
    with pytest.raises(ValueError, match="whole number"):
        table_from([one | {"values": ["1"]}])
