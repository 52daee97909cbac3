"""Logs of lines: access logs of web servers, and lines that a regular expression with named groups cuts.

Whether a line is malformed, and what its columns are, depends on the line alone. A malformed line is a row
whose columns are all null, so that rows can be counted and skipped. Empty lines are such rows too, though
nothing is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import ParameterError
from hushcount.keys.arrays import ByteKeys, to_kernel
from hushcount.sources.formats.inputs import Input
from hushcount.sources.formats.registry import Names, Piece
from hushcount.sources.formats.text import TOO_LONG, line_ends, whole_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from hushcount.compiled.arrays import Mask, Octets

TIME = pa.timestamp("s", "UTC")
SIZE = pa.int64()
TEXTS = ("host", "ident", "user", "request", "method", "path", "query", "protocol", "status")
OF_COMBINED = ("referer", "agent")
BAD_PATTERN = (
    "pattern must be a regular expression (RE2) with a named group for each column, such as"
    ' "(?P<host>[0-9.]+) .* (?P<status>[0-9]{3})".'
)


def lines_of(file: Input) -> Iterator[tuple[pa.Array, bool, int]]:
    """Yield blocks of lines without their ends, null where one is not UTF-8.

    With each block come whether it has such a line, and how much of the file has been read.
    """
    stream, position = file.open()
    with stream:
        for block in whole_rows(stream, line_ends, f"{TOO_LONG}\n".encode()):
            if block.isascii():
                text = pa.array([block.removesuffix(b"\n").decode("ascii")], pa.string())
                lines, bad = pc.split_pattern(text, "\n").flatten(), False
            else:
                lines, bad = _decoded(block.removesuffix(b"\n").split(b"\n"))
            yield pc.ascii_rtrim(lines, "\r"), bad, position()


def _decoded(lines: list[bytes]) -> tuple[pa.Array, bool]:
    """Return lines as text, null where one is not UTF-8, and whether there is such a line."""
    found = pa.array([_text(line) for line in lines], pa.string())
    return found, found.null_count > 0


def _text(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


class CommonLogReader:
    """Access logs in the common format; text after its fields is ignored, so combined logs can be read."""

    columns: tuple[str, ...] = TEXTS
    combined = False
    defect = "cannot be read as an access log"

    def schema(self, file: Input) -> pa.Schema:
        """Times and sizes have types of their own, everything else is text."""
        texts = [(name, pa.string()) for name in self.columns]
        return pa.schema([*texts[:3], ("time", TIME), *texts[3:], ("size", SIZE)])

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield one piece per block of lines."""
        from hushcount.sources.formats._kernels import access

        for lines, bad, done in lines_of(file):
            read = to_kernel(lines, pa.string())
            assert isinstance(read, ByteKeys)
            spans, times, sizes = access.cut_lines(read.data, read.offsets, self.combined)
            columns = []
            for name in names:
                if name == "time":
                    columns.append(pa.array(times, mask=times < 0).cast(TIME))
                elif name == "size":
                    columns.append(pa.array(sizes, SIZE, mask=sizes < 0))
                else:
                    span = np.ascontiguousarray(spans[:, self.columns.index(name)])
                    columns.append(_texts(access.gathered(read.data, span), span[:, 0] >= 0))
            good = pa.array(times >= 0)
            yield Piece(columns, len(lines), done, bad or _has_malformed(lines, good))


def _texts(cut: tuple[Octets, npt.NDArray[np.int32]], good: Mask) -> pa.Array:
    """Return bytes, and where each value of them begins, as text that is null where it is not good."""
    octets, places = cut
    buffers = [pa.array(good).buffers()[1], pa.py_buffer(places), pa.py_buffer(octets)]
    return pa.Array.from_buffers(pa.string(), len(good), buffers)


def _has_malformed(lines: pa.Array, good: pa.Array) -> bool:
    """Return whether a line that is not empty is not good."""
    empty = pc.equal(pc.binary_length(lines), 0).fill_null(False)
    return not pc.all(pc.or_(good, empty), min_count=0).as_py()


class CombinedLogReader(CommonLogReader):
    """Access logs in the combined format, which ends with the referring page and the agent."""

    columns = (*TEXTS, *OF_COMBINED)
    combined = True


class PatternReader:
    """Lines that a regular expression finds something in; its named groups are columns of text.

    The expression may match anywhere in a line; `^` and `$` bind it to the ends. It is one of RE2, whose time
    grows with the length of a line only. A group that is empty is null.
    """

    defect = "cannot be read as lines of text"

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        try:
            found = pc.extract_regex(pa.array([], pa.string()), pattern).type
        except (pa.ArrowException, UnicodeError):
            found = pa.struct([])
        self._names = [field.name for field in found]
        if not self._names:
            raise ParameterError(BAD_PATTERN)

    def schema(self, file: Input) -> pa.Schema:
        """The named groups."""
        return pa.schema([(name, pa.string()) for name in self._names])

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield one piece per block of lines."""
        nothing = pa.scalar(None, pa.string())
        for lines, bad, done in lines_of(file):
            found = pc.extract_regex(lines, self._pattern)
            columns = [pc.struct_field(found, name) for name in names]
            columns = [pc.if_else(pc.equal(pc.binary_length(one), 0), nothing, one) for one in columns]
            yield Piece(columns, len(lines), done, bad or _has_malformed(lines, found.is_valid()))
