"""Windows of time, half open and in UTC, and sums of charges at each instant.

An event at an instant is in those releases alone whose window covers it. So the rule of a budget is applied
at each instant, over the windows that cover it: nights that do not overlap cost as much as one night.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hushcount.accounting.filter import Sums
from hushcount.errors import ParameterError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
CELL_UNITS = {"h": 3_600, "d": 86_400, "w": 604_800}
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
FORM = "window must be a day such as 2026-11-15, or FROM/TO, two days or times, got {given}."


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The instants from `start` up to but not including `stop`, in microseconds since 1970 in UTC.

    `clock` is what tells the instant of a row: the name of its column, and the zone of times without one.
    """

    start: int
    stop: int
    clock: tuple[str, str] | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, given: str, zone: tzinfo = UTC) -> TimeWindow:
        """Return the window of a day, or of FROM/TO; days and times without an offset are of `zone`.

        >>> str(TimeWindow.parse("2026-11-15"))
        '2026-11-15T00:00:00Z/2026-11-16T00:00:00Z'
        """
        first, slash, last = given.partition("/")
        try:
            if not slash and not DAY.fullmatch(first):
                raise ValueError
            after = last if slash else str(date.fromisoformat(first) + timedelta(days=1))
            window = cls(_instant(first, zone), _instant(after, zone))
        except (ValueError, OverflowError):
            raise ParameterError(FORM.format(given=given)) from None
        if window.start >= window.stop:
            raise ParameterError(f"window must end after it begins, got {given}.")
        return window

    def by(self, column: str, time_zone: str) -> TimeWindow:
        """Return the window with the column and the zone that tell which rows are in it."""
        return replace(self, clock=(column, time_zone))

    def covers(self, other: TimeWindow) -> bool:
        """Return whether all instants of another window are in this one."""
        return self.start <= other.start and other.stop <= self.stop

    def __str__(self) -> str:
        return f"{_text(self.start)}/{_text(self.stop)}"


# The window of a charge, None for all of time, and what the charge adds.
Covered = tuple[TimeWindow | None, Sums]


def _instant(given: str, zone: tzinfo) -> int:
    """Return the microseconds of a day or time."""
    time = datetime.fromisoformat(given)
    if time.tzinfo is None:
        time = time.replace(tzinfo=zone)
    return (time - EPOCH) // MICROSECOND


def _text(instant: int) -> str:
    """Return an instant as text in UTC."""
    return (EPOCH + instant * MICROSECOND).isoformat().replace("+00:00", "Z")


def cell_length(given: str) -> int:
    """Return the length of a cell, such as 1d, 6h or 1w, in microseconds.

    >>> cell_length("1d") // 1_000_000
    86400
    """
    found = re.fullmatch(r"([1-9]\d{0,3})([hdw])", given)
    if found is None:
        raise ParameterError(f"cell must be a length such as 6h, 1d or 1w, got {given}.")
    return int(found[1]) * CELL_UNITS[found[2]] * 1_000_000


def zone_of(name: str | None) -> ZoneInfo:
    """Return a time zone by its name, UTC without one, or raise."""
    try:
        return ZoneInfo("UTC" if name is None else name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ParameterError(f"time_zone must be a name such as Europe/Zurich, got {name}.") from None


def window_of(given: str, time_zone: str | None = None) -> TimeWindow:
    """Return a window in UTC; days and times without an offset are of the zone.

    >>> str(window_of("2026-11-15", "Europe/Zurich"))
    '2026-11-14T23:00:00Z/2026-11-15T23:00:00Z'
    """
    return TimeWindow.parse(given, zone_of(time_zone))


def cell_text(cell: str, time_zone: str | None) -> str:
    """Return cells of a length and a zone as the ledger states them.

    >>> cell_text("1d", None), cell_text("1d", "Europe/Zurich")
    ('1d', '1d Europe/Zurich')
    """
    return cell if time_zone is None else f"{cell} {time_zone}"


def cell_of(cell: str) -> tuple[int, ZoneInfo]:
    """Return the length in microseconds and the zone of cells as the ledger states them, or raise."""
    given, _, name = cell.partition(" ")
    return cell_length(given), zone_of(name or None)


def check_cells(window: TimeWindow | None, cell: str) -> None:
    """Raise unless a window is a union of cells, which are counted from 1970 on the clocks of their zone."""
    length, zone = cell_of(cell)
    given, _, name = cell.partition(" ")
    ends = () if window is None else (window.start, window.stop)
    if not ends or any(_cell(each, length, zone) == _cell(each - 1, length, zone) for each in ends):
        raise ParameterError(
            f"window must begin and end where cells of {given} do, in {name or 'UTC'}: this dataset protects"
            " the rows of a user in one such cell."
        )


def _cell(instant: int, length: int, zone: tzinfo) -> int:
    """Return the number of the cell in which an instant lies, by the clocks of a zone."""
    shown = (EPOCH + instant * MICROSECOND).astimezone(zone).replace(tzinfo=UTC)
    return (shown - EPOCH) // MICROSECOND // length


def sums_within(charges: Iterable[Covered], window: TimeWindow | None = None) -> Sequence[Sums]:
    """Return the different sums at the instants of a window, all of time without one.

    Parameters
    ----------
    charges
        The charges with their windows.
    window
        The instants that count.
    """
    always, changes = Sums(), list[tuple[int, Sums, bool]]()
    for covered, sums in charges:
        part = covered if covered is None or window is None else _overlap(covered, window)
        if covered is None:
            always += sums
        elif part is not None:
            changes += [(part.start, sums, True), (part.stop, sums, False)]
    changes.sort(key=lambda change: change[0])
    found, now = {always}, always
    for place, (instant, sums, begins) in enumerate(changes, start=1):
        now = now + sums if begins else now - sums
        if place == len(changes) or changes[place][0] != instant:
            found.add(now)
    return tuple(found)


def _overlap(one: TimeWindow, other: TimeWindow) -> TimeWindow | None:
    """Return the instants of both windows, None if there are none."""
    start, stop = max(one.start, other.start), min(one.stop, other.stop)
    return TimeWindow(start, stop) if start < stop else None
