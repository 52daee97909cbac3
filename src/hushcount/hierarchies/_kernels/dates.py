"""Dates from ISO 8601 text, packed into whole numbers:

    bits 14 and above year, bits 10..13 month, bits 5..9 day, bits 0..4 hour + 1; 0 for a part that is missing

So numbers sort as dates do, and a date without its lowest bits is its month or its year. Times with a zone
are converted to UTC.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import kernel

# Bits below each part: of the year, the month and the day.
YEAR, MONTH, DAY = 14, 10, 5
_DASH, _COLON, _ZERO = 45, 58, 48
_BAD = np.int64(-1)


@kernel
def pack(year: Any, month: Any, day: Any, hours: Any) -> Any:
    """Return one number of year, month, day and hour + 1."""
    return (year << YEAR) | (month << MONTH) | (day << DAY) | hours


@kernel
def digits(text: Any, place: Any, count: Any) -> Any:
    """Return a number of exactly `count` digits; -1 if there are fewer."""
    value = np.int64(0)
    if place + count > text.size:
        return _BAD
    for index in range(place, place + count):
        if not 48 <= text[index] <= 57:
            return _BAD
        value = 10 * value + np.int64(text[index]) - _ZERO
    return value


@kernel
def after(text: Any, place: Any, mark: Any, largest: Any) -> Any:
    """Return the number of two digits after a mark, up to `largest`; -1 if the text has something else."""
    if place >= text.size or text[place] != mark:
        return _BAD
    value = digits(text, place + 1, 2)
    return value if value <= largest else _BAD


@kernel
def month_days(year: Any, month: Any) -> Any:
    """Return how many days a month has."""
    if month == 2:
        return np.int64(29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28)
    return np.int64(30 if month in (4, 6, 9, 11) else 31)


@kernel
def day_after(year: Any, month: Any, day: Any, step: Any) -> Any:
    """Return the next day (step 1) or the day before (-1), without an hour; -1 beyond the years 0 to 9999."""
    day += step
    if day == 0:
        month -= 1
        if month == 0:
            year, month = year - 1, np.int64(12)
        day = month_days(year, month)
    elif day > month_days(year, month):
        day, month = np.int64(1), month + 1
        if month == 13:
            year, month = year + 1, np.int64(1)
    return pack(year, month, day, 0) if 0 <= year <= 9999 else _BAD


@kernel
def read_zone(text: Any, place: Any) -> Any:
    """Return how many minutes a zone at the end of a text is ahead of UTC; 10000 if malformed."""
    wrong = np.int64(10000)
    if place == text.size:
        return np.int64(0)
    mark = text[place]
    if mark in (90, 122):
        return np.int64(0) if place + 1 == text.size else wrong
    hours = after(text, place, mark, 23)
    if mark not in (43, _DASH) or hours < 0:
        return wrong
    minutes, place = np.int64(0), place + 3
    if place < text.size:
        place += text[place] == _COLON
        minutes = digits(text, place, 2)
        if not 0 <= minutes <= 59 or place + 2 != text.size:
            return wrong
    ahead = 60 * hours + minutes
    return ahead if mark == 43 else -ahead


@kernel
def read_minutes(text: Any, place: Any) -> Any:
    """Return the minutes after an hour, 0 if there are none, and the place after the fraction of seconds."""
    if place == text.size or text[place] != _COLON:
        return np.int64(0), place
    minutes, place = after(text, place, _COLON, 59), place + 3
    if minutes < 0 or place >= text.size or text[place] != _COLON:
        return minutes, place
    if after(text, place, _COLON, 60) < 0:
        return _BAD, place
    place += 3
    if place < text.size and text[place] in (44, 46):
        begin = place + 1
        place = begin
        while place < text.size and 48 <= text[place] <= 57:
            place += 1
        if place == begin:
            return _BAD, place
    return minutes, place


@kernel
def parse_date(text: Any) -> Any:
    """Return a packed date in UTC: a year, month, day or time; -1 if the text is no date."""
    size = text.size
    year, month = digits(text, 0, 4), np.int64(0)
    if year < 0 or size == 4:
        return _BAD if year < 0 else pack(year, 0, 0, 0)
    month = after(text, 4, _DASH, 12)
    if month < 1 or size == 7:
        return _BAD if month < 1 else pack(year, month, 0, 0)
    day = after(text, 7, _DASH, month_days(year, month))
    if day < 1 or size == 10:
        return _BAD if day < 1 else pack(year, month, day, 0)
    hour = after(text, 10, text[10], 23)
    if text[10] not in (84, 116, 32) or hour < 0:
        return _BAD
    minutes, place = read_minutes(text, 13)
    ahead = read_zone(text, place) if minutes >= 0 else np.int64(10000)
    if ahead == 10000:
        return _BAD
    minutes += 60 * hour - ahead
    step = minutes // 1440
    date = pack(year, month, day, 0) if step == 0 else day_after(year, month, day, step)
    return _BAD if date < 0 else date | ((minutes - 1440 * step) // 60 + 1)


@kernel
def parse_dates(data: Any, offsets: Any) -> Any:
    """Return packed dates; -1 for all other text."""
    leaves = np.empty(offsets.size - 1, np.int64)
    for index in range(leaves.size):
        leaves[index] = parse_date(data[np.int64(offsets[index]) : np.int64(offsets[index + 1])])
    return leaves
