"""What a hierarchy is: a tree of fixed height over canonical leaves that sort by their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, KeyTypeError, ParameterError
from hushcount.keys.arrays import ByteKeys, held_as, is_bytes, to_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from hushcount.compiled.arrays import Mask, Words

    Levels = npt.NDArray[np.int16]

ROOT = "*"
MARKER = "·"
ON_BAD = ("drop", "fail")
# Levels are kept in 16 bits, and nobody reads a deeper tree.
LARGEST_HEIGHT = 128


@runtime_checkable
class Hierarchy(Protocol):
    """A tree over keys: level 0 is the root, level `height` are the leaves, and every path is that long.

    A node is a leaf cut back to its level, of the same Arrow type as leaves: the node of a node is its
    ancestor. Sorted leaves (numbers by value, bytes as unsigned bytes) keep the leaves of a node together.
    Whatever takes leaves takes nodes of the level asked for, or deeper, as well.
    """

    @property
    def name(self) -> str:
        """Public text that says which hierarchy it is."""
        ...

    @property
    def height(self) -> int:
        """How many steps a leaf is below the root."""
        ...

    @property
    def leaf_type(self) -> pa.DataType:
        """The Arrow type of leaves and nodes: uint64, binary, or binary of a fixed width."""
        ...

    def leaves(self, keys: pa.Array) -> pa.Array:
        """The leaf of every key; null where a key is malformed."""
        ...

    def shared(self, leaves: pa.Array, before: pa.Scalar | None = None) -> Levels:
        """The level of the deepest node that each of these sorted leaves shares with the one before it.

        `before` is the leaf before the first one; -1 for the first where there is none.
        """
        ...

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """The node of every leaf at one level."""
        ...

    def labels(self, leaves: pa.Array, levels: Sequence[int] | Levels) -> pa.Array:
        """Text for people, one label each: different nodes have different labels."""
        ...


@runtime_checkable
class IntegerHierarchy(Hierarchy, Protocol):
    """A hierarchy of whole numbers: the node at a level is the leaf without its lowest `shifts[level]` bits.

    `node = (leaf >> shift) << shift`; a shift is at most 63.
    """

    @property
    def shifts(self) -> npt.NDArray[np.uint64]:
        """How many bits are cleared at each level, from the root to the leaves."""
        ...


def good_leaves(hierarchy: Hierarchy, keys: pa.Array, on_bad: str = "drop") -> pa.Array:
    """The leaves of all keys that have one; malformed keys are dropped, or the first one stops the run.

    The error is for the operator: that there is a malformed key is a fact about the data.
    """
    leaves = hierarchy.leaves(keys)
    if on_bad == "fail" and leaves.null_count > keys.null_count:
        raise DataError(
            f'The data have a key that is malformed for hierarchy {hierarchy.name} (on_bad="fail").'
        )
    return leaves.drop_null() if leaves.null_count else leaves


def check_on_bad(on_bad: str) -> str:
    """Return what to do with malformed keys, or raise."""
    if on_bad not in ON_BAD:
        raise ParameterError(f"on_bad must be one of {', '.join(ON_BAD)}, got {on_bad!r}.")
    return on_bad


def check_depth(name: str, depth: int) -> int:
    """Return a height, or raise."""
    if type(depth) is not int or not 1 <= depth <= LARGEST_HEIGHT:
        raise ParameterError(
            f"{name} must have a height from 1 to {LARGEST_HEIGHT} as a whole number, got {depth!r}."
        )
    return depth


def by_value(keys: pa.Array, mapped: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Map keys, of a dictionary each value once."""
    if pa.types.is_dictionary(keys.type):
        return mapped(keys.dictionary).take(keys.indices)
    return mapped(keys)


def octets(keys: pa.Array) -> ByteKeys:
    """The bytes of text or binary keys, as a kernel reads them."""
    found = to_kernel(keys, held_as(keys.type))
    assert isinstance(found, ByteKeys)
    return found


def takes_bytes(kind: pa.DataType) -> bool:
    """Whether keys of this type are text or bytes."""
    return is_bytes(held_as(kind))


def wrong_type(name: str, takes: str, kind: pa.DataType) -> KeyTypeError:
    """The error for keys of a type that a hierarchy cannot read."""
    return KeyTypeError(f"Keys of hierarchy {name} must be {takes}, got {kind}.")


def with_nulls(parsed: tuple[npt.NDArray[np.generic], Mask], keys: pa.Array) -> pa.Array:
    """An array of parsed values, null where parsing failed or the key is null."""
    values, good = parsed
    mask = ~good
    if keys.null_count:
        mask |= pc.is_null(keys).to_numpy(zero_copy_only=False)
    return pa.array(values, mask=mask) if mask.any() else pa.array(values)


def integers(leaves: pa.Array) -> Words:
    """Return the numbers of leaves that are whole numbers, without nulls."""
    return np.asarray(leaves.to_numpy(zero_copy_only=True), np.uint64)


def shared_levels(leaves: pa.Array, before: pa.Scalar | None, shifts: Words) -> Levels:
    """Return the deepest level at which each sorted whole number has the node of the one before it."""
    from hushcount.hierarchies._kernels.levels import shared_integers

    first = np.uint64(0 if before is None else before.as_py())
    levels: Levels = shared_integers(integers(leaves), first, shifts)
    if before is None:
        levels[:1] = -1
    return levels


def without_low_bits(leaves: pa.Array, shift: np.uint64) -> pa.Array:
    """Return whole numbers without their lowest `shift` bits: their nodes."""
    return pa.array((integers(leaves) >> shift) << shift)
