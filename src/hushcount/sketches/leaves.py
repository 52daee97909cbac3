"""Leaves with their counts, sorted: what an offline release reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.hierarchies.base import Hierarchy, good_leaves
from hushcount.shapes import LeafBatch, LeafCounts

if TYPE_CHECKING:
    from hushcount.shapes import Counts


def count_leaves(hierarchy: Hierarchy, keys: pa.Array, on_bad: str = "drop") -> LeafCounts:
    """Count the leaves of keys that fit in memory.

    >>> from hushcount.hierarchies.ipv4 import Ipv4
    >>> shape = count_leaves(Ipv4(8), pa.array(["10.0.0.2", "10.0.0.1", "10.0.0.2", "?"]))
    >>> [(batch.counts.tolist(), batch.shared.tolist()) for batch in shape.batches()]
    [([1, 2], [-1, 3])]
    """
    found = pc.value_counts(_plain(good_leaves(hierarchy, keys, on_bad)))
    leaves, counts = found.field("values"), found.field("counts")
    order = pc.array_sort_indices(leaves)
    rows = (leaves.take(order).cast(hierarchy.leaf_type), counts.take(order).to_numpy())
    return LeafCounts(hierarchy, partial(leaf_batches, hierarchy, [rows]))


def leaf_batches(hierarchy: Hierarchy, rows: Iterable[tuple[pa.Array, Counts]]) -> Iterator[LeafBatch]:
    """Sorted distinct leaves and their counts as batches, with the levels they share."""
    before: pa.Scalar | None = None
    for leaves, counts in rows:
        if len(leaves):
            yield LeafBatch(leaves, counts, hierarchy.shared(leaves, before))
            before = leaves[-1]


def _plain(leaves: pa.Array) -> pa.Array:
    """Bytes of a fixed width as bytes of any: Arrow sorts those."""
    return leaves.cast(pa.binary()) if pa.types.is_fixed_size_binary(leaves.type) else leaves
