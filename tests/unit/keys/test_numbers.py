"""For how many events a row stands: read and refused row by row, and never off by more than one event."""

from decimal import Decimal

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.keys.columns import KeyColumns
from hushcount.keys.numbers import LARGEST_NUMBER, NO_NUMBER, EventNumbers


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([5, -5, 0, None, 100], pa.int8()), [5, None, 0, None, 100]),
        (pa.array([5, (1 << 64) - 1, None], pa.uint64()), [5, LARGEST_NUMBER, None]),
        (pa.array([-(1 << 63), (1 << 63) - 1], pa.int64()), [None, LARGEST_NUMBER]),
        (
            pa.array([" 7 ", "+3", "-4", "1e3", "2.0", "2.", "2.5", ".0", "", "1_0", "٣", "9" * 900, None]),
            [7, 3, None, None, 2, 2, None, None, None, None, None, LARGEST_NUMBER, None],
        ),
        (
            pa.array([2.0, 2.5, -1.0, -0.0, 1e-9, float("nan"), float("inf"), 1e300, None]),
            [2, None, None, 0, None, None, None, LARGEST_NUMBER, None],
        ),
        (
            pa.array([Decimal("3.00"), Decimal("3.01"), Decimal("-3.00"), None], pa.decimal128(38, 2)),
            [3, None, None, None],
        ),
        (pa.array(["4", "x", "4"]).dictionary_encode(), [4, None, 4]),
        (pa.nulls(2), [None, None]),
        (pa.chunked_array([[1], [20]]), [1, 20]),
    ],
)
def test_every_row_is_read_by_itself(values, expected):
    assert EventNumbers("n").values(values, "drop").to_pylist() == expected


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64(), pa.decimal128(20, 0)], ids=str)
def test_one_event_less_in_a_row_is_at_most_one_less(kind):
    """Larger numbers are cut, not dropped: a row that was dropped would take all its events away at once."""
    numbers = [0, 1, 2, LARGEST_NUMBER - 1, LARGEST_NUMBER, LARGEST_NUMBER + 1, LARGEST_NUMBER + 2]
    array = pa.array(list(map(str, numbers))).cast(kind)
    found = EventNumbers("n").values(array, "fail").to_pylist()
    assert found == [0, 1, 2] + [LARGEST_NUMBER - 1] + [LARGEST_NUMBER] * 3


def test_a_row_of_no_events_is_as_one_that_is_not_there():
    columns = KeyColumns.of("key", "auto").with_weight(EventNumbers("n")).typed([pa.string(), pa.int64()])
    found = columns.keys([pa.array(["a", "b", None, "c", "d"]), pa.array([3, 0, 4, None, -20])])
    assert found.to_pylist() == [{"weight": 3, "key": "a"}]
    assert columns.without_weight().names == ("key",)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.date32(), pa.list_(pa.int64())], ids=str)
def test_other_types_are_refused(kind):
    with pytest.raises(hc.errors.ParameterError) as caught:
        EventNumbers("n").check(kind)
    assert str(caught.value) == f"times must be a column of whole numbers, got {kind}."


@pytest.mark.parametrize("bad", [["1", "secret"], ["1", None], ["-1"], ["1.5"]])
def test_a_bad_number_may_stop_the_run(bad):
    with pytest.raises(hc.errors.DataError) as caught:
        EventNumbers("n").values(pa.array(bad), "fail")
    assert str(caught.value) == NO_NUMBER


@pytest.mark.parametrize(
    ("column", "name", "sentence"),
    [
        (None, "n", "column must be named with times, got None."),
        ("n", "n", "times must be another column than keys and users, got n."),
        ("a", 7, "times must be the name of a column, got int."),
    ],
)
def test_the_column_is_one_of_its_own(column, name, sentence):
    with pytest.raises(hc.errors.ParameterError) as caught:
        KeyColumns.of(column, "auto").with_weight(EventNumbers(name))
    assert str(caught.value) == sentence
