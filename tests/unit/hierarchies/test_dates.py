"""Dates: every spelling that is read, and none that is not."""

import pyarrow as pa
import pytest

from hushcount.errors import KeyTypeError
from hushcount.hierarchies.dates import Date


def label(key):
    leaves = Date().leaves(pa.array([key]))
    return None if leaves.null_count else Date().labels(leaves, [4])[0].as_py()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("2024", "2024-·-·T·"),
        ("2024-05", "2024-05-·T·"),
        ("2024-05-17", "2024-05-17T·"),
        ("2024-05-17T13", "2024-05-17T13"),
        ("2024-05-17 13:45", "2024-05-17T13"),
        ("2024-05-17t13:45:60", "2024-05-17T13"),
        ("2024-05-17T13:45:59.123456789Z", "2024-05-17T13"),
        ("2024-05-17T13:45:59,5z", "2024-05-17T13"),
        ("2024-05-17T13Z", "2024-05-17T13"),
        ("2024-05-17T13+01", "2024-05-17T12"),
        ("2024-05-17T00:15+0030", "2024-05-16T23"),
        ("2024-05-17T00:45+00:30", "2024-05-17T00"),
        ("2024-01-01T00:00+00:01", "2023-12-31T23"),
        ("2024-03-01T00:00+23:59", "2024-02-29T00"),
        ("2023-12-31T23:30-01:00", "2024-01-01T00"),
        ("2023-02-28T23:30-01:00", "2023-03-01T00"),
        ("2000-02-29", "2000-02-29T·"),
        ("0000-01-01", "0000-01-01T·"),
        ("9999-12-31T23:59", "9999-12-31T23"),
        ("0000-01-01T00:00+00:01", None),
        ("9999-12-31T23:59-00:01", None),
        ("1900-02-29", None),
        ("2024-02-30", None),
        ("2024-04-31", None),
        ("2024-00-01", None),
        ("2024-13-01", None),
        ("2024-01-00", None),
        ("2024-01-32", None),
        ("2024-05-17T24:00", None),
        ("2024-05-17T13:60", None),
        ("2024-05-17T13:45:61", None),
        ("2024-05-17T13:45:59.", None),
        ("2024-05-17T13:45.5", None),
        ("2024-05-17T1", None),
        ("2024-05-17T", None),
        ("2024-05-17X13", None),
        ("2024-05-17T13+1", None),
        ("2024-05-17T13+24", None),
        ("2024-05-17T13+01:60", None),
        ("2024-05-17T13+01:0", None),
        ("2024-05-17T13+01:000", None),
        ("2024-05-17T13Zx", None),
        ("2024-05-17T13 UTC", None),
        ("2024-5-17", None),
        ("2024/05/17", None),
        ("2024-05-", None),
        ("20240517", None),
        ("-2024", None),
        ("+2024-05", None),
        ("202", None),
        (" 2024", None),
        ("", None),
    ],
)
def test_text(key, expected):
    assert label(key) == expected
    assert label(key.encode()) == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (pa.array([0, -1, None], pa.date32()), ["1970-01-01T·", "1969-12-31T·"]),
        (pa.array([86_400_000, -86_400_000], pa.date64()), ["1970-01-02T·", "1969-12-31T·"]),
        (pa.array([3600, -1], pa.timestamp("s")), ["1970-01-01T01", "1969-12-31T23"]),
        (pa.array([3600, -1], pa.timestamp("ms", "UTC")), ["1970-01-01T00", "1969-12-31T23"]),
        (pa.array([0, -1], pa.timestamp("ns", "Europe/Berlin")), ["1970-01-01T00", "1969-12-31T23"]),
        (pa.array([2**62, -(2**62), 0], pa.timestamp("s")), ["1970-01-01T00"]),
        (pa.array([2**31 - 1, -(2**31), 0], pa.date32()), ["1970-01-01T·"]),
    ],
    ids=str,
)
def test_dates_and_timestamps(keys, expected):
    leaves = Date().leaves(keys)
    assert len(leaves) == len(keys)
    found = leaves.drop_null()
    assert Date().labels(found, [4] * len(found)).to_pylist() == expected


def test_levels():
    leaf = Date().leaves(pa.array(["2024-05-17T13"]))
    labels = [Date().labels(leaf, [level])[0].as_py() for level in range(5)]
    assert labels == ["*", "2024", "2024-05", "2024-05-17", "2024-05-17T13"]


@pytest.mark.parametrize("keys", [pa.array([20240517]), pa.array([1], pa.time32("s")), pa.array([True])])
def test_types(keys):
    with pytest.raises(KeyTypeError) as refused:
        Date().leaves(keys)
    assert str(refused.value) == f"Keys of hierarchy date must be text, dates or timestamps, got {keys.type}."
