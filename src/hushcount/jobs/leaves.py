"""The sorted leaves of a source, as an offline tree takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.hierarchies.base import good_leaves
from hushcount.jobs.run import check_length
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.shapes import LeafCounts, Public
from hushcount.sketches.leaves import leaf_batches
from hushcount.sources.duckdb.leaves import CountedLeaves

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.hierarchies.base import Hierarchy
    from hushcount.jobs.run import Progress
    from hushcount.shapes import LeafBatch
    from hushcount.sources.source import Batch, Source


@dataclass(slots=True)
class SortedLeaves:
    """All leaves of a source with their counts, sorted out of core.

    `read` reads every row and ends when the first sorted leaves are there; `shape` passes them on.
    """

    hierarchy: Hierarchy
    on_bad: str
    max_events: int | None
    unit: PrivacyUnit = EVENT
    total: int = 0
    _sorted: Iterator[LeafBatch] = field(default_factory=lambda: iter(()))

    def update(self, keys: pa.Array) -> None:
        """Refuse: the rows are read by `read`."""
        raise ParameterError("leaves are read from their source, not one batch after the other.")

    def public(self) -> Public:
        """Return the height of the hierarchy."""
        return Public(unit=self.unit, height=self.hierarchy.height, shape=LeafCounts)

    def read(self, source: Source, progress: Progress | None) -> None:
        """Read and sort all rows; `progress` is called with the bytes read so far and in all."""

        def tell(batch: Batch) -> None:
            if progress is not None:
                progress(batch.bytes_read, source.size)

        counted = CountedLeaves(source, self._leaves, self.hierarchy.leaf_type)
        batches = leaf_batches(self.hierarchy, counted.batches(tell))
        first = next(batches, None)
        self._sorted = batches if first is None else chain([first], batches)

    def shape(self) -> LeafCounts:
        """Return the sorted leaves, which can be taken once."""
        return LeafCounts(self.hierarchy, lambda: self._sorted, self.unit)

    def _leaves(self, keys: pa.Array) -> pa.Array:
        """Return the leaves of keys, or raise for more events than the public bound."""
        leaves = good_leaves(self.hierarchy, keys, self.on_bad)
        self.total += len(leaves)
        check_length(self.total, self.max_events)
        return leaves
