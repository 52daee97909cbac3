"""Logs that are held open: how far each was read, and where its whole lines end.

Positions are in bytes of the text, decompressed if the file is compressed.
"""

from __future__ import annotations

import hashlib
import io
import os
import weakref
from dataclasses import asdict, dataclass

import pyarrow as pa

from hushcount.errors import DataError, SketchFileError
from hushcount.files.failures import Sentence, attempt, file_failure
from hushcount.files.fingerprint import digest, sampled
from hushcount.sources.formats.inputs import HEAD, Position, RegularFile, Stamp
from hushcount.sources.formats.registry import COMPRESSIONS
from hushcount.sources.formats.text import BYTE_ORDER_MARK, line_ends, whole_rows

UNREADABLE = "The position in the log is one that this version cannot read."
LINE = 4095  # bytes at the end of a line by which it is known again


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a log was read, and what tells it from other files.

    `read` is the number of bytes, which are whole lines; `content` is a digest of samples of them, `last` one
    of the last line, and `modified` the time at which the file had been written to when it was read.
    """

    device: int
    inode: int
    read: int
    content: str
    last: str
    modified: int

    @property
    def identity(self) -> tuple[int, int]:
        """The file, until it is removed or copied."""
        return self.device, self.inode

    def to_dict(self) -> dict[str, object]:
        """Return plain values for a sketch file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: object) -> Mark:
        """Return the mark that `to_dict` described, or raise."""
        kinds = {"device": int, "inode": int, "read": int, "content": str, "last": str, "modified": int}
        if isinstance(values, dict) and {name: type(each) for name, each in values.items()} == kinds:
            return cls(**values)
        raise SketchFileError(UNREADABLE)


class OpenLog:
    """A log, or a rotated one, held open: what is read of it stays the same file when it is renamed.

    Only what it had when it was opened is read, whatever is written to it later.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._handle)
        self.compression = COMPRESSIONS.get(os.path.splitext(path)[1].lower())
        status = os.fstat(self._handle)
        self.identity = (status.st_dev, status.st_ino)
        self.size, self.modified = status.st_size, status.st_mtime_ns

    def stream(self, start: int = 0) -> io.RawIOBase:
        """Return the text from a position on; several may be read at the same time."""
        stored = _Stored(self._handle, self.size)
        stream = stored if self.compression is None else _Unpacked(stored, self.compression)
        stream.seek(start)
        return stream

    def begins_with(self, mark: Mark) -> bool:
        """Return whether its first lines are those that were read."""
        if self.compression is None and self.size < mark.read:
            return False
        return self._content(mark.read) == mark.content

    def mark(self, read: int) -> Mark:
        """Return what tells later how far it was read."""
        tail = self.stream(max(0, read - LINE - 1))
        last = _filled(tail, min(read, LINE + 1))[:-1].rpartition(b"\n")[2]
        return Mark(*self.identity, read, self._content(read), _digest(last), self.modified)

    def whole_lines(self, start: int, most: int) -> int:
        """Return where the last whole line after `start` ends; at least one line, and about `most` bytes."""
        return attempt(self._unreadable, self._whole_lines, start, most)

    def _whole_lines(self, start: int, most: int) -> int:
        stream, end, at = self.stream(start), start, start
        size = min(HEAD, max(most, LINE))
        while block := stream.read(size):
            end = at + found + 1 if (found := block.rfind(b"\n")) >= 0 else end
            at += len(block)
            if at - start >= most and end > start:
                break
        return end

    def has_line(self, last: str) -> bool:
        """Return whether one of its lines is the last one that was read."""
        text = pa.PythonFile(self.stream(), mode="r")
        lines = (line for block in whole_rows(text, line_ends, b"\n") for line in block.split(b"\n"))
        return any(_digest(line[-LINE:]) == last for line in lines if line)

    @property
    def name(self) -> str:
        """A digest by which sketches of the same log are known; rotation by renaming does not change it."""
        return digest([*self.identity, _digest(_filled(self.stream(), LINE).partition(b"\n")[0])])

    def unchanged(self, mark: Mark) -> bool:
        """Return whether it still has what it had when it was opened, up to a mark."""
        return os.fstat(self._handle).st_size >= self.size and self._content(mark.read) == mark.content

    def _content(self, read: int) -> str:
        return attempt(self._unreadable, lambda: sampled(self.stream(), read))

    @property
    def _unreadable(self) -> Sentence:
        return file_failure(self.path, "cannot be read")


def _digest(line: bytes) -> str:
    return hashlib.blake2b(line, digest_size=16).hexdigest()


def _filled(stream: io.RawIOBase, size: int) -> bytes:
    """Read as many bytes, fewer only at the end."""
    found = b""
    while len(found) < size and (block := stream.read(size - len(found))):
        found += block
    return found


class _Stored(io.RawIOBase):
    """The bytes of an open file, from a position of its own."""

    def __init__(self, handle: int, end: int) -> None:
        self._handle, self._end, self._at = handle, end, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        left = max(0, self._end - self._at)
        block = os.pread(self._handle, left if size < 0 else min(size, left), self._at)
        self._at += len(block)
        return block

    def seek(self, place: int, whence: int = 0, /) -> int:
        self._at = place
        return place


class _Unpacked(io.RawIOBase):
    """The text of a compressed file, front to back."""

    def __init__(self, stored: _Stored, compression: str) -> None:
        self._stream = pa.CompressedInputStream(pa.PythonFile(stored, mode="r"), compression)
        self._at = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        block = bytes(self._stream.read(None if size < 0 else size))
        self._at += len(block)
        return block

    def seek(self, place: int, whence: int = 0, /) -> int:
        while self._at < place and self.read(min(place - self._at, HEAD)):
            pass
        return self._at


class _Part(io.RawIOBase):
    """The text from one position to another.

    Readers leave out a byte order mark at the start of a text. What starts in the middle gets one, so that
    nothing of the lines themselves is taken for it.
    """

    def __init__(self, log: OpenLog, start: int, end: int) -> None:
        self._stream, self._left = log.stream(start), end - start
        self._front = BYTE_ORDER_MARK if start else b""
        self.consumed = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        front, self._front = self._front, b""  # no more than `size` in all, or the end would be cut
        block = self._stream.read(self._left if size < 0 else min(size - len(front), self._left)) or b""
        self._left -= len(block)
        self.consumed += len(block)
        return front + block


@dataclass(frozen=True, slots=True)
class Stretch(RegularFile):
    """The whole lines of a log from one position to that of a mark."""

    log: OpenLog | None = None
    start: int = 0
    until: Mark | None = None

    @classmethod
    def of(cls, log: OpenLog, start: int, until: Mark) -> Stretch:
        """Return the lines of a log from `start` to a mark."""
        stamp = Stamp(log.identity, log.size, log.modified, 0, until.content, ())
        return cls(log.path, log.path, stamp, log=log, start=start, until=until)

    @property
    def size(self) -> int:
        """Bytes of the lines."""
        return self.end - self.start

    @property
    def end(self) -> int:
        """Where the last of the lines ends."""
        return self.start if self.until is None else self.until.read

    def change(self) -> DataError | None:
        """Return what to say if the log no longer has what it had when it was opened, else None."""
        if self.log is None or self.until is None or self.log.unchanged(self.until):
            return None
        return DataError(
            f"{self.name} was truncated or rewritten while it was read, so nothing of it was counted; run it"
            " again."
        )

    def open(self) -> tuple[pa.NativeFile, Position]:
        """Open for reading from the first of the lines."""
        assert self.log is not None
        part = _Part(self.log, self.start, self.end)
        return pa.PythonFile(part, mode="r"), lambda: part.consumed
