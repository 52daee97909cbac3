"""Text in blocks of whole rows, in bounded memory, whatever the length of a row.

A row longer than `LONGEST_ROW` is replaced by one whose keys are too long, so that it is dropped, or stops
the run, like any row with such a key. Whether a row is replaced depends on its own length alone.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from hushcount.keys.plain import LARGEST_KEY_BYTES

LONGEST_ROW = 1 << 20
BLOCK = LONGEST_ROW  # bytes that are read at a time, no more than a row may have
TOO_LONG = "x" * (LARGEST_KEY_BYTES + 1)
START, PLAIN = 0, 1  # states of `compiled._kernels.row_ends` outside of quotes
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Returns where the first and the last row of a block end, both 0 if none does.
Ends = Callable[[bytes], tuple[int, int]]


def whole_rows(stream: pa.NativeFile, ends: Ends, stand_in: bytes) -> Iterator[bytes]:
    """Yield blocks of whole rows, at most twice as long as a row may be.

    Parameters
    ----------
    stream
        The text, from its start; a byte order mark is left out.
    ends
        Finds the ends of rows; it is called with one block after the other.
    stand_in
        The row, with its end, that replaces one that is too long.
    """
    rest, replaced = b"", False
    block = stream.read(BLOCK).removeprefix(BYTE_ORDER_MARK)
    while block:
        first, last = ends(block)
        replaced = replaced or len(rest) + (first or len(block)) > LONGEST_ROW
        if replaced:
            rest = b""
        if last:
            yield stand_in + block[first:last] if replaced else rest + block[:last]
            rest, replaced = b"", False
        if not replaced:
            rest += block[last:]
        block = stream.read(BLOCK)
    if rest or replaced:
        yield stand_in if replaced else rest


def line_ends(block: bytes) -> tuple[int, int]:
    """Return the ends of the first and the last line of a block."""
    return block.find(b"\n") + 1, block.rfind(b"\n") + 1


class QuotedRows:
    """Finds the ends of rows of delimited text, in which line feeds and carriage returns may be quoted.

    A quote counts at the start of a field and up to its closing quote, as the parser of pyarrow reads it.
    Blocks without quotes are searched for line ends; only others need the loop over all bytes.
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter.encode()
        self._state = START

    def __call__(self, block: bytes) -> tuple[int, int]:
        """Return the ends of the first and the last row of the next block."""
        if self._state not in (START, PLAIN) or b'"' in block:
            from hushcount.compiled._kernels.row_ends import row_ends

            octets = np.frombuffer(block, np.uint8)
            self._state, first, last = row_ends(octets, ord(self._delimiter), self._state)
            return first, last
        found = [
            end + 1 for mark in (b"\n", b"\r") for end in (block.find(mark), block.rfind(mark)) if end >= 0
        ]
        self._state = START if block[-1:] in (self._delimiter, b"\n", b"\r") else PLAIN
        return min(found, default=0), max(found, default=0)


class AsFile(io.RawIOBase):
    """Blocks of whole rows as a file; every read returns one of them."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next block, empty at the end."""
        return next(self._blocks, b"")
