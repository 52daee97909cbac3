"""Leaves with their counts, sorted: what an offline release reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.sketches.hierarchies.base import Hierarchy, good_leaves
from hushcount.sketches.shapes import LeafBatch, LeafCounts


def count_leaves(hierarchy: Hierarchy, keys: pa.Array) -> LeafCounts:
    """Count the leaves of keys that fit in memory; malformed keys are dropped.

    >>> from hushcount.sketches.hierarchies.ipv4 import Ipv4
    >>> shape = count_leaves(Ipv4(8), pa.array(["10.0.0.2", "10.0.0.1", "10.0.0.2", "?"]))
    >>> [(batch.counts.tolist(), batch.shared.tolist()) for batch in shape.batches()]
    [([1, 2], [-1, 3])]
    """
    found = pc.value_counts(_plain(good_leaves(hierarchy, keys)))
    order = pc.array_sort_indices(found.field("values"))
    leaves = found.field("values").take(order).cast(hierarchy.leaf_type)
    counts = found.field("counts").take(order)
    return LeafCounts(hierarchy, partial(leaf_batches, hierarchy, [(leaves, counts)]))


def leaf_batches(hierarchy: Hierarchy, rows: Iterable[tuple[pa.Array, pa.Array]]) -> Iterator[LeafBatch]:
    """Sorted distinct leaves and their counts as batches, with the levels they share."""
    before: pa.Scalar | None = None
    for leaves, counts in rows:
        if len(leaves):
            shared = hierarchy.shared(leaves, before)
            yield LeafBatch(leaves, np.asarray(counts.to_numpy(zero_copy_only=False), np.int64), shared)
            before = leaves[-1]


def _plain(leaves: pa.Array) -> pa.Array:
    """Fixed widths are not counted or sorted by every version of Arrow; the same bytes of any width are."""
    return leaves.cast(pa.binary()) if pa.types.is_fixed_size_binary(leaves.type) else leaves
