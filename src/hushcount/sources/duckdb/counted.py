"""The keys of a source with their exact counts, whatever their number: counted on disk by DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.sources.duckdb.bounding import restored, stored
from hushcount.sources.duckdb.leaves import FAILURES
from hushcount.sources.duckdb.out_of_core import OutOfCore
from hushcount.stores.duckdb import SMALL_MEMORY

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts
    from hushcount.sources.source import Batch, Source

QUERY = "SELECT key, count(*) AS keys FROM rows GROUP BY key"


@dataclass(frozen=True, slots=True)
class CountedKeys:
    """Counts the keys of a source, in an order that may be any.

    DuckDB works in `memory`, and beyond that in a private folder that is removed at the end.
    """

    source: Source
    memory: str = SMALL_MEMORY

    def batches(
        self, tell: Callable[[Batch], None] = lambda batch: None
    ) -> Iterator[tuple[pa.Array, Counts]]:
        """Yield keys and counts; `tell(batch)` is called for each batch that is read."""
        kinds: list[pa.DataType] = []

        def record(batch: Batch) -> pa.RecordBatch:
            tell(batch)
            kinds[:] = [_kind(self.source, batch.keys)]
            return pa.RecordBatch.from_arrays([stored(batch.keys)], ["key"])

        for rows in OutOfCore(lambda: QUERY, *FAILURES, self.memory).batches(self.source, record):
            yield restored(rows.column("key"), kinds[0]), rows.column("keys").to_numpy()


@dataclass(frozen=True, slots=True)
class CountedByBound:
    """Counts the users of keys for each of several bounds on the keys of a user.

    The source gives keys with their places among the keys of their users.
    """

    source: Source
    bounds: tuple[int, ...]
    memory: str = SMALL_MEMORY

    def batches(self, tell: Callable[[Batch], None] = lambda batch: None) -> Iterator[pa.RecordBatch]:
        """Yield records of a key and its counts; `tell(batch)` is called for each batch that is read."""
        kinds, names = [pa.null()], ["key", *(f"within_{bound}" for bound in self.bounds)]

        def record(batch: Batch) -> pa.RecordBatch:
            tell(batch)
            few = batch.keys.filter(pc.less_equal(batch.keys.field("place"), self.bounds[-1]))
            kinds[:] = [_kind(self.source, few.field("key"))]
            columns = [stored(few.field("key")), few.field("place")]
            return pa.RecordBatch.from_arrays(columns, ["key", "place"])

        for rows in OutOfCore(self._query, *FAILURES, self.memory).batches(self.source, record):
            columns = [restored(rows.column(0), kinds[0]), *rows.columns[1:]]
            yield pa.RecordBatch.from_arrays(columns, names)

    def _query(self) -> str:
        within = [f"count(*) FILTER (place <= {bound})" for bound in self.bounds]
        return f"SELECT key, {', '.join(within)} FROM rows GROUP BY key"


def _kind(source: Source, keys: pa.Array) -> pa.DataType:
    """Return the type of the keys of a source; an iterable has one from its first keys on."""
    types = source.columns.without_time().types
    return types[0] if len(types) == 1 else keys.type
