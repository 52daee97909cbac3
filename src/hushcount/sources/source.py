"""What every source gives: batches of keys in the order of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.keys.columns import KeyColumns
    from hushcount.privacy import PrivacyUnit

# 131072 rows read Parquet a fifth faster than 65536 and cost 20 MB more; 262144 gain nothing.
BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class Batch:
    """Keys of consecutive rows: one array without nulls, plain or dictionary-encoded text.

    `rows` counts the rows read, nulls included, so that a later run can skip them;
    `bytes_read` says how much of the source has been consumed so far, for a progress bar only.
    """

    keys: pa.Array
    rows: int
    bytes_read: int


class Source(Protocol):
    """Keys of events in the order of the data, and how to turn them back into columns."""

    @property
    def unit(self) -> PrivacyUnit:
        """What one row is."""
        ...

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in a result."""
        ...

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types, so that a file can say how to decode its keys."""
        ...

    @property
    def size(self) -> int | None:
        """Bytes in all, when known."""
        ...

    @property
    def fingerprint(self) -> str:
        """Identifies the source for a checkpoint; empty when it cannot be read a second time."""
        ...

    @property
    def state(self) -> dict[str, str]:
        """What `open_source` must be given to continue in the same order."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Public sentences about how rows become events."""
        ...

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys in order, after the first `skip_rows` rows; close it to stop early."""
        ...

    def decode(self, keys: pa.Array) -> pa.Table:
        """Turn keys back into their columns."""
        ...
