"""Weights of rows: read, cut and refused row by row."""

from dataclasses import replace

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.keys.columns import KeyColumns
from hushcount.keys.weights import LARGEST_WEIGHT, WeightColumn


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([5, -5, 0, None, 100], pa.int8()), [5, -5, 0, None, 10]),
        (pa.array([5, (1 << 64) - 1, None], pa.uint64()), [5, 10, None]),
        (pa.array([-(1 << 63), (1 << 63) - 1], pa.int64()), [-10, 10]),
        (
            pa.array([" 7 ", "+3", "-40", "1e3", "2.0", "", "1_0", "٣", "9" * 900, None]),
            [7, 3, -10] + [None] * 5 + [10, None],
        ),
        (pa.array(["4", "x", "4"]).dictionary_encode(), [4, None, 4]),
        (pa.nulls(2), [None, None]),
        (pa.chunked_array([[1], [20]]), [1, 10]),
    ],
)
def test_every_row_is_read_by_itself(values, expected):
    assert WeightColumn("n", 10).values(values, "drop").to_pylist() == expected


def test_rows_that_count_nothing_are_dropped():
    columns = KeyColumns.of("key", "auto").with_weight(WeightColumn("n", 9)).typed([pa.string(), pa.int64()])
    found = columns.keys([pa.array(["a", "b", None, "c", "d"]), pa.array([3, 0, 4, None, -20])])
    assert found.to_pylist() == [{"weight": 3, "key": "a"}, {"weight": -9, "key": "d"}]
    assert columns.without_weight().names == ("key",)


@pytest.mark.parametrize(("padded", "kept"), [(False, [5]), (True, [5, 6, 7])])
def test_nulls_among_several_key_columns_leave_weights_beside_their_keys(padded, kept):
    columns = KeyColumns.of(["a", "b"], "auto").with_weight(WeightColumn("n", 9))
    columns = replace(columns, padded=padded).typed([pa.string(), pa.string(), pa.int64()])
    rows = [["x", None, "y", None], ["p", "q", None, None], [5, 6, 7, 8]]
    found = columns.keys([pa.array(column) for column in rows])
    assert found.field("weight").to_pylist() == kept
    assert found.null_count == found.field("key").null_count == 0


REAL = (
    "weight must be a column of whole numbers, got {}: a sum of real numbers is no count, and noise on whole"
    " numbers does not hide its last digits. Round them, in smaller units if need be, such as cents."
)


@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(9, 2), pa.bool_(), pa.date32()], ids=str)
def test_real_weights_are_refused(kind):
    with pytest.raises(hc.errors.ParameterError) as caught:
        WeightColumn("n").check(kind)
    assert str(caught.value) == REAL.format(kind)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("n", 0), "max_weight must be at least 1, got 0."),
        (("n", LARGEST_WEIGHT + 1), "max_weight must be at most 2147483647, got 2147483648."),
        (("n", 1.5), "max_weight must be a whole number, got 1.5."),
        ((7, 1), "weight must be the name of a column, got int."),
    ],
)
def test_bad_options(given, sentence):
    with pytest.raises(hc.errors.ParameterError) as caught:
        WeightColumn(*given)
    assert str(caught.value) == sentence


def test_a_bad_weight_may_stop_the_run():
    with pytest.raises(
        hc.errors.DataError, match=r"^A weight is not a whole number; correct it, or drop such rows\.$"
    ):
        WeightColumn("n").values(pa.array(["1", "secret"]), "fail")


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (None, "column must be named with weight, got None."),
        ("n", "weight must be another column than keys and users, got n."),
    ],
)
def test_the_column_is_one_of_its_own(column, sentence):
    with pytest.raises(hc.errors.ParameterError) as caught:
        KeyColumns.of(column, "auto").with_weight(WeightColumn("n"))
    assert str(caught.value) == sentence


def test_one_column_of_keys_has_no_weights():
    with pytest.raises(
        hc.errors.ParameterError, match=r"^weight must name a column, but the data are one column"
    ):
        hc.oracle(["a"], column="key", weight="n", epsilon=1.0, delta=1e-6)
