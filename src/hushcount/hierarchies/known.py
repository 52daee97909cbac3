"""The nodes of a hierarchy that everybody knows: all that can be published, level by level, data or not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import ParameterError
from hushcount.hierarchies.base import Hierarchy, IntegerHierarchy, sortable

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Words

LARGEST_LEVEL = 1 << 40  # nodes of a level that are numbered and not listed
UNKNOWN = (
    "delta = 0 needs a hierarchy of which everybody knows all nodes, because every one of them gets noise,"
    " and {} is none: give domain, a public list of all keys, or a table of parents (parents:FILE.csv)."
)


@dataclass(frozen=True, slots=True)
class ListedNodes:
    """The nodes of one level as a list without repetition; a place is an index."""

    listed: pa.Array

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.listed)

    def places(self, nodes: pa.Array) -> Words:
        """Return the places of nodes, or raise if one of them is not known."""
        found = pc.index_in(sortable(nodes), value_set=sortable(self.listed))
        if found.null_count:
            raise ParameterError("all leaves must be those of the known hierarchy.")
        return np.asarray(found.to_numpy(zero_copy_only=False), np.uint64)

    def nodes(self, places: Words) -> pa.Array:
        """Return the nodes at some places."""
        return self.listed.take(pa.array(places))


@dataclass(frozen=True, slots=True)
class NumberedNodes:
    """All numbers whose lowest `shift` bits are 0; a place is the number without these bits."""

    size: int
    shift: int

    def places(self, nodes: pa.Array) -> Words:
        """Return the places of nodes."""
        return np.asarray(nodes.to_numpy(zero_copy_only=False), np.uint64) >> np.uint64(self.shift)

    def nodes(self, places: Words) -> pa.Array:
        """Return the nodes at some places."""
        return pa.array(places << np.uint64(self.shift))


@dataclass(frozen=True, slots=True)
class KnownNodes:
    """All nodes of a hierarchy, `size` in number; `digest` tells them from those of another one.

    >>> from hushcount.hierarchies.addresses import Ipv4
    >>> known_nodes(Ipv4(8), pa.array(["10.0.0.1", "10.0.0.2"])).size
    6
    """

    levels: tuple[ListedNodes | NumberedNodes, ...]
    size: int
    digest: str

    def most_nodes(self, leaves: int) -> int:
        """Return how many nodes so many leaves can have above them, themselves included."""
        return sum(min(leaves, level.size) for level in self.levels)


def known_nodes(hierarchy: Hierarchy, keys: pa.Array | None = None) -> KnownNodes:
    """Return all nodes above the leaves of some keys, or of all keys there can be, or raise.

    Parameters
    ----------
    hierarchy : Hierarchy
        The hierarchy. Without keys it must have a leaf for few enough keys to number or list them all.
    keys : Array, optional
        All keys that can occur, known to everybody.
    """
    if keys is None and isinstance(hierarchy, IntegerHierarchy):
        return _numbered(hierarchy)
    leaves = hierarchy.known_leaves() if keys is None else hierarchy.leaves(keys)
    if leaves is None:
        raise ParameterError(UNKNOWN.format(hierarchy.name))
    if leaves.null_count:
        raise ParameterError(f"domain must hold well-formed keys of hierarchy {hierarchy.name} only.")
    levels = tuple(
        ListedNodes(sortable(hierarchy.nodes(leaves, level)).unique().cast(hierarchy.leaf_type))
        for level in range(hierarchy.height + 1)
    )
    listed = sortable(levels[-1].listed)
    digest = hashlib.blake2b(digest_size=16)
    for leaf in listed.take(pc.array_sort_indices(listed)).to_pylist():
        text = leaf if isinstance(leaf, bytes) else str(leaf).encode()
        digest.update(len(text).to_bytes(8) + text)
    return KnownNodes(levels, sum(level.size for level in levels), digest.hexdigest())


def _numbered(hierarchy: IntegerHierarchy) -> KnownNodes:
    """Return all nodes of a hierarchy of numbers, if they are known, or raise."""
    sizes = [hierarchy.possible(level) for level in range(hierarchy.height + 1)]
    numbered = [
        NumberedNodes(size, int(shift))
        for size, shift in zip(sizes, hierarchy.shifts, strict=True)
        if size is not None and size <= LARGEST_LEVEL
    ]
    if len(numbered) < len(sizes):
        raise ParameterError(UNKNOWN.format(hierarchy.name))
    return KnownNodes(tuple(numbered), sum(level.size for level in numbered), f"all of {hierarchy.name}")
