"""What every source offers: batches of keys in the order of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from hushcount.keys.columns import KeyColumns
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.sources.formats.registry import Piece


@dataclass(frozen=True, slots=True)
class Batch:
    """Keys of consecutive rows, in one array without nulls.

    `rows` is the number of rows read, nulls included, so that a later run can skip them; `bytes_read` is how
    much of the source has been read so far, for a progress bar only.
    """

    keys: pa.Array
    rows: int
    bytes_read: int


class Source(Protocol):
    """Keys of events in the order of the data, and how to turn them back into columns.

    A source that says nothing else has events as rows, reads no file, and cannot be read a second time.
    """

    __slots__ = ()

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types, so that a file can say how to decode its keys."""
        ...

    @property
    def unit(self) -> PrivacyUnit:
        """What one row is."""
        return EVENT

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in a result."""
        return self.columns.key_names

    @property
    def size(self) -> int | None:
        """Bytes in all, when known."""
        return None

    @property
    def fingerprint(self) -> str:
        """Identifies the source for a checkpoint; empty when it cannot be read a second time."""
        return ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the files that are read, which no output may replace."""
        return ()

    @property
    def state(self) -> dict[str, str]:
        """What `open_source` must be given to continue in the same order."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Public sentences about how rows become events."""
        return self.columns.notes

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys in order, after the first `skip_rows` rows; close it to stop early."""
        ...

    def decode(self, keys: pa.Array) -> pa.Table:
        """Turn keys back into their columns."""
        return self.columns.decode(keys)


def keyed(columns: KeyColumns, pieces: Iterator[Piece]) -> Iterator[Batch]:
    """Yield the keys of pieces whose buffers have been checked."""
    for piece in pieces:
        yield Batch(columns.keys(piece.columns or ()), piece.rows, piece.bytes_read)
