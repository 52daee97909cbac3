"""Lines of a web server's access log, cut into fields in one pass.

Line i is data[offsets[i] : offsets[i + 1]], in the common format or, with the last two fields, the combined:

    host ident user [day/Mon/year:hour:minute:second +zone] "request" status size "referer" "agent"

Text after these fields is ignored. A quoted field ends at the next quote that no backslash stands before.
`spans[i, f]` is where field f of line i begins and ends in `data`; a field that is missing begins at -1, and
of a malformed line all are. Whether a line is malformed depends on its own bytes alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import kernel

HOST, IDENT, USER, REQUEST, METHOD, PATH, QUERY, PROTOCOL, STATUS, REFERER, AGENT = range(11)
FIELDS = 11
NONE = -1  # no time, no size: neither can be negative for a log of our time
LARGEST_SIZE = 10**17
_BLANK, _QUOTE, _BACKSLASH, _OPEN, _CLOSE, _DASH = 32, 34, 92, 91, 93, 45
_MONTHS = b"JanFebMarAprMayJunJulAugSepOctNovDec"
_MONTH = np.frombuffer(_MONTHS, np.uint8).reshape(12, 3)
_DAYS = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


@kernel
def until(data: Any, place: Any, end: Any, mark: Any) -> Any:
    """Return the first place of a byte, or -1 if it does not come."""
    while place < end:
        if data[place] == mark:
            return place
        place += 1
    return np.int64(-1)


@kernel
def digits(data: Any, place: Any, end: Any) -> Any:
    """Return the number that decimal digits make, or -1 for any other text."""
    value = np.int64(0) if place < end else np.int64(-1)
    while place < end and value >= 0:
        digit = np.int64(data[place]) - 48
        value = 10 * value + digit if 0 <= digit <= 9 and value < LARGEST_SIZE else np.int64(-1)
        place += 1
    return value


@kernel
def month_of(data: Any, place: Any) -> Any:
    """Return the number of a month from 1 to 12, or 0."""
    for month in range(12):
        name = _MONTH[month]
        if data[place] == name[0] and data[place + 1] == name[1] and data[place + 2] == name[2]:
            return month + 1
    return 0


@kernel
def seconds_of(data: Any, start: Any, end: Any) -> Any:
    """Return the seconds since 1970 in UTC of "18/Nov/2026:06:00:00 +0100", or -1 for any other text."""
    wrong = np.int64(-1)
    if end - start != 26 or data[start + 2] != 47 or data[start + 6] != 47 or data[start + 11] != 58:
        return wrong
    if data[start + 14] != 58 or data[start + 17] != 58 or data[start + 20] != _BLANK:
        return wrong
    day, month = digits(data, start, start + 2), month_of(data, start + 3)
    year, hour = digits(data, start + 7, start + 11), digits(data, start + 12, start + 14)
    minute, second = digits(data, start + 15, start + 17), digits(data, start + 18, start + 20)
    ahead, more = digits(data, start + 22, start + 24), digits(data, start + 24, start + 26)
    sign = data[start + 21]
    if month == 0 or day < 1 or day > _DAYS[month - 1] or year < 1970 or hour < 0 or minute < 0 or second < 0:
        return wrong
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if hour > 23 or minute > 59 or second > 60 or ahead < 0 or more < 0 or ahead > 23 or more > 59:
        return wrong
    if (month == 2 and day == 29 and not leap) or sign not in (43, _DASH):
        return wrong
    shift = 3600 * ahead + 60 * more
    moved = -shift if sign == 43 else shift
    return max(86400 * days_before(year, month, day) + 3600 * hour + 60 * minute + second + moved, wrong)


@kernel
def days_before(year: Any, month: Any, day: Any) -> Any:
    """Return the days from the first of January 1970 to a day of the Gregorian calendar."""
    # Years begin in March, so that the day that leap years add is the last one.
    years = year - (month <= 2)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * years + years // 4 - years // 100 + years // 400 + of_year - 719468


@kernel
def quoted_end(data: Any, place: Any, end: Any) -> Any:
    """Return where the quote is that ends a field whose text begins at a place, or -1."""
    while place < end and data[place] != _QUOTE:
        place += 2 if data[place] == _BACKSLASH else 1
    return place if place < end else np.int64(-1)


@kernel
def keep(span: Any, field: Any, data: Any, start: Any, end: Any) -> Any:
    """Note where a field is unless it is empty or a single dash."""
    if end > start and not (end - start == 1 and data[start] == _DASH):
        span[field, 0], span[field, 1] = start, end


@kernel
def cut_request(data: Any, start: Any, end: Any, span: Any) -> Any:
    """Note method, path, query and protocol of "GET /a?b HTTP/1.1"; any other request has none of them."""
    first = until(data, start, end, _BLANK)
    last = end - 1
    while last > start and data[last] != _BLANK:
        last -= 1
    if first <= start or last <= first + 1 or end - last < 6 or data[last + 1] != 72 or data[last + 5] != 47:
        return
    mark = until(data, first + 1, last, 63)
    keep(span, METHOD, data, start, first)
    keep(span, PATH, data, first + 1, last if mark < 0 else mark)
    if mark >= 0:
        keep(span, QUERY, data, mark + 1, last)
    keep(span, PROTOCOL, data, last + 1, end)


@kernel
def cut_user(data: Any, place: Any, end: Any, span: Any) -> Any:
    """Note host, identity and user; return the place after the bracket that opens the time, or -1."""
    for field in range(2):
        blank = until(data, place, end, _BLANK)
        if blank <= place:
            return np.int64(-1)
        keep(span, field, data, place, blank)
        place = blank + 1
    opened = until(data, place, end, _OPEN)
    while opened >= 0 and (opened < place + 2 or data[opened - 1] != _BLANK):
        opened = until(data, opened + 1, end, _OPEN)
    if opened < 0:
        return np.int64(-1)
    keep(span, USER, data, place, opened - 1)
    return opened + 1


@kernel
def cut_quoted(data: Any, place: Any, end: Any, span: Any, field: Any) -> Any:
    """Note a quoted field after a blank; return the place after it, or -1."""
    if place + 1 >= end or data[place] != _BLANK or data[place + 1] != _QUOTE:
        return np.int64(-1)
    close = quoted_end(data, place + 2, end)
    if close < 0:
        return close
    keep(span, field, data, place + 2, close)
    return close + 1


@kernel
def cut_line(data: Any, start: Any, end: Any, combined: Any, span: Any) -> Any:
    """Note all fields of a line; return its time, -1 if it is malformed, and its size, -1 if it has none."""
    wrong = np.int64(-1), np.int64(-1)
    place = cut_user(data, start, end, span)
    if place < 0:
        return wrong
    close = until(data, place, end, _CLOSE)
    time = seconds_of(data, place, close)
    place = cut_quoted(data, close + 1, end, span, REQUEST) if time >= 0 else np.int64(-1)
    if place < 0 or place + 6 > end or data[place] != _BLANK or data[place + 4] != _BLANK:
        return wrong
    if span[REQUEST, 0] >= 0:
        cut_request(data, span[REQUEST, 0], span[REQUEST, 1], span)
    if digits(data, place + 1, place + 4) < 0:
        return wrong
    keep(span, STATUS, data, place + 1, place + 4)
    after = until(data, place + 5, end, _BLANK)
    after = end if after < 0 else after
    size = digits(data, place + 5, after)
    if size < 0 and not (after == place + 6 and data[place + 5] == _DASH):
        return wrong
    if combined:
        after = cut_quoted(data, after, end, span, REFERER)
        after = cut_quoted(data, after, end, span, AGENT) if after >= 0 else after
        if after < 0 or (after < end and data[after] != _BLANK):
            return wrong
    return time, size


@kernel
def cut_lines(data: Any, offsets: Any, combined: Any) -> Any:
    """Return the fields of all lines, their times and their sizes; the time of a malformed line is -1."""
    count = offsets.size - 1
    spans = np.full((count, FIELDS, 2), -1, np.int32)
    times, sizes = np.empty(count, np.int64), np.empty(count, np.int64)
    for line in range(count):
        start, end = np.int64(offsets[line]), np.int64(offsets[line + 1])
        times[line], sizes[line] = cut_line(data, start, end, combined, spans[line])
        if times[line] < 0:
            spans[line, :, :] = -1
    return spans, times, sizes


@kernel
def gathered(data: Any, spans: Any) -> Any:
    """Return the bytes of one field of all lines one after the other, and where each begins."""
    places = np.zeros(spans.shape[0] + 1, np.int32)
    for line in range(spans.shape[0]):
        places[line + 1] = places[line] + spans[line, 1] - spans[line, 0]
    octets = np.empty(places[-1], np.uint8)
    for line in range(spans.shape[0]):
        start = spans[line, 0]
        for step in range(spans[line, 1] - start):
            octets[places[line] + step] = data[start + step]
    return octets, places
