"""Files of reports: packed, 18 bytes each, or one a line in hexadecimal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from hushcount.errors import DataError

BLOCK = 1 << 16  # reports read together
FIRST_OF_LINES = b"0"  # a packed report begins with the byte 1, a line with the character 0


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """A file of reports, or standard input for -."""
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(path, "rb") as stream:
            yield stream
    except OSError as error:
        reason = (error.strerror or "input/output error").lower()
        failure = DataError(f"Cannot read {path}: {reason}.")
    else:
        return
    raise failure


def add_file(aggregator: Any, path: str, now: float | None, tell: Callable[[int], None]) -> None:
    """Add all reports of a file, whichever of the two forms it has."""
    from hushcount.ldp.wire.report import REPORT_BYTES

    with opened(path) as stream:
        start = stream.read(1)
        if start == FIRST_OF_LINES:
            aggregator.add(_lines(start, stream, tell), now=now)
            return
        rest = start
        while block := rest + stream.read(BLOCK * REPORT_BYTES - len(rest)):
            whole = len(block) - len(block) % REPORT_BYTES
            if not whole:
                aggregator.add([block], now=now)  # counted as of the wrong length
                return
            aggregator.add(block[:whole], now=now)
            rest = block[whole:]
            tell(whole)


def _lines(start: bytes, stream: BinaryIO, tell: Callable[[int], None]) -> Iterator[bytes]:
    for number, line in enumerate(stream):
        if number % BLOCK == 0:
            tell(BLOCK)
        yield _report(start + line if number == 0 else line)


def _report(line: bytes) -> bytes:
    """The bytes of a line; what is not hexadecimal becomes a report of no bytes, which is refused."""
    try:
        return bytes.fromhex(line.decode("ascii").strip())
    except ValueError:
        return b""
