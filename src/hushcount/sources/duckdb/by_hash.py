"""Rows without an order of their own, sorted by a keyed hash of the key.

The order in which a query engine returns rows may change when one row goes, or from run to run. The hash of a
key under a secret drawn for this source is a total order in which no other row has a part: without one row,
all others come in the same order as before. Equal keys cannot be told apart, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.secure import fresh_key
from hushcount.sources.duckdb.bounding import restored, stored
from hushcount.sources.duckdb.out_of_core import OutOfCore
from hushcount.sources.source import Batch, WrappedSource
from hushcount.stores.duckdb import keyed_hash

if TYPE_CHECKING:
    from hushcount.sources.source import Source

FAILURES = (
    "Sorting the rows needs more memory or disk space than there is.",
    "The rows could not be sorted.",
)


@dataclass(frozen=True, slots=True)
class RowsByHash(WrappedSource):
    """A source with its rows in the order of a keyed hash; DuckDB sorts them, beyond its memory on disk."""

    source: Source
    secret: str = field(default_factory=lambda: fresh_key().hex(), repr=False)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys sorted, after the first `skip_rows` of them; rows with a null come nowhere."""
        types = self.columns.without_time().types
        kind = types[0] if len(types) == 1 else pa.binary()
        sort = OutOfCore(self._query, *FAILURES)
        for rows in sort.batches(self.source, _record):
            keys = restored(rows.column("key"), kind).slice(skip_rows)
            skip_rows = max(skip_rows - rows.num_rows, 0)
            if len(keys):
                yield Batch(keys, len(keys), 0)

    def _query(self) -> str:
        return f"SELECT key FROM rows ORDER BY {keyed_hash(self.secret, 'key')}, key"


def _record(batch: Batch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([stored(batch.keys)], ["key"])
