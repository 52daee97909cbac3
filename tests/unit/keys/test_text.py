"""Keys as text: every value of every type of keys has one, and unknown types are refused beforehand."""

import datetime as dt
import random

import pyarrow as pa
import pytest

from hushcount.errors import DataError
from hushcount.keys.text import check_writable, key_text, zone_of

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("kind", "values", "texts"),
    [
        (pa.string(), ["é", "", None], ["é", "", None]),
        (pa.large_string(), ["é"], ["é"]),
        (pa.string_view(), ["é"], ["é"]),
        (pa.binary(), [b"tea", b"\xff\x00", None], ["tea", "\\xff\x00", None]),
        (pa.binary(2), [b"\xc3\xa9"], ["é"]),
        (pa.binary_view(), [b"\xff"], ["\\xff"]),
        (pa.int8(), [-128], ["-128"]),
        (pa.uint64(), [2**64 - 1], ["18446744073709551615"]),
        (pa.bool_(), [True, False], ["true", "false"]),
        (pa.null(), [None], [None]),
        (pa.dictionary(pa.int8(), pa.binary()), [b"b", None, b"b"], ["b", None, "b"]),
        (pa.uuid(), [b"0" * 16], ["0" * 16]),
        (
            pa.date32(),
            [0, -719_529, 2**31 - 1, -(2**31)],
            ["1970-01-01", "-0001-12-31", "+5881580-07-11", "-5877641-06-23"],
        ),
        (pa.date64(), [86_400_000, 1], ["1970-01-02", "1970-01-01 00:00:00.001"]),
        (pa.time32("s"), [0, 86_399], ["00:00:00", "23:59:59"]),
        (pa.time64("ns"), [1, 3_600_000_000_000], ["00:00:00.000000001", "01:00:00"]),
        (
            pa.timestamp("s"),
            [LARGEST, SMALLEST],
            ["+292277026596-12-04 15:30:07", "-292277022657-01-27 08:29:52"],
        ),
        (pa.timestamp("ms"), [1, -1], ["1970-01-01 00:00:00.001", "1969-12-31 23:59:59.999"]),
        (pa.timestamp("us"), [LARGEST], ["+294247-01-10 04:00:54.775807"]),
        (pa.timestamp("ns"), [LARGEST, 0], ["2262-04-11 23:47:16.854775807", "1970-01-01 00:00:00"]),
        (
            pa.timestamp("us", "GMT+05:30"),
            [0, LARGEST],
            ["1970-01-01 05:30:00+05:30", "+294247-01-10 09:30:54.775807+05:30"],
        ),
        (pa.timestamp("s", "-08"), [0], ["1969-12-31 16:00:00-08:00"]),
        (pa.timestamp("s", "UTC"), [253_402_300_800], ["+10000-01-01 00:00:00+00:00"]),
        (
            pa.timestamp("s", "Europe/Berlin"),
            [0, 1_720_000_000],
            ["1970-01-01 01:00:00+01:00", "2024-07-03 11:46:40+02:00"],
        ),
        (
            pa.timestamp("ms", "Europe/Berlin"),
            [LARGEST, SMALLEST],
            ["+292278994-08-17 09:12:55.807+02:00", "-292275055-05-16 17:40:32.192+00:53:28"],
        ),
    ],
    ids=str,
)
def test_every_type_has_a_text(kind, values, texts):
    check_writable(kind)
    written = key_text(pa.array(values, kind))
    assert written.type == pa.string()
    assert written.to_pylist() == texts


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Pacific/Apia", "UTC", "GMT+05:30", "-00:30"]
)
def test_times_are_written_as_python_does(zone):
    numbers = random.Random(zone)
    ticks = [numbers.randrange(-62_135_400_000, 253_402_200_000) * 10**6 for _ in range(500)]
    ticks += [tick + numbers.randrange(10**6) for tick in ticks]
    expected = [str((EPOCH + dt.timedelta(microseconds=tick)).astimezone(zone_of(zone))) for tick in ticks]
    assert key_text(pa.array(ticks, pa.timestamp("us", zone))).to_pylist() == expected


@pytest.mark.parametrize("zone", ["Mars/Phobos", "GMT+25", "+05:99", "../etc/passwd", "", "\x00"])
def test_unknown_zones_are_refused_beforehand(zone):
    kind = pa.timestamp("us", zone) if zone else pa.timestamp("us", " ")
    with pytest.raises(DataError) as caught:
        check_writable(kind)
    text = f"The time zone {kind.tz} of the keys is not known here; convert them to UTC."
    assert str(caught.value) == text
    assert caught.value.__context__ is None


def test_types_that_are_no_keys_are_refused():
    with pytest.raises(DataError) as caught:
        check_writable(pa.list_(pa.int8()))
    text = "Keys of type list<item: int8> cannot be written; cast them to text or whole numbers."
    assert str(caught.value) == text
