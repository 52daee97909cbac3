"""Data in memory as a source of keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.files.failures import guarded
from hushcount.keys.memory import InMemory, in_memory
from hushcount.keys.objects import mixed_types
from hushcount.privacy import EVENT, STREAM_ROW, PrivacyUnit
from hushcount.sources.formats.registry import Piece, after
from hushcount.sources.source import Batch

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.keys.columns import KeyColumns
    from hushcount.keys.memory import Data
    from hushcount.sources.source import Source

UNIT_NOTE = "The unit is one row of the result."


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Keys of data in this process; another process cannot continue to read them."""

    found: InMemory
    unit: PrivacyUnit = EVENT
    unit_note: tuple[str, ...] = ()

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types."""
        return self.found.columns

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in a result."""
        return self.columns.key_names

    @property
    def size(self) -> int | None:
        """Unknown: nothing is read from a file."""
        return None

    @property
    def fingerprint(self) -> str:
        """Empty: another process cannot see the same data."""
        return ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """None: nothing is read from a file."""
        return ()

    @property
    def state(self) -> dict[str, str]:
        """Nothing."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the unit is if not an event, and which rows are dropped."""
        return self.unit_note + self.columns.notes

    def decode(self, keys: pa.Array) -> pa.Table:
        """Turn keys back into their columns."""
        return self.columns.decode(keys)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys in order, in batches of bounded size."""
        pieces = (Piece(columns, len(columns[0]), 0) for columns in guarded(self.found.pieces(), mixed_types))
        for piece in after(pieces, skip_rows):
            for keys, rows in self.columns.parts(piece.columns or ()):
                yield Batch(keys, rows, 0)


def open_memory(data: Data, columns: KeyColumns, ordered: bool) -> Source:
    """Open data in memory.

    Parameters
    ----------
    data
        A frame, an array or an ordered iterable of keys.
    columns
        Which columns of it make a key.
    ordered
        Whether the rows must come in an order that each row has by itself. A query that is run now, such as a
        polars LazyFrame, has none; its rows are then sorted by a keyed hash.
    """
    found = in_memory(data, columns)
    if found.ordered:
        return MemorySource(found)
    source = MemorySource(found, STREAM_ROW, (UNIT_NOTE,))
    if not ordered or columns.user is not None:  # the rows of users are sorted later
        return source
    from hushcount.sources.duckdb.by_hash import RowsByHash

    return RowsByHash(source)
