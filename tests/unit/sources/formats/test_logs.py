"""Access logs and lines that a pattern cuts: which lines are rows, and what their columns are."""

import gzip
from pathlib import Path

import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.keys.plain import KeyLimit
from hushcount.keys.times import TimeColumn
from hushcount.sources.formats.text import LONGEST_ROW
from hushcount.sources.open import open_source

GOOD = (
    '192.0.2.9 - - [18/Nov/2026:06:00:00 +0100] "GET /cats?x=1 HTTP/1.1" 200 2326 "http://a.org/" "Moz/5"\n'
    '2001:db8::1 - ann smith [18/Nov/2026:06:00:01 -0130] "GET /dogs HTTP/2" 304 - "-" "say \\"hi\\""\r\n'
    '192.0.2.9 - - [18/Nov/2026:06:00:02 +0000] "\\x16\\x03" 400 0 "-" "-" 0.002\n'
)
COLUMNS = {
    "host": ["192.0.2.9", "2001:db8::1", "192.0.2.9"],
    "ident": [],
    "user": ["ann smith"],
    "request": ["GET /cats?x=1 HTTP/1.1", "GET /dogs HTTP/2", "\\x16\\x03"],
    "method": ["GET", "GET"],
    "path": ["/cats", "/dogs"],
    "query": ["x=1"],
    "protocol": ["HTTP/1.1", "HTTP/2"],
    "status": ["200", "304", "400"],
    "size": [2326, 0],
    "referer": ["http://a.org/"],
    "agent": ["Moz/5", 'say \\"hi\\"'],
}
FAILED = 'access.log has a line that is not of its format (on_bad="fail").'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def keys_of(column, form, **options):
    source = open_source("access.log", column=column, format=form, **options)
    return [key for batch in source.batches() for key in batch.keys.to_pylist()]


@pytest.mark.parametrize("column", COLUMNS)
def test_columns(column):
    Path("access.log").write_text(GOOD, newline="")
    assert keys_of(column, "combined") == COLUMNS[column]
    if column not in ("referer", "agent"):
        assert keys_of(column, "common") == COLUMNS[column]


def test_times():
    Path("access.log").write_text(GOOD, newline="")
    seconds = [time.timestamp() for time in keys_of("time", "combined")]
    assert seconds == [1794978000, 1794987001, 1794981602]
    window = TimeColumn("time", 1794981602 * 10**6, 1794987001 * 10**6)
    assert keys_of("status", "combined", times=window) == ["400"]
    pattern = r"pattern:\[(?P<time>[^]]*)\] .* (?P<status>[0-9]{3}) "
    assert keys_of("status", pattern, times=window) == ["400"]


@pytest.mark.parametrize(
    "line",
    [
        "garbage",
        "x",
        '192.0.2.9 - - [18/Nov/2026:06:00:00 +0100] "GET / HTTP/1.1" 200 23 "-" "cut',
        '192.0.2.9 - - [18/Nov/2026:06:00:00 +0100] "GET / HTTP/1.1" 200 23',
        '192.0.2.9 - - [31/Feb/2026:06:00:00 +0100] "GET / HTTP/1.1" 200 23 "-" "-"',
        '192.0.2.9 - - [18/Nov/2026:06:00:00 +0100] "GET / HTTP/1.1" 2000 23 "-" "-"',
        '192.0.2.9 - - [18/Nov/2026:06:00:00 +0100] "GET / HTTP/1.1" 200 2.3 "-" "-"',
        ' - - [18/Nov/2026:06:00:00 +0100] "GET / HTTP/1.1" 200 23 "-" "-"',
        '192.0.2.9 - - [18/Nov/2026:06:00:00 +0100] "GET / HTTP/1.1" 200 23 "-" "caf\udce9"',
        "y" * (LONGEST_ROW + 1),
    ],
)
def test_a_malformed_line_is_dropped_or_stops_the_run(line):
    """Whatever the lines around it."""
    bad = f"{line}\n".encode(errors="surrogateescape")
    good = GOOD.encode()
    for text in (bad + good, good + bad, good + bad + good, good + bad.rstrip()):
        Path("access.log").write_bytes(text)
        assert keys_of("status", "combined") == ["200", "304", "400"] * text.count(good)
        with pytest.raises(DataError) as caught:
            keys_of("status", "combined", limit=KeyLimit(on_bad="fail"))
        assert str(caught.value) == FAILED


def test_empty_lines_are_no_rows():
    Path("access.log").write_text("\n" + GOOD + "\r\n\n", newline="")
    assert keys_of("status", "combined", limit=KeyLimit(on_bad="fail")) == ["200", "304", "400"]


def test_reading_goes_on_after_some_lines():
    """Malformed and empty lines are counted as rows, so that a stopped run skips as many."""
    Path("access.log").write_text(GOOD + "garbage\n\n" + GOOD, newline="")
    source = open_source("access.log", column="status", format="combined")
    assert sum(batch.rows for batch in source.batches()) == 8
    for skip in range(9):
        left = [key for batch in source.batches(skip) for key in batch.keys.to_pylist()]
        assert left == (["200", "304", "400", "200", "304", "400"])[skip if skip < 3 else max(3, skip - 2) :]


def test_compressed_logs_in_a_folder():
    Path("logs").mkdir()
    Path("logs/access.log").write_text(GOOD, newline="")
    Path("logs/access.log.1").write_text("garbage\n" + GOOD, newline="")
    Path("logs/access.log.2.gz").write_bytes(gzip.compress(GOOD.encode()))
    source = open_source("logs", column="status", format="combined")
    keys = [key for batch in source.batches() for key in batch.keys.to_pylist()]
    assert keys == ["200", "304", "400"] * 3
    assert source.notes[0] == "Lines that are not of the format are dropped."


def test_patterns():
    Path("access.log").write_bytes(
        b"INFO a=tea b=1\n\nWARN a= b=2\nINFO a=caf\xc3\xa9 b=3\nnone\nINFO a=\xff b=4\n"
    )
    form = r"pattern:a=(?P<a>\w*|é|caf.) b=(?P<b>\d)$"
    assert keys_of("a", form) == ["tea", "café"]
    assert keys_of("b", form) == ["1", "2", "3"]
    with pytest.raises(DataError) as caught:
        keys_of("a", form, limit=KeyLimit(on_bad="fail"))
    assert str(caught.value) == FAILED
    with pytest.raises(ParameterError) as refused:
        keys_of("c", form)
    assert str(refused.value) == "Column 'c' is not in the file; it has: a, b."


@pytest.mark.parametrize(
    "pattern", ["", "x", "(x)", "(?P<a>x", "(?P<a>x)(y)", "(?P<a>\ud800)", r"(?P<a>x)\1"]
)
def test_patterns_that_name_no_columns(pattern):
    Path("access.log").write_text(GOOD)
    with pytest.raises(ParameterError) as refused:
        open_source("access.log", column="a", format=f"pattern:{pattern}")
    assert str(refused.value) == (
        "pattern must be a regular expression (RE2) with a named group for each column, such as"
        ' "(?P<host>[0-9.]+) .* (?P<status>[0-9]{3})".'
    )
