"""Windows of time as they are asked for, in the time zone that the caller names."""

from __future__ import annotations

from hushcount.accounting.windows import TimeWindow, zone_of


def window_of(given: str, time_zone: str | None = None) -> TimeWindow:
    """Return a window in UTC; days and times without an offset are of the zone.

    >>> str(window_of("2026-11-15", "Europe/Zurich"))
    '2026-11-14T23:00:00Z/2026-11-15T23:00:00Z'
    """
    return TimeWindow.parse(given, zone_of(time_zone))
