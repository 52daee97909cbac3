"""What every source offers: batches of keys in the order of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from hushcount.keys.columns import KeyColumns
from hushcount.keys.memory import BATCH_ROWS
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.sources.formats.registry import Piece

if TYPE_CHECKING:
    from hushcount.sources.duckdb.bounding import UserBound


def unit_note(unit: PrivacyUnit) -> str:
    """Say what one row is, where that is not an event."""
    return f"The unit is one {unit.name}."


@dataclass(frozen=True, slots=True)
class Batch:
    """Keys of consecutive rows, in one array without nulls.

    `rows` is the number of rows read, nulls included, so that a later run can skip them; `bytes_read` is how
    much of the source has been read so far, for a progress bar only.
    """

    keys: pa.Array
    rows: int
    bytes_read: int

    @property
    def alone(self) -> pa.Array:
        """The keys without what may stand beside them: numbers of events, weights or users."""
        return self.keys.field("key") if pa.types.is_struct(self.keys.type) else self.keys


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
    def is_pipe(self) -> bool:
        """Whether rows come from a pipe, and are gone when they have been read."""
        return False

    @property
    def state(self) -> dict[str, str]:
        """What `open_source` must be given to continue in the same order."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Public sentences about how rows become events."""
        return self.columns.notes

    @property
    def several(self) -> bool:
        """Whether batches are pairs: a number of consecutive events, called weight, and their key."""
        return False

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys in order, after the first `skip_rows` rows; close it to stop early."""
        ...

    def by_code(self) -> Source:
        """Return the same rows, whose text may stay behind a dictionary as it is stored."""
        return self

    def grouped(self) -> Source | None:
        """Return pairs of weight and key that were counted where the data lie; None if nobody does that."""
        return None

    def bounded(self, bound: UserBound, with_users: bool) -> Source | None:
        """Return what is kept of each user, chosen where the data lie; None if nobody does that."""
        return None

    def decode(self, keys: pa.Array) -> pa.Table:
        """Turn keys back into their columns."""
        return self.columns.decode(keys)


def keyed(columns: KeyColumns, pieces: Iterator[Piece]) -> Iterator[Batch]:
    """Yield the keys of pieces whose buffers have been checked; text by value in parts, as it takes room."""
    for piece in pieces:
        most = max(piece.rows if columns.by_code else BATCH_ROWS, 1)
        for start in range(0, max(piece.rows, 1), most):
            part = [column.slice(start, most) for column in piece.columns or ()]
            yield Batch(columns.keys(part), min(most, piece.rows - start), piece.bytes_read)
