"""Rows divided into parts, which are then handled one after the other; beyond a limit rows wait on disk.

The caller says to which part each row goes, for instance by a hash of its user: then all rows of a user are
in one part, and a part is small enough to be sorted in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts

PARTS = 128
ROOM = 96 << 20  # bytes of rows that wait in memory


class DealtRows:
    """Rows in PARTS parts: in `room` bytes of memory, and beyond that in a file without a name.

    Only the owner can read the file, and it is gone with the process.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room, self._held = room, 0
        self._waiting: list[list[pa.RecordBatch]] = [[] for _ in range(PARTS)]
        self._written: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]
        self._file: IO[bytes] | None = None
        self._schema: pa.Schema | None = None

    @property
    def on_disk(self) -> int:
        """Bytes of rows that wait on disk."""
        return sum(size for places in self._written for _, size in places)

    def close(self) -> None:
        """Forget what waits on disk."""
        if self._file is not None:
            self._file.close()

    def add(self, rows: pa.RecordBatch, parts: Counts) -> None:
        """Add rows; `parts[i]` is the part to which row i goes."""
        self._schema = rows.schema
        dealt = rows.take(pa.array(np.argsort(parts, kind="stable")))
        ends = np.cumsum(np.bincount(parts, minlength=PARTS)).tolist()
        for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if end > start:
                self._waiting[part].append(dealt.slice(start, end - start))
        self._held += dealt.nbytes
        if self._held > self._room:
            self._write()

    def _write(self) -> None:
        """Put all rows that wait in memory on disk."""
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115
        for waiting, written in zip(self._waiting, self._written, strict=True):
            if waiting:
                rows = pa.concat_batches(waiting).serialize()
                written.append((self._file.tell(), rows.size))
                self._file.write(rows)
                waiting.clear()
        self._held = 0

    def parts(self) -> Iterator[DealtPart]:
        """Yield the parts that have rows; what waits in memory is forgotten with its part."""
        for waiting, written in zip(self._waiting, self._written, strict=True):
            if waiting or written:
                yield DealtPart(self._file, written, waiting, self._schema)
                waiting.clear()


@dataclass(frozen=True, slots=True)
class DealtPart:
    """The rows of one part."""

    file: IO[bytes] | None
    written: list[tuple[int, int]]
    waiting: list[pa.RecordBatch]
    schema: pa.Schema | None

    @property
    def size(self) -> int:
        """Bytes of all rows."""
        return sum(size for _, size in self.written) + sum(int(rows.nbytes) for rows in self.waiting)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the order in which they were dealt."""
        for start, size in self.written:
            assert self.file is not None
            self.file.seek(start)
            yield pa.ipc.read_record_batch(pa.py_buffer(self.file.read(size)), self.schema)
        yield from self.waiting

    def rows(self) -> pa.RecordBatch:
        """Return all rows at once."""
        return pa.concat_batches(list(self.batches()))
