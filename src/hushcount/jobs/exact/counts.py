"""Exact counts of all keys of a source, made on disk, and the table that is published of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.jobs.run import TableAsk, check_length
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.shapes import ExactCounts, Public
from hushcount.sources.duckdb.counted import CountedKeys

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.compiled.arrays import Counts
    from hushcount.jobs.request import Progress
    from hushcount.jobs.run import Run
    from hushcount.sources.source import Batch, Source


@dataclass(slots=True, kw_only=True)
class CountsOnDisk:
    """All keys of a source with their counts, of which one unit can change `moved`, in any order.

    `read` reads every row and ends when the first counts are there; `shape` passes them on, once. Keys of
    fewer than `min_users` are not to be published.
    """

    moved: int = 1
    min_users: int | None = None
    max_events: int | None = None
    unit: PrivacyUnit = EVENT
    total: int = 0
    _blocks: Iterator[tuple[pa.Array, Counts]] = field(default_factory=lambda: iter(()))

    def update(self, keys: pa.Array) -> None:
        """Refuse: the rows are read by `read`."""
        raise ParameterError("rows are read from their source, not one batch after the other.")

    def public(self) -> Public:
        """Return how many counts one unit can change, and the least number of users."""
        return Public(unit=self.unit, moved=self.moved, shape=ExactCounts, min_users=self.min_users)

    def shape(self) -> ExactCounts:
        """Return the counts, which can be taken once."""
        return ExactCounts(self._blocks, self.moved, self.unit)

    def read(self, source: Source, progress: Progress | None) -> None:
        """Read and count all rows; `progress` is called with the bytes read so far and in all."""

        def tell(batch: Batch) -> None:
            self.total += len(batch.keys)
            check_length(self.total, self.max_events)
            if progress is not None:
                progress(batch.bytes_read, source.size)

        blocks = CountedKeys(source).batches(tell)
        first = list(islice(blocks, 1))  # all rows have been read once there is a block
        self._blocks = chain(first, blocks)


@dataclass(frozen=True)
class ExactAsk(TableAsk):
    """A table of exact counts of all keys."""

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Read and count all rows; the counts come back while the noise is drawn."""
        sketch = reading.sketch
        assert isinstance(sketch, CountsOnDisk)
        sketch.read(reading.source, progress)
