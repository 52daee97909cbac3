"""Sorted leaves of a hierarchy with counts, and which nodes a leaf is a user's first one below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts, Mask
    from hushcount.hierarchies.base import Hierarchy, Levels


@dataclass(frozen=True, slots=True)
class LeafBatch:
    """Consecutive leaves of a hierarchy, sorted and distinct, with counts of at least 1.

    `shared` is the level of the deepest node that a leaf shares with the leaf before it, across batches too;
    -1 for the first leaf of all.
    """

    leaves: pa.Array
    counts: Counts
    shared: Levels


@dataclass(frozen=True, slots=True)
class UserLeafBatch(LeafBatch):
    """Consecutive leaves of users, sorted; a leaf stands once for each level in `known`.

    `counts` are numbers of users who have the leaf, and for whom it is the first one below its nodes deeper
    than the level `known`: -1 if it is their first leaf of all.
    """

    known: Levels


def first_below(hierarchy: Hierarchy, leaves: pa.Array, begins: Mask) -> tuple[pa.Array, Levels]:
    """Return the different leaves of each user, and the level down to which the user has been before.

    Leaves of one user are consecutive, and `begins` is true at the first of each. A leaf is the user's first
    one below its nodes of all deeper levels (docs/proofs/hierarchy/users.md, section 3).
    """
    users = np.cumsum(begins)
    order = pc.array_sort_indices(sortable(leaves)).to_numpy()
    order = order[np.argsort(users[order], kind="stable")]
    found = leaves.take(pa.array(order))
    known = hierarchy.shared(found)
    known[np.diff(users[order], prepend=0) > 0] = -1
    new = known < hierarchy.height  # otherwise the user has this very leaf already
    return found.filter(pa.array(new)), known[new]


def sortable(leaves: pa.Array) -> pa.Array:
    """Return bytes of a fixed width as bytes of any width, which Arrow can sort."""
    return leaves.cast(pa.binary()) if pa.types.is_fixed_size_binary(leaves.type) else leaves
