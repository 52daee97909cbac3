"""Where bytes come from: regular files, and pipes that can be read only once."""

from __future__ import annotations

import io
import os
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

import pyarrow as pa

from hushcount.errors import DataError
from hushcount.files.fingerprint import content_digest, digest
from hushcount.files.leftovers import prefix, remove_leftovers, take_lock
from hushcount.signals import held
from hushcount.sources.formats.registry import COMPRESSIONS

HEAD = 1 << 20
CHANGED = "changed "
Position = Callable[[], int]
Enough = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the system knows of a file, and a digest of samples of its content."""

    identity: tuple[int, int]
    size: int
    modified: int
    changed: int
    content: str
    rights: tuple[int, ...]

    @classmethod
    def of(cls, path: str) -> Stamp:
        """Look at a file."""
        status = os.stat(path)
        identity, times = (status.st_dev, status.st_ino), (status.st_mtime_ns, status.st_ctime_ns)
        return cls(identity, status.st_size, *times, content_digest(path), _rights(status))

    @property
    def mark(self) -> tuple[str, int]:
        """Content and modification time, for a fingerprint."""
        return self.content, self.modified

    def still_true(self, path: str) -> bool:
        """Return whether a file is as it was.

        If the system saw a change that new links, modes or owners explain, samples of the content decide.
        Without these, somebody may have written to it and put its modification time back.
        """
        status = os.stat(path)
        seen = (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns
        if seen != (self.identity, self.size, self.modified):
            return False
        if status.st_ctime_ns == self.changed:
            return True
        return _rights(status) != self.rights and content_digest(path) == self.content


def _rights(status: os.stat_result) -> tuple[int, ...]:
    """Return what may change of a file without its content: number of links, mode and owners."""
    return status.st_nlink, status.st_mode, status.st_uid, status.st_gid


@dataclass(frozen=True, slots=True)
class RegularFile:
    """A file on disk, maybe compressed; `copy` holds a temporary file that vanishes with it.

    `partitions` are the columns that its folders name, and their values.
    """

    name: str
    location: str
    stamp: Stamp
    compression: str | None = None
    copy: object = None
    partitions: tuple[tuple[str, str | None], ...] = ()

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self.stamp.size

    @property
    def is_local(self) -> bool:
        """Whether it is a file of this machine."""
        return True

    def change(self) -> DataError | None:
        """Return what to say if the file is no longer what it was when it was opened, else None."""
        with suppress(OSError):
            if self.stamp.still_true(self.location):
                return None
        return DataError(f"{self.name} changed while it was read, so nothing was released; run it again.")

    def check_unchanged(self) -> None:
        """Raise if the file is no longer what it was when it was opened."""
        if (failure := self.change()) is not None:
            raise failure

    def head(self, enough: Enough | None = None) -> bytes:
        """The first bytes, decompressed."""
        stream, _ = self.open()
        with stream:
            return bytes(stream.read(HEAD))

    def raw(self) -> pa.NativeFile:
        """Open for reading anywhere, as it is stored.

        It is not mapped: a file that is cut short meanwhile would end the program by SIGBUS.
        """
        return pa.OSFile(self.location)

    def open(self) -> tuple[pa.NativeFile, Position]:
        """Open for reading from the start."""
        raw = self.raw()
        stream = pa.CompressedInputStream(raw, self.compression) if self.compression else raw
        return stream, lambda: self.size if raw.closed else int(raw.tell())


@dataclass(slots=True)
class Pipe:
    """Standard input, or a path that is a pipe: read once, from the front."""

    name: str
    stream: BinaryIO
    start: bytes = field(default=b"", repr=False)
    size: int | None = None
    compression: str | None = None

    @property
    def location(self) -> str | None:
        """A path to the open pipe, while nothing has been read from it."""
        try:
            path = f"/dev/fd/{self.stream.fileno()}"
        except OSError:
            return None
        return path if os.path.exists(path) and not self.start else None

    def close(self) -> None:
        """Close what was opened here; standard input stays open."""
        if self.stream is not sys.stdin.buffer:
            self.stream.close()

    def head(self, enough: Enough | None = None) -> bytes:
        """The first bytes, kept for `open`; a pipe that says little is waited for until they are enough."""
        while len(self.start) < HEAD and not (enough is not None and enough(self.start)):
            block = _arrived(self.stream, HEAD - len(self.start))
            if not block:
                break
            self.start += block
        return self.start

    def open(self) -> tuple[pa.NativeFile, Position]:
        """The stream, with the head before it."""
        whole = _Rejoined(self.start, self.stream)
        return pa.PythonFile(whole, mode="r"), lambda: whole.consumed


Input = RegularFile | Pipe


def last_changes(files: Iterable[Input]) -> dict[str, str]:
    """Return when each file's status last changed, by a digest of what must stay for it to be comparable.

    A file that was moved, copied or given other rights has another digest: only its content can be compared.
    """
    known = [file for file in files if isinstance(file, RegularFile) and file.is_local]
    places = [(os.path.realpath(file.location), file.stamp.identity, file.stamp.rights) for file in known]
    return {
        CHANGED + digest(place): str(file.stamp.changed) for place, file in zip(places, known, strict=True)
    }


class _Rejoined(io.RawIOBase):
    """The bytes already read, then the rest of the stream."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = io.BytesIO(start)
        self._rest = rest
        self.consumed = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        block = self._start.read(size) or _arrived(self._rest, -1 if size is None else size)
        self.consumed += len(block)
        return block


def _arrived(stream: BinaryIO, size: int) -> bytes:
    """Wait for bytes of a pipe, and return all that have come, at most `size`; nothing at the end.

    So rows of a slow pipe are counted when they come, and those of a fast one in large blocks.
    """
    if size < 0 or not isinstance(stream, io.BufferedReader):
        return stream.read(size)
    block, more = stream.read1(size), select.poll()
    try:
        more.register(stream, select.POLLIN)
    except io.UnsupportedOperation:  # the answer of a web server
        return block
    while 0 < len(block) < size and more.poll(0):
        rest = stream.read1(size - len(block))
        if not rest:
            break
        block += rest
    return block


def spooled(pipe: Pipe) -> RegularFile:
    """Copy a pipe to a private file (0600) for a format that needs to seek."""
    remove_leftovers(tempfile.gettempdir())
    with held():
        copy = tempfile.NamedTemporaryFile(prefix=prefix())  # noqa: SIM115
        take_lock(copy.fileno())
    shutil.copyfileobj(_Rejoined(pipe.start, pipe.stream), copy, HEAD)
    copy.flush()
    pipe.close()
    return RegularFile(pipe.name, copy.name, Stamp.of(copy.name), copy=copy)


def standard_input() -> Input:
    """Return standard input: a file that is redirected from its start by a shell, or else a pipe."""
    if sys.stdin is None:
        raise DataError("Standard input is closed.")
    with suppress(OSError):
        handle = sys.stdin.fileno()
        place = f"/proc/self/fd/{handle}"  # opens the file anew; other systems have no such folder
        if stat.S_ISREG(os.fstat(handle).st_mode) and os.lseek(handle, 0, os.SEEK_CUR) == 0:
            return RegularFile("Standard input", place, Stamp.of(place))
    return Pipe("Standard input", sys.stdin.buffer)


def file_input(path: str) -> Input:
    """Return a path as what it is: a regular file or a pipe."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return Pipe(path, open(path, "rb"))
    compression = COMPRESSIONS.get(os.path.splitext(path)[1].lower())
    return RegularFile(path, path, Stamp.of(path), compression)
