"""The distinct leaves of a source in sorted order, with their counts or numbers of users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.sources.duckdb.out_of_core import OutOfCore
from hushcount.stores.duckdb import MEMORY

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts
    from hushcount.sources.source import Batch, Source

QUERY = "SELECT leaf, count(*) AS leaves FROM rows GROUP BY leaf ORDER BY leaf"
USERS_QUERY = "SELECT leaf, known, count(*) AS users FROM rows GROUP BY leaf, known ORDER BY leaf, known"
FAILURES = (
    "Counting the keys needs more memory or disk space than there is.",
    "The keys could not be counted.",
)


@dataclass(frozen=True, slots=True)
class CountedLeaves:
    """Counts the leaves of all keys of a source by DuckDB, out of core.

    `leaves` maps keys to their leaves without nulls, of type `kind`: whole numbers or bytes, which sort by
    value and as unsigned bytes.
    """

    source: Source
    leaves: Callable[[pa.Array], pa.Array]
    kind: pa.DataType
    memory: str = MEMORY

    def batches(
        self, tell: Callable[[Batch], None] = lambda batch: None
    ) -> Iterator[tuple[pa.Array, Counts]]:
        """Yield leaves and counts, sorted by leaf; `tell(batch)` is called for each batch that is read."""

        def record(batch: Batch) -> pa.RecordBatch:
            tell(batch)
            return pa.RecordBatch.from_arrays([self.leaves(batch.keys)], ["leaf"])

        for rows in OutOfCore(lambda: QUERY, *FAILURES, self.memory).batches(self.source, record):
            yield rows.column("leaf").cast(self.kind), rows.column("leaves").to_numpy()


def counted_users(paths: Source, kind: pa.DataType) -> Iterator[pa.RecordBatch]:
    """Yield leaf, known and users, sorted by leaf, of a source whose keys are structs of leaf and known."""

    def record(batch: Batch) -> pa.RecordBatch:
        return pa.RecordBatch.from_struct_array(batch.keys)

    for rows in OutOfCore(lambda: USERS_QUERY, *FAILURES).batches(paths, record):
        columns = [rows.column("leaf").cast(kind), rows.column("known"), rows.column("users")]
        yield pa.RecordBatch.from_arrays(columns, ["leaf", "known", "users"])
