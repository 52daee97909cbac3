"""Data in memory, of every library, in order and with its types."""

import datetime
import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushcount import privacy
from hushcount.errors import DataError, ParameterError
from hushcount.sources.open import open_source

TEXT = [f"k{i % 13}" for i in range(100)]
FRAME = {"url": TEXT, "n": list(range(100))}
LONG = "Keys longer than 4096 bytes are dropped."


def keys_of(source, skip=0):
    return [key for batch in source.batches(skip) for key in batch.keys.to_pylist()]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("hushcount.keys.memory.BATCH_ROWS", 17)
    monkeypatch.setattr("hushcount.keys.memory.OBJECT_ROWS", 17)


class Stream:
    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(FRAME).to_reader(33).__arrow_c_stream__(requested_schema)


ARRAYS = {
    "list": TEXT,
    "tuple": tuple(TEXT),
    "numpy text": np.array(TEXT),
    "numpy objects": np.array(TEXT, dtype=object),
    "series": pd.Series(TEXT),
    "object series": pd.Series(TEXT, dtype=object),
    "categories": pd.Series(TEXT, dtype="category"),
    "index": pd.Index(TEXT),
    "polars": pl.Series(TEXT),
    "polars categories": pl.Series(TEXT, dtype=pl.Categorical),
    "arrow": pa.array(TEXT),
    "arrow dictionary": pa.array(TEXT).dictionary_encode(),
    "arrow view": pa.array(TEXT, pa.string_view()),
    "arrow chunks": pa.chunked_array([TEXT[:31], TEXT[31:]]),
}
FRAMES = {
    "pandas": lambda: pd.DataFrame(FRAME),
    "polars": lambda: pl.DataFrame(FRAME),
    "lazy": lambda: pl.LazyFrame(FRAME),
    "table": lambda: pa.table(FRAME),
    "record batch": lambda: pa.RecordBatch.from_pydict(FRAME),
    "reader": lambda: pa.table(FRAME).to_reader(33),
    "stream": Stream,
}
UNORDERED = ("lazy", "reader", "stream")


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    source = open_source(ARRAYS[name])
    assert keys_of(source) == TEXT
    for skip in (1, 16, 17, 18, 99, 100, 101):
        assert keys_of(source, skip) == TEXT[skip:]
    assert sum(batch.rows for batch in source.batches()) == 100
    assert (source.unit, source.fingerprint, source.size, source.state) == (privacy.EVENT, "", None, {})
    assert source.notes == ("Null keys are dropped.", LONG)
    assert keys_of(open_source(ARRAYS[name], column="url")) == TEXT


@pytest.mark.parametrize("name", FRAMES)
def test_frames(name):
    assert keys_of(open_source(FRAMES[name](), column="url", ordered=False)) == TEXT
    assert keys_of(open_source(FRAMES[name](), column="n", ordered=False), 20) == list(range(20, 100))
    with pytest.raises(ParameterError) as caught:
        open_source(FRAMES[name](), column="usr")
    place = "frame" if name in ("pandas", "polars", "lazy") else "table"
    assert str(caught.value) == f"Column 'usr' is not in the {place}; it has: url, n."
    with pytest.raises(ParameterError) as caught:
        open_source(FRAMES[name]())
    assert str(caught.value) == f"column must be named; the {place} has: url, n."


@pytest.mark.parametrize("name", FRAMES)
def test_several_columns(name):
    source = open_source(FRAMES[name](), column=["n", "url"], ordered=False)
    keys = pa.concat_arrays([batch.keys for batch in source.batches()])
    decoded = source.decode(keys)
    assert decoded.to_pydict() == {"n": list(range(100)), "url": TEXT}
    assert decoded.schema.field("n").type == pa.int64()
    assert source.key_names == ("n", "url")
    unit = ("The unit is one row of the result.",) if name in UNORDERED else ()
    assert source.notes == (*unit, "Rows with a null in a key column are dropped.", LONG)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("column", ["url", "n", ["n", "url"]])
def test_rows_without_an_order_of_their_own_are_sorted_by_a_secret_hash(name, column):
    """Whoever depends on the order gets one in which no other row has a part."""
    as_it_comes = keys_of(open_source(FRAMES[name](), column=column, ordered=False))
    source = open_source(FRAMES[name](), column=column)
    if name not in UNORDERED:
        assert source.unit is privacy.EVENT
        assert keys_of(source) == as_it_comes
        return
    assert source.unit is privacy.STREAM_ROW
    assert source.notes[0] == "The unit is one row of the result."
    keys = keys_of(source)
    assert sorted(keys) == sorted(as_it_comes)
    assert keys != as_it_comes
    assert keys != keys_of(open_source(FRAMES[name](), column=column))  # under another secret


@pytest.mark.parametrize("gone", [0, 7, 99])
def test_without_one_row_all_others_keep_their_order(gone, monkeypatch):
    monkeypatch.setattr("hushcount.sources.duckdb.counted.fresh_key", lambda: b"k" * 16)
    table = pa.table({"key": [f"k{i}" for i in range(100)]})
    whole = keys_of(open_source(table.to_reader(33)))
    other = pa.concat_tables([table.slice(gone + 1), table.slice(0, gone)])  # and in another order
    assert keys_of(open_source(other.to_reader(7))) == [key for key in whole if key != f"k{gone}"]
    assert keys_of(open_source(table.to_reader(33)), 20) == whole[20:]
    assert keys_of(open_source(table.slice(0, 0).to_reader())) == []


def test_spark_frames_go_to_the_spark_engine():
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe", "__arrow_c_stream__": None})
    with pytest.raises(ParameterError) as caught:
        open_source(kind())
    assert str(caught.value) == (
        "data must not be a Spark frame, whose rows have no fixed order;"
        " hc.top, hc.tree, hc.sample and hc.oracle count one on Spark."
    )


def test_generator_and_list_of_one():
    source = open_source((key for key in TEXT), column=["url"])
    assert keys_of(source) == TEXT
    assert source.decode(pa.array(["a"])).to_pydict() == {"url": ["a"]}


def test_nulls_of_every_kind():
    assert keys_of(open_source([None] * 40 + ["a", None])) == ["a"]
    assert keys_of(open_source(pd.Series(["a", None, np.nan, pd.NA], dtype=object))) == ["a"]
    assert keys_of(open_source(pd.Series([1, None], dtype="Int16"))) == [1]
    assert keys_of(open_source(pa.array([None, None]))) == []
    assert keys_of(open_source(np.ma.array([1, 2], mask=[True, False]))) == [2]
    assert keys_of(open_source(pa.DictionaryArray.from_arrays([0, 1, None], pa.array(["a", None])))) == ["a"]
    assert keys_of(open_source(pl.Series([None, b"a"]))) == [b"a"]


def test_numpy_kinds():
    for kind in ("i1", "u8", ">i4", "<i8", "?"):
        array = np.array([1, 0, 1], dtype=kind)
        (batch,) = open_source(array).batches()
        assert batch.keys.to_pylist() == array.tolist()
        assert batch.keys.type == pa.from_numpy_dtype(array.dtype.newbyteorder("="))
    assert keys_of(open_source(np.array([b"a", b"b"]))) == [b"a", b"b"]
    for unit in "DhsMY":
        keys = keys_of(open_source(np.array(["2020-01-01"], dtype=f"datetime64[{unit}]")))
        assert str(keys[0])[:10] == "2020-01-01"


def test_pandas_column_labels_are_text():
    assert keys_of(open_source(pd.DataFrame([[1, 2]]), column="1")) == [2]


def test_pandas_objects_in_a_composite_key():
    frame = pd.DataFrame({"a": [None] * 20 + [5, 6], "b": ["x"] * 22}, dtype=object)
    source = open_source(frame, column=["a", "b"])
    keys = pa.concat_arrays([batch.keys for batch in source.batches()])
    assert source.decode(keys).to_pydict() == {"a": [5, 6], "b": ["x", "x"]}
    frame.loc[21, "a"] = "secret"
    with pytest.raises(DataError) as caught:
        keys_of(open_source(frame, column=["a", "b"]))
    assert str(caught.value) == MIXED


@pytest.mark.parametrize("data", [np.array([1j]), pd.Series([1j]), pl.Series([object()], dtype=pl.Object)])
def test_types_that_arrow_has_not(data):
    with pytest.raises(DataError) as caught:
        keys_of(open_source(data))
    assert str(caught.value) == MIXED


def test_a_duckdb_connection_is_refused_with_the_way_out():
    connection = duckdb.connect()
    connection.execute("SELECT range AS n FROM range(100)")  # whose rows it would hand out
    with pytest.raises(ParameterError) as refused:
        open_source(connection, column="n")
    assert str(refused.value) == (
        "data must not be a DuckDB connection, which holds many tables; give a query of it, as"
        ' connection.sql("SELECT query FROM searches"), or a table, as connection.table("searches").'
    )


def test_duckdb_relation():
    connection = duckdb.connect()
    relation = connection.sql("SELECT range % 7 AS n, range AS m FROM range(100)")
    source = open_source(relation, column="n")
    assert sorted(keys_of(source)) == sorted(n % 7 for n in range(100))
    assert source.unit is privacy.RESULT_ROW
    assert source.notes == ("The unit is one row of the SQL result.", "Null keys are dropped.")


MIXED = "The data mixes types, or holds none that can be keys; make them all text or whole numbers."


@pytest.mark.parametrize(
    "values",
    [
        ["secret", 1],
        [1, "secret"],
        ["secret", b"secret"],
        [1, True],
        ["a"] * 40 + [7],
        [7] * 40 + ["secret"],
        [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)],
        [("secret", 1)],
        [object()],
    ],
)
@pytest.mark.parametrize("wrap", [list, iter, lambda values: pd.Series(values, dtype=object)])
def test_mixed_types(values, wrap):
    with pytest.raises(DataError) as caught:
        keys_of(open_source(wrap(values)))
    assert str(caught.value) == MIXED
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_integers_beyond_64_bits_and_lone_surrogates():
    with pytest.raises(DataError) as caught:
        keys_of(open_source([2**64]))
    assert (
        str(caught.value)
        == "The data has whole numbers beyond 64 bits; pass them as text, or as numpy uint64."
    )
    with pytest.raises(DataError) as caught:
        keys_of(open_source(["\ud800"]))
    assert str(caught.value) == "The data has text that is not valid UTF-8."


def test_refused_types():
    floats = "holds floating point numbers; bin or round them to whole numbers first."
    with pytest.raises(DataError) as caught:
        open_source(pd.DataFrame({"x": [1.5]}), column="x")
    assert str(caught.value) == f"Column 'x' {floats}"
    for data in (np.array([1.5]), pl.Series([1.5]), pa.array([1.5])):
        with pytest.raises(DataError) as caught:
            open_source(data)
        assert str(caught.value) == f"The data {floats}"
    with pytest.raises(DataError) as caught:
        keys_of(open_source([1.5, 2]))
    assert str(caught.value) == MIXED
    with pytest.raises(DataError) as caught:
        open_source(pa.array([decimal.Decimal("1.5")]))
    assert str(caught.value) == "The data holds decimal numbers; cast them to text or whole numbers first."
    with pytest.raises(DataError) as caught:
        open_source(pa.array([[1]]))
    text = "The data holds nested values; select one field of them, or cast them to text first."
    assert str(caught.value) == text
    with pytest.raises(DataError) as caught:
        open_source(pa.array([1], pa.duration("s")))
    text = "The data holds values of type duration[s]; cast them to text or whole numbers first."
    assert str(caught.value) == text


@pytest.mark.parametrize("data", [{"a": 1}, {"a"}, iter({"a"}), b"abc", 5, None, pa.scalar(1)])
def test_refused_data(data):
    with pytest.raises(ParameterError) as caught:
        open_source(data)
    text = "data must be a path, a frame, an array or an ordered iterable of keys, got"
    assert str(caught.value) == f"{text} {type(data).__name__}."


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"column": ["a", "a"]}, "column must be a name, or a list of different names."),
        ({"column": []}, "column must be a name, or a list of different names."),
        ({"column": 5}, "column must be a name, or a list of different names."),
        ({"column": ["a", "b"]}, "column must be one name for data of one column, got 2 names."),
        ({"key_type": "float"}, "type must be one of auto, text, int, got 'float'."),
        ({"format": "csv"}, "format is for files; data in memory has its own."),
        (
            {"sql": "SELECT 1"},
            "sql and relation need data that is a database: postgresql://..., a DuckDB or SQLite file, or an"
            " ADBC connection.",
        ),
    ],
)
def test_refused_parameters(arguments, text):
    with pytest.raises(ParameterError) as caught:
        open_source(["a"], **arguments)
    assert str(caught.value) == text


def test_refused_numpy_shapes():
    with pytest.raises(ParameterError) as caught:
        open_source(np.zeros((2, 2), dtype=int))
    assert str(caught.value) == "data must be an array of one dimension, got 2."
    with pytest.raises(ParameterError) as caught:
        open_source(np.zeros(2, dtype=[("a", int)]))
    assert str(caught.value) == "data must be a plain array, got a structured one; pass one of its fields."


def test_repeated_column():
    with pytest.raises(ParameterError) as caught:
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"]), column="a")
    assert str(caught.value) == "Column 'a' occurs more than once in the frame."


@pytest.mark.parametrize("widest", [np.int8(5), np.int64(5), 5, np.uint16(5)])
def test_whole_numbers_in_an_iterable_have_one_type(widest):
    """Otherwise one event of another width would show in the type of the result."""
    batches = list(open_source([np.int8(1)] * 3 + [widest]).batches())
    assert [batch.keys.type for batch in batches] == [pa.int64()]
