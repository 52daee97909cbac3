"""Windows are half open and in UTC; sums are taken at each instant."""

import json
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hushcount.accounting.filter import Sums
from hushcount.accounting.windows import TimeWindow, cell_length, check_cells, sums_within, window_of
from hushcount.errors import ParameterError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "accounting.json").read_text())
HOUR = 3_600_000_000


def spent(epsilon):
    return Sums(finite=Decimal(epsilon))


@pytest.mark.parametrize(
    ("given", "zone", "expected"),
    [
        ("2026-11-15", "UTC", "2026-11-15T00:00:00Z/2026-11-16T00:00:00Z"),
        ("2026-11-01/2026-12-01", "UTC", "2026-11-01T00:00:00Z/2026-12-01T00:00:00Z"),
        ("2026-11-15T06:00/2026-11-15T07:30:15", "UTC", "2026-11-15T06:00:00Z/2026-11-15T07:30:15Z"),
        ("2026-11-15T06:00+02:00/2026-11-15T08:00Z", "UTC", "2026-11-15T04:00:00Z/2026-11-15T08:00:00Z"),
        ("2026-11-15", "Europe/Zurich", "2026-11-14T23:00:00Z/2026-11-15T23:00:00Z"),
        # A day of 23 hours, when clocks go forward.
        ("2026-03-29", "Europe/Zurich", "2026-03-28T23:00:00Z/2026-03-29T22:00:00Z"),
    ],
)
def test_windows_are_read(given, zone, expected):
    window = TimeWindow.parse(given, ZoneInfo(zone))
    assert str(window) == expected
    assert TimeWindow.parse(str(window)) == window


@pytest.mark.parametrize(
    "given", ["", "today", "2026-11", "2026-13-01", "2026-11-15T06:00", "/", "a/b", "2026-11-15/"]
)
def test_other_windows_are_refused(given):
    with pytest.raises(ParameterError) as refused:
        TimeWindow.parse(given)
    assert str(refused.value) == (
        f"window must be a day such as 2026-11-15, or FROM/TO, two days or times, got {given}."
    )


def test_a_window_ends_after_it_begins():
    with pytest.raises(ParameterError) as refused:
        TimeWindow.parse("2026-11-15/2026-11-15")
    assert str(refused.value) == "window must end after it begins, got 2026-11-15/2026-11-15."


def test_sums_are_those_of_the_vectors():
    for case in VECTORS["windows"]["cases"]:
        charges = [
            (window and TimeWindow.parse(window), spent(epsilon)) for epsilon, window in case["charges"]
        ]
        assert max(sums.finite for sums in sums_within(charges)) == Decimal(case["largest"]), case


def test_only_the_instants_of_a_window_count():
    charges = [
        (TimeWindow(0, 10), spent(1)),
        (TimeWindow(5, 20), spent(2)),
        (TimeWindow(20, 30), spent(4)),
        (None, spent(8)),
    ]
    assert {sums.finite for sums in sums_within(charges, TimeWindow(7, 10))} == {8, 11}
    assert max(sums.finite for sums in sums_within(charges, TimeWindow(10, 20))) == 10
    assert max(sums.finite for sums in sums_within(charges, TimeWindow(30, 40))) == 8
    assert max(sums.finite for sums in sums_within(charges)) == 12
    assert sums_within([], TimeWindow(0, 1)) == (Sums(),)


def test_every_instant_is_as_counted_one_by_one():
    charges = [
        (TimeWindow(a, b), spent(2**place)) for place, (a, b) in enumerate([(0, 4), (2, 6), (4, 9), (1, 9)])
    ]
    asked = TimeWindow(2, 8)
    slow = {
        sum(int(s.finite) for w, s in charges if w.start <= t < w.stop)
        for t in range(asked.start, asked.stop)
    }
    assert {int(sums.finite) for sums in sums_within(charges, asked)} - {0} == slow


@pytest.mark.parametrize(("given", "hours"), [("1d", 24), ("6h", 6), ("2w", 336)])
def test_cells_have_a_length(given, hours):
    assert cell_length(given) == hours * HOUR


@pytest.mark.parametrize("given", ["", "0d", "1m", "d", "1.5d", "-1d"])
def test_other_cells_are_refused(given):
    with pytest.raises(ParameterError) as refused:
        cell_length(given)
    assert str(refused.value) == f"cell must be a length such as 6h, 1d or 1w, got {given}."


def test_windows_are_unions_of_cells():
    check_cells(TimeWindow.parse("2026-11-15"), "1d")
    check_cells(TimeWindow.parse("2026-11-01/2026-12-01"), "6h")
    for window in (None, TimeWindow.parse("2026-11-15T06:00/2026-11-16T06:00")):
        with pytest.raises(ParameterError, match=r"^window must begin and end where cells of 1d do, in UTC"):
            check_cells(window, "1d")


@pytest.mark.parametrize(
    ("cell", "given", "zone"),
    [
        ("1d Europe/Zurich", "2026-11-15", "Europe/Zurich"),
        ("1d Europe/Zurich", "2026-03-29", "Europe/Zurich"),  # 23 hours
        ("1d Europe/Zurich", "2026-10-25/2026-10-27", "Europe/Zurich"),  # 25 hours, and a day
        ("1d America/Sao_Paulo", "2018-11-04", "America/Sao_Paulo"),  # begins at one o'clock
        ("6h Europe/Zurich", "2026-03-29T00:00/2026-03-29T06:00", "Europe/Zurich"),
        ("1d Asia/Kolkata", "2026-11-15", "Asia/Kolkata"),
    ],
)
def test_cells_follow_the_clocks_of_their_zone(cell, given, zone):
    window = TimeWindow.parse(given, ZoneInfo(zone))
    check_cells(window, cell)
    for other in (TimeWindow(window.start + 1, window.stop), TimeWindow(window.start, window.stop - HOUR)):
        with pytest.raises(ParameterError, match=rf", in {zone}: this dataset protects"):
            check_cells(other, cell)
    with pytest.raises(ParameterError):
        check_cells(TimeWindow.parse(given), cell)


def test_cells_are_a_partition_of_time():
    """Every instant is in one cell: numbers of cells never go back but where clocks do, inside one cell."""
    from hushcount.accounting.windows import _cell, cell_of

    length, zone = cell_of("1d Europe/Zurich")
    start = TimeWindow.parse("2026-01-01").start
    numbers = [_cell(start + hour * HOUR, length, zone) for hour in range(24 * 400)]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 401


def test_days_of_a_zone():
    assert str(window_of("2026-11-15")) == "2026-11-15T00:00:00Z/2026-11-16T00:00:00Z"
    assert str(window_of("2026-11-15", "America/New_York")) == "2026-11-15T05:00:00Z/2026-11-16T05:00:00Z"


@pytest.mark.parametrize("name", ["Nowhere", "", "../etc/passwd", "Europe"])
def test_unknown_zones(name):
    with pytest.raises(ParameterError) as refused:
        window_of("2026-11-15", name)
    assert str(refused.value) == f"time_zone must be a name such as Europe/Zurich, got {name}."
