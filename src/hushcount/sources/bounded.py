"""A source of which each user contributes a bounded number of rows; its unit is one user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.privacy import USER, PrivacyUnit
from hushcount.sources.duckdb.bounding import Bound, BoundedPairs, BoundedUsers, DistinctPairs, PlacedPairs
from hushcount.sources.source import Batch, WrappedSource

if TYPE_CHECKING:
    from hushcount.keys.columns import KeyColumns
    from hushcount.sources.source import Source

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class BoundedSource(WrappedSource):
    """The rows of a source that has a user column, at most `bound.largest` of each user, users together.

    `with_users` keeps the user beside each key, as structs, for sketches that count users themselves.
    `progress(done, size)` is called with numbers of bytes while the rows are read and sorted. Rows that need
    not be `ordered`, because nothing depends on their order, come in less time.
    """

    source: Source
    bound: Bound
    with_users: bool = False
    progress: Progress | None = None
    ordered: bool = True

    @property
    def unit(self) -> PrivacyUnit:
        """One user, with all rows that are kept."""
        return replace(USER, rows=self.bound.largest)

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in a result."""
        return self.columns.key_names

    @property
    def columns(self) -> KeyColumns:
        """The key columns, without the user's."""
        return self.source.columns.without_user()

    @property
    def fingerprint(self) -> str:
        """Nothing: the order of users is drawn anew, so a stopped run cannot be continued."""
        return ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the files that are read."""
        return self.source.inputs

    @property
    def state(self) -> dict[str, str]:
        """Nothing that another run could continue from."""
        return {}

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the rows that are kept, users together; nothing can be skipped."""
        read = [0]

        def tell(batch: Batch) -> None:
            read[0] = batch.bytes_read
            if self.progress is not None:
                self.progress(batch.bytes_read, self.size)

        if not (self.ordered or self.with_users) and isinstance(self.bound, DistinctPairs):
            placed = isinstance(self.bound, PlacedPairs)
            for keys, places in BoundedPairs(self.source, self.bound.largest).batches(tell):
                rows = pa.StructArray.from_arrays([keys, places], ["key", "place"]) if placed else keys
                yield Batch(rows, len(keys), read[0])
            return
        for users, keys in BoundedUsers(self.source, self.bound).batches(tell):
            rows = pa.StructArray.from_arrays([users, keys], ["user", "key"]) if self.with_users else keys
            yield Batch(rows, len(keys), read[0])
