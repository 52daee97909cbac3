"""Sorted leaves with exact counts, as an offline release reads them, and their heavy nodes, not private."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.hierarchies.base import Hierarchy, LeafBatch, good_leaves, sortable
from hushcount.privacy import check_count
from hushcount.shapes import LeafCounts

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts, Mask
    from hushcount.hierarchies.base import Levels


def count_leaves(hierarchy: Hierarchy, keys: pa.Array, on_bad: str = "drop") -> LeafCounts:
    """Count the leaves of keys that fit in memory.

    >>> from hushcount.hierarchies.addresses import Ipv4
    >>> shape = count_leaves(Ipv4(8), pa.array(["10.0.0.2", "10.0.0.1", "10.0.0.2", "?"]))
    >>> [(batch.counts.tolist(), batch.shared.tolist()) for batch in shape.batches()]
    [([1, 2], [-1, 3])]
    """
    found = pc.value_counts(sortable(good_leaves(hierarchy, keys, on_bad)))
    leaves, counts = found.field("values"), found.field("counts")
    order = pc.array_sort_indices(leaves)
    rows = (leaves.take(order).cast(hierarchy.leaf_type), counts.take(order).to_numpy())
    return LeafCounts(hierarchy, partial(leaf_batches, hierarchy, [rows]))


def leaf_batches(hierarchy: Hierarchy, rows: Iterable[tuple[pa.Array, Counts]]) -> Iterator[LeafBatch]:
    """Yield sorted distinct leaves and their counts as batches, with the levels they share."""
    before: pa.Scalar | None = None
    for leaves, counts in rows:
        if len(leaves):
            yield LeafBatch(leaves, counts, hierarchy.shared(leaves, before))
            before = leaves[-1]


@dataclass(frozen=True, slots=True)
class HeavyNodes:
    """Nodes of several levels, the deepest level first and sorted within it.

    `totals` are the counts of all leaves below; `residuals` leave out those below a deeper node of the set.
    """

    nodes: pa.Array
    levels: Levels
    residuals: Counts
    totals: Counts

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, slots=True)
class _Groups:
    """The nodes of one level: the place of the first leaf of each, and the counts below it."""

    first: Counts
    residuals: Counts
    totals: Counts

    def above(self, level: int, shared: Levels) -> _Groups:
        """Return the nodes one level up: one begins where a first leaf shares less with the leaf before."""
        begins = np.flatnonzero(shared[self.first] < level)
        residuals, totals = (np.add.reduceat(counts, begins) for counts in (self.residuals, self.totals))
        return _Groups(self.first[begins], residuals, totals)

    def without(self, heavy: Mask) -> _Groups:
        """Return the same nodes, with nothing left of the heavy ones for their ancestors."""
        return _Groups(self.first, np.where(heavy, 0, self.residuals), self.totals)

    def where(self, heavy: Mask) -> _Groups:
        """Return some of the nodes."""
        return _Groups(self.first[heavy], self.residuals[heavy], self.totals[heavy])


def hierarchical_heavy_hitters(counts: LeafCounts, threshold: int) -> HeavyNodes:
    """Return the nodes whose residual reaches the threshold, bottom up (Biswas et al. 2024, Definition 2.8).

    The residual of a node is its count without the leaves below hierarchical heavy hitters that are deeper.
    """
    return _heavy_nodes(counts, threshold, lambda groups, heavy: groups.without(heavy))


def heavy_hitters_by_level(counts: LeafCounts, threshold: int) -> HeavyNodes:
    """Return the nodes of every level whose count reaches the threshold (Biswas et al. 2024, Definition 2.7).

    The set is looked at level by level: no node takes away from another, and residuals are totals.
    """
    return _heavy_nodes(counts, threshold, lambda groups, heavy: groups)


def _heavy_nodes(counts: LeafCounts, threshold: int, left: Callable[[_Groups, Mask], _Groups]) -> HeavyNodes:
    """Return the nodes whose residual reaches the threshold; `left` is what they leave to their ancestors."""
    threshold, hierarchy = check_count("threshold", threshold), counts.hierarchy
    leaves, shared, groups = _collected(counts)
    nodes, found = [], []
    for level in range(hierarchy.height, -1, -1):
        groups = groups.above(level, shared)
        heavy = groups.residuals >= threshold
        found.append((level, groups.where(heavy)))
        nodes.append(hierarchy.nodes(leaves.take(pa.array(groups.first[heavy])), level))
        groups = left(groups, heavy)
    return HeavyNodes(
        pa.concat_arrays(nodes),
        np.concatenate([np.full(len(some.first), level, np.int16) for level, some in found]),
        np.concatenate([some.residuals for _, some in found]),
        np.concatenate([some.totals for _, some in found]),
    )


def _collected(counts: LeafCounts) -> tuple[pa.Array, Levels, _Groups]:
    """Return all leaves in memory, each as a node."""
    batches = list(counts.batches())
    leaves = pa.concat_arrays(
        [batch.leaves for batch in batches] or [pa.array([], counts.hierarchy.leaf_type)]
    )
    shared = np.concatenate([np.empty(0, np.int16), *(batch.shared for batch in batches)])
    totals = np.concatenate([np.empty(0, np.int64), *(batch.counts for batch in batches)])
    return leaves, shared, _Groups(np.arange(len(leaves)), totals, totals)
