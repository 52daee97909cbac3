"""What a hierarchy is: a tree of fixed height over canonical leaves that sort by their nodes.

Sorted leaves come in batches, with counts; `first_below` says which leaves are a user's first ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.late import late
from hushcount.errors import DataError, KeyTypeError, ParameterError
from hushcount.keys.arrays import ByteKeys, held_as, is_bytes, to_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from hushcount.compiled.arrays import Counts, Mask, Words

    Levels = npt.NDArray[np.int16]

kernels = late("hushcount.hierarchies._kernels.levels")

ROOT = "*"
MARKER = "·"
# Levels are stored in 16 bits; a deeper tree would be of no use to a reader.
LARGEST_HEIGHT = 128


class Hierarchy(ABC):
    """A tree over keys: level 0 is the root, level `height` are the leaves, and every path is that long.

    A node is a leaf cut back to its level, of the same Arrow type as leaves: the node of a node is its
    ancestor. Sorted leaves (numbers by value, bytes as unsigned bytes) keep the leaves of a node together.
    Methods that take leaves also take nodes of the level they are asked for, or of a deeper one.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The public name of the hierarchy, such as ipv4/8."""

    @property
    @abstractmethod
    def height(self) -> int:
        """How many steps a leaf is below the root."""

    @property
    @abstractmethod
    def leaf_type(self) -> pa.DataType:
        """The Arrow type of leaves and nodes: uint64, binary, or binary of a fixed width."""

    @property
    def well_formed(self) -> str:
        """What keys must be like, as a sentence that follows an error; empty if there is no more to say."""
        return ""

    @abstractmethod
    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """Return the node of every leaf at one level."""

    @abstractmethod
    def _read(self, keys: pa.Array) -> pa.Array:
        """Return the leaf of every key, null if a key is malformed; keys are not dictionary-encoded."""

    @abstractmethod
    def _shared(self, leaves: pa.Array, before: pa.Scalar | None) -> Levels:
        """Return what `shared` returns; without `before`, any level will do for the first leaf."""

    @abstractmethod
    def _label(self, leaf: int | bytes, level: int) -> str:
        """Return the label of the node of a leaf at a level below the root."""

    def known_leaves(self) -> pa.Array | None:
        """Return all leaves there can be, if the hierarchy lists them; None if it does not."""
        return None

    def possible(self, level: int) -> int | None:
        """Return how many nodes a level can have at most, whatever the keys; None if nothing is known."""
        return None if level else 1

    def most_nodes(self, leaves: int) -> int:
        """Return how many nodes of all levels so many leaves can have above them, themselves included.

        >>> from hushcount.hierarchies.addresses import Ipv4
        >>> Ipv4(8).most_nodes(8), Ipv4(1).most_nodes(8)
        (33, 247)
        """
        known = (self.possible(level) for level in range(self.height + 1))
        return sum(leaves if nodes is None else min(leaves, nodes) for nodes in known)

    def leaves(self, keys: pa.Array) -> pa.Array:
        """Return the leaf of every key; null if a key is malformed."""
        if pa.types.is_dictionary(keys.type):
            return self._read(keys.dictionary).take(keys.indices)
        return self._read(keys)

    def shared(self, leaves: pa.Array, before: pa.Scalar | None = None) -> Levels:
        """Return the level of the deepest node that each of some sorted leaves shares with the one before it.

        `before` is the leaf before the first one; if there is none, the first level is -1.
        """
        levels = self._shared(leaves, before)
        if before is None:
            levels[:1] = -1
        return levels

    def labels(self, leaves: pa.Array, levels: Sequence[int] | Levels) -> pa.Array:
        """Return the nodes of leaves as text, each at a level of its own; different nodes differ in it."""
        pairs = zip(leaves.to_pylist(), levels, strict=True)
        found = [self._label(leaf, int(level)) if level else ROOT for leaf, level in pairs]
        return pa.array(found, pa.string())


class IntegerHierarchy(Hierarchy):
    """A hierarchy of whole numbers: the node at a level is the leaf without its lowest `shifts[level]` bits.

    `node = (leaf >> shift) << shift`; a shift is at most 63.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def shifts(self) -> Words:
        """How many bits are cleared at each level, from the root to the leaves."""

    @property
    def leaf_type(self) -> pa.DataType:
        """Leaves are whole numbers."""
        return pa.uint64()

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """Return leaves without their lowest bits."""
        shift = self.shifts[level]
        return pa.array((_integers(leaves) >> shift) << shift)

    def _shared(self, leaves: pa.Array, before: pa.Scalar | None) -> Levels:
        """Compare numbers with the ones before them."""
        first = np.uint64(0 if before is None else before.as_py())
        levels: Levels = kernels.shared_integers(_integers(leaves), first, self.shifts)
        return levels


def _integers(leaves: pa.Array) -> Words:
    """Return the numbers of leaves without nulls."""
    return np.asarray(leaves.to_numpy(zero_copy_only=True), np.uint64)


def good_leaves(hierarchy: Hierarchy, keys: pa.Array, on_bad: str = "drop") -> pa.Array:
    """Return the leaves of well-formed keys; malformed keys are dropped, or the first one stops the run.

    The error is for the operator: that there is a malformed key is a fact about the data.
    """
    leaves = hierarchy.leaves(keys)
    if on_bad == "fail" and leaves.null_count > keys.null_count:
        said = f'The data have a key that is malformed for hierarchy {hierarchy.name} (on_bad="fail").'
        raise DataError(f"{said} {hierarchy.well_formed}".strip())
    return leaves.drop_null() if leaves.null_count else leaves


def check_depth(name: str, depth: int) -> int:
    """Return a height, or raise."""
    if type(depth) is not int or not 1 <= depth <= LARGEST_HEIGHT:
        raise ParameterError(
            f"{name} must have a height from 1 to {LARGEST_HEIGHT} as a whole number, got {depth!r}."
        )
    return depth


def takes_bytes(kind: pa.DataType) -> bool:
    """Return whether keys of this type are text or bytes."""
    return is_bytes(held_as(kind))


def octets(keys: pa.Array) -> ByteKeys:
    """Return the bytes of text or binary keys, as a kernel reads them."""
    found = to_kernel(keys, held_as(keys.type))
    assert isinstance(found, ByteKeys)
    return found


def checked_octets(keys: pa.Array, name: str, takes: str) -> ByteKeys:
    """Return the bytes of keys, or raise if they are neither text nor bytes; `takes` names what may be."""
    if not takes_bytes(keys.type):
        raise KeyTypeError(f"Keys of hierarchy {name} must be {takes}, got {keys.type}.")
    return octets(keys)


def integer_leaves(numbers: Counts, good: Mask, keys: pa.Array) -> pa.Array:
    """Return numbers that were read from keys as leaves, null if a number is not good or its key is null."""
    mask = ~(good & keys.is_valid().to_numpy(zero_copy_only=False))
    return pa.array(numbers.astype(np.uint64), mask=mask if mask.any() else None)


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
