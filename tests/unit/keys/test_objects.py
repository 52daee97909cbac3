"""Python values as keys: the key of a value is a function of that value alone."""

import datetime as dt
import decimal
import enum
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hushcount.errors import DataError
from hushcount.keys.objects import InexactTimeError, Objects, numpy_array

MIXED = "The data mixes types, or holds none that can be keys; make them all text or whole numbers."
WIDE = "The data has whole numbers beyond 64 bits; pass them as text, or as numpy uint64."
INEXACT = "The data has times that whole microseconds cannot hold; round them first."
NOT_UTF8 = "The data has text that is not valid UTF-8."
INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))
DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12)


class Colour(enum.StrEnum):
    RED = "red"


class Old(str, enum.Enum):  # noqa: UP042
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Odd(dt.tzinfo):
    """A zone whose distance from UTC is no whole number of seconds."""

    def utcoffset(self, when):
        return dt.timedelta(microseconds=1)


class Vague(dt.tzinfo):
    """A zone that does not know its distance from UTC: by Python's rule such times have none."""

    def utcoffset(self, when):
        return None


def ticks(values):
    return Objects().array(values).cast(pa.int64()).to_pylist()


@pytest.mark.parametrize(
    ("values", "kind", "stored"),
    [
        (["a", np.str_("b"), Colour.RED, Old.RED], pa.string(), ["a", "b", "red", "red"]),
        (
            [b"a", np.bytes_(b"b"), bytearray(b"c"), memoryview(b"d-e-")[::2]],
            pa.binary(),
            [b"a", b"b", b"c", b"de"],
        ),
        ([True, np.bool_(False)], pa.bool_(), [True, False]),
        ([1, np.uint8(2), np.int64(-3), Number.ONE, 2**63 - 1], pa.int64(), [1, 2, -3, 1, 2**63 - 1]),
        ([DAY, np.datetime64("2024-02-28")], pa.date32(), [DAY, dt.date(2024, 2, 28)]),
        ([dt.time(1, 2, 3, 4)], pa.time64("us"), [dt.time(1, 2, 3, 4)]),
        ([uuid.UUID(int=5)], pa.binary(16), [bytes(15) + b"\x05"]),
        (
            [NOON, pd.Timestamp(NOON), np.datetime64(NOON), NOON.replace(tzinfo=Vague())],
            pa.timestamp("us"),
            [NOON] * 4,
        ),
        ([None, pd.NaT, np.datetime64("NaT"), "a"], pa.string(), [None, None, None, "a"]),
        ([None, pd.NaT], pa.null(), [None, None]),
        (
            ["a", float("nan"), np.float32("nan"), pd.NA, decimal.Decimal("NaN")],
            pa.string(),
            ["a", *[None] * 4],
        ),
        ([float("nan"), pd.NA, 7], pa.int64(), [None, None, 7]),
        ([1.5], pa.float64(), [1.5]),  # which is refused by its type, with its own sentence
    ],
    ids=lambda value: None if isinstance(value, list) else str(value),
)
def test_every_kind_has_one_declared_type(values, kind, stored):
    objects = Objects()
    array = objects.array(values)
    assert (array.type, array.to_pylist()) == (kind, stored)
    assert objects.declared == kind


def test_times_with_a_zone_are_stored_as_utc():
    values = [NOON.replace(tzinfo=INDIA), pd.Timestamp(NOON, tz="Europe/Berlin"), NOON.replace(tzinfo=dt.UTC)]
    assert Objects().array(values).type == pa.timestamp("us", "UTC")
    noon = 1_709_208_000_000_000
    assert ticks(values) == [noon - 19_800_000_000, noon - 3_600_000_000, noon]
    for order in (values, values[::-1], values[1:], values[:1] * 3):
        assert set(ticks(order)) <= set(ticks(values))
    assert ticks([NOON.replace(tzinfo=Odd())]) == [noon - 1]
    # Beyond Python's own calendar in UTC.
    assert ticks([dt.datetime(1, 1, 1, tzinfo=INDIA)]) == [-62_135_596_800_000_000 - 19_800_000_000]


def test_the_hour_that_comes_twice_is_two_hours():
    berlin = pd.Timestamp("2024-10-27 00:30", tz="UTC").tz_convert("Europe/Berlin").tz
    early = dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin)
    assert ticks([early, early.replace(fold=1)])[1] - ticks([early])[0] == 3_600_000_000


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([DAY, NOON], MIXED),
        ([NOON, NOON.replace(tzinfo=INDIA)], MIXED),
        ([np.datetime64("2024-02-29"), np.datetime64("2024-02-29T00")], MIXED),
        ([1, 1.0], MIXED),
        ([1, True], MIXED),
        ([1, np.bool_(True)], MIXED),
        (["a", b"a"], MIXED),
        (["a", 1], MIXED),
        (["a", 0.5], MIXED),
        ([dt.time(1), NOON], MIXED),
        ([dt.time(1, tzinfo=INDIA)], MIXED),
        ([decimal.Decimal(1)], MIXED),
        ([dt.timedelta(1)], MIXED),
        ([Path("a")], MIXED),
        ([("a", 1)], MIXED),
        ([uuid.UUID(int=5), b"\0" * 16], MIXED),
        ([2**63], WIDE),
        ([-(2**63) - 1], WIDE),
        ([np.uint64(2**63)], WIDE),
        ([pd.Timestamp("2024-02-29T00:00:00.000000001")], INEXACT),
        ([np.datetime64(1, "ns")], INEXACT),
        ([np.datetime64(1, "ps")], INEXACT),
        ([np.datetime64(10**12, "Y")], INEXACT),
        (["\ud800"], NOT_UTF8),
    ],
    ids=str,
)
def test_mixed_kinds_and_inexact_values_are_refused(values, sentence):
    for order in (values, values[::-1], [*values, None], values * 3):
        with pytest.raises(DataError) as caught:
            Objects().array(order)
        assert str(caught.value) == sentence
        assert (caught.value.__context__, caught.value.__cause__) == (None, None)
    with pytest.raises(DataError) as caught:
        one_by_one(values)
    assert str(caught.value) == sentence


def one_by_one(values):
    objects = Objects()  # takes one kind in all calls
    for value in values:
        objects.array([value])


@pytest.mark.parametrize("key", ["a", "é", 5, -(2**63), True, b"a", NOON, None])
def test_one_key_of_any_kind_is_taken(key):
    assert len(Objects().array([key])) == 1


@pytest.mark.parametrize(
    ("kind", "arrow"),
    [("M8[Y]", "s"), ("M8[h]", "s"), ("M8[25s]", "s"), ("M8[7ms]", "ms"), ("M8[us]", "us"), ("M8[ns]", "ns")],
)
def test_numpy_times_of_every_unit(kind, arrow):
    times = np.array(["1970-01-01", "2024-02-29", "NaT"], "M8[D]").astype(kind)
    array = numpy_array(times)
    assert array.type == pa.timestamp(arrow)
    assert (array.to_numpy(zero_copy_only=False) == times)[:2].all()
    assert array.null_count == 1


def test_numpy_times_that_overflow_are_refused():
    with pytest.raises(InexactTimeError):
        numpy_array(np.array([10**12], "M8[Y]"))
