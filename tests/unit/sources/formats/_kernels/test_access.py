"""The loop that cuts lines of access logs, against a regular expression that says the same."""

import random
import re
from datetime import datetime

import numpy as np
import pytest

from hushcount.sources.formats._kernels import access

QUOTED = r'"(?P<{}>(?:[^"\\]|\\.)*)"'
TIME = r"[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}"
COMMON = (
    rf"(?P<host>[^ ]+) (?P<ident>[^ ]+) (?P<user>.(?:(?! \[).)*) \[(?P<time>{TIME})\] "
    + QUOTED.format("request")
    + r" (?P<status>[0-9]{3}) (?P<size>[0-9]{1,17}|-)"
)
COMBINED = f"{COMMON} {QUOTED.format('referer')} {QUOTED.format('agent')}( .*)?"
REQUEST = re.compile(r"(?P<method>[^ ]+) (?P<target>.+) (?P<protocol>[^ ]{5,})")
FORMS = {True: re.compile(COMBINED), False: re.compile(f"{COMMON}( .*)?")}
NAMES = (
    "host",
    "ident",
    "user",
    "request",
    "method",
    "path",
    "query",
    "protocol",
    "status",
    "referer",
    "agent",
)
LINES = (
    'h - - [18/Nov/2026:06:00:00 +0100] "GET /a?b=c?d HTTP/1.1" 200 26 "http://a/" "Moz"',
    '10.0.0.1 id a[b c [29/Feb/2024:23:59:60 -1130] "P / HTTP/2" 304 - "-" "" more',
    'h - - [01/Jan/1970:00:00:00 +0000] "\\"\\\\" 400 0 "-" "\\""',
    'h - "u" [31/Dec/1999:00:00:00 +0000] "GET a b HTTP/1.0" 400 0 "x" "y"',
)


def expected(line, combined):
    """The fields of a line by name, None if it is malformed."""
    found = FORMS[combined].fullmatch(line)
    if found is None:
        return None
    text = re.sub(r":60 ", ":59 ", found["time"])
    try:
        time = datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").timestamp() + (text != found["time"])
    except ValueError:
        return None
    if time < 0:
        return None
    fields = {name: text for name, text in found.groupdict().items() if text not in ("", "-")}
    fields["time"] = time
    request = REQUEST.fullmatch(fields.get("request", ""))
    if request is not None and re.match("H...(/)", request["protocol"]):
        path, _, query = request["target"].partition("?")
        parts = {"method": request["method"], "path": path, "query": query, "protocol": request["protocol"]}
        fields |= {name: text for name, text in parts.items() if text not in ("", "-")}
    return fields


def found(lines, combined):
    texts = [line.encode() for line in lines]
    data = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    offsets = np.cumsum([0, *map(len, texts)])
    spans, times, sizes = access.cut_lines(data, offsets, combined)
    whole = data.tobytes()
    for line, time, size in zip(spans, times, sizes, strict=True):
        if time < 0:
            assert (line == -1).all()
            yield None
            continue
        cut = {
            name: whole[start:end].decode()
            for name, (start, end) in zip(NAMES, line, strict=True)
            if start >= 0
        }
        yield cut | {"time": time} | ({"size": str(size)} if size >= 0 else {})


def mutated(source, line):
    """The line with some characters left out, doubled or replaced by ones that mean something."""
    for _ in range(source.choice((0, 1, 1, 2, 4))):
        place = source.randrange(len(line) + 1)
        piece = source.choice(
            ('"', "\\", " ", "-", "[", "]", "?", "0", "9", ":", "", line[place : place + 3])
        )
        line = line[:place] + piece + line[place + source.randrange(2) :]
    return line


@pytest.mark.parametrize("combined", [True, False])
def test_fields_are_those_of_a_regular_expression(combined):
    source = random.Random(5)
    lines = [mutated(source, source.choice(LINES)) for _ in range(20_000)]
    same = zip(lines, found(lines, combined), strict=True)
    good = 0
    for line, fields in same:
        wanted = expected(line, combined)
        if wanted is not None and "size" in wanted:
            wanted["size"] = str(int(wanted["size"]))
        assert fields == wanted, line
        good += fields is not None
    assert 4_000 < good < 16_000


def test_days_of_four_centuries():
    first = datetime(1970, 1, 1)
    days = [
        datetime(year, month, day) for year in range(1970, 2370) for month in (1, 2, 3, 12) for day in (1, 28)
    ]
    for day in days:
        assert access.days_before(day.year, day.month, day.day) == (day - first).days
