"""Whether a row is in a window depends on its own time alone."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from hushcount.accounting.windows import TimeWindow
from hushcount.errors import ParameterError
from hushcount.keys.columns import KeyColumns
from hushcount.keys.times import EPOCH, MICROSECOND, TimeColumn

DAY = TimeWindow.parse("2026-11-15")


def column(zone="UTC", window=DAY):
    return TimeColumn("time", window.start, window.stop, zone)


@pytest.mark.parametrize(
    ("text", "zone", "inside"),
    [
        ("2026-11-15", "UTC", True),
        ("2026-11-15T00:00:00Z", "UTC", True),
        ("2026-11-14T23:59:59.999999Z", "UTC", False),
        ("2026-11-15 23:59:59.999999", "UTC", True),
        ("2026-11-16T00:00:00Z", "UTC", False),
        ("2026-11-15T00:30:00+01:00", "UTC", False),
        ("2026-11-16T00:30:00+01:00", "UTC", True),
        ("2026-11-15T00:30:00", "Europe/Zurich", False),
        ("2026-11-16T00:30:00", "Europe/Zurich", True),
        ("2026-02-30", "UTC", False),
        ("yesterday", "UTC", False),
        ("", "UTC", False),
        (None, "UTC", False),
    ],
)
def test_text(text, zone, inside):
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        assert column(zone).within(pa.array([text], kind)).to_pylist() == [inside]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_any_unit(unit):
    times = ["2026-11-14T23:59:59", "2026-11-15T00:00:00", "2026-11-15T23:59:59", "2026-11-16T00:00:00", None]
    array = pa.array([time and datetime.fromisoformat(time) for time in times], pa.timestamp(unit))
    assert column().within(array).to_pylist() == [False, True, True, False, False]
    zoned = array.cast(pa.timestamp(unit, "UTC"))
    assert column("Europe/Zurich").within(zoned).to_pylist() == [False, True, True, False, False]


def test_a_nanosecond_before_midnight_is_the_day_before():
    instants = [DAY.start * 1000 - 1, DAY.start * 1000, DAY.stop * 1000 - 1, DAY.stop * 1000]
    array = pa.array(instants, pa.int64()).cast(pa.timestamp("ns"))
    assert column().within(array).to_pylist() == [False, True, True, False]


def test_naive_times_are_of_the_zone():
    window = TimeWindow.parse("2026-11-14T23:00:00Z/2026-11-15T23:00:00Z")
    times = [datetime(2026, 11, 15, 0, 30), datetime(2026, 11, 16, 0, 0), datetime(2026, 11, 14, 23, 30)]
    array = pa.array(times, pa.timestamp("us"))
    assert column("Europe/Zurich", window).within(array).to_pylist() == [True, False, False]
    assert column("UTC", window).within(array).to_pylist() == [True, False, True]


def test_clocks_that_change_place_text_and_times_alike():
    """Otherwise a row of the skipped hour is in one window as text, and in another as an Arrow time."""
    naive = ["2026-03-29T01:59:59", "2026-03-29T02:30:00", "2026-10-25T02:30:00"]
    instants = ["2026-03-29T00:59:59", "2026-03-29T01:00:00", "2026-10-25T00:30:00"]
    for text, instant in zip(naive, instants, strict=True):
        start = (datetime.fromisoformat(f"{instant}Z") - EPOCH) // MICROSECOND
        told = TimeColumn("at", start, start + 1, "Europe/Zurich")
        assert told.within(pa.array([text])).to_pylist() == [True]
        for unit in ("s", "ms", "us", "ns"):
            times = pa.array([datetime.fromisoformat(text)], pa.timestamp(unit))
            assert told.within(times).to_pylist() == [True]


def test_dates_are_their_midnight():
    array = pa.array([date(2026, 11, 14), date(2026, 11, 15), date(2026, 11, 16)])
    assert column().within(array).to_pylist() == [False, True, False]
    assert column().within(array.cast(pa.date64())).to_pylist() == [False, True, False]


def test_no_time_is_in_no_window():
    assert column().within(pa.nulls(2)).to_pylist() == [False, False]
    assert column().within(pa.chunked_array([["2026-11-15"], ["x"]])).to_pylist() == [True, False]


def test_far_windows_do_not_overflow():
    window = TimeWindow.parse("0001-01-01/9999-12-31")
    array = pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("ns", "UTC"))
    assert column("UTC", window).within(array).to_pylist() == [True]


def test_other_types_are_refused():
    with pytest.raises(ParameterError) as refused:
        column().check(pa.int64())
    assert str(refused.value) == "time must be a column of times or of ISO text, got int64."


def test_removing_a_row_changes_no_other():
    """The rows that are kept are those of each row by itself, whatever the others are."""
    texts = ["2026-11-15", "x", "2026-11-15T05:00:00Z", "2026-02-30", None, "2026-11-16"]
    alone = [column().within(pa.array([text], pa.string()))[0].as_py() for text in texts]
    for place in range(len(texts)):
        others = texts[:place] + texts[place + 1 :]
        expected = alone[:place] + alone[place + 1 :]
        assert column().within(pa.array(others, pa.string())).to_pylist() == expected


def test_keys_of_the_window():
    columns = KeyColumns.of("url", "auto").with_time(column()).typed([pa.string(), pa.string()])
    keys = columns.keys(
        [pa.array(["a", "b", None, "c"]), pa.array(["2026-11-15", "x", "2026-11-15", "2026-11-15"])]
    )
    assert keys.to_pylist() == ["a", "c"]
    assert columns.without_time() == KeyColumns.of("url", "auto").typed([pa.string()])


def test_users_and_several_columns():
    columns = KeyColumns.of(["a", "b"], "auto").with_user("who").with_time(column())
    assert columns.names == ("a", "b", "who", "time")
    typed = columns.typed([pa.string(), pa.string(), pa.int64(), pa.date32()])
    days = pa.array([date(2026, 11, 15), date(2026, 11, 16)])
    pairs = typed.keys([pa.array(["x", "y"]), pa.array(["u", "v"]), pa.array([1, 2]), days])
    assert pairs.field("user").to_pylist() == [1]
    assert typed.without_time().user == "who"


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (lambda: KeyColumns.of(None, "auto"), "column must be named with time, got None."),
        (lambda: KeyColumns.of("time", "auto"), "time must be another column than keys and users, got time."),
    ],
)
def test_a_time_column_is_another_column(columns, sentence):
    with pytest.raises(ParameterError) as refused:
        columns().with_time(column())
    assert str(refused.value) == sentence
