"""Leaves that are whole numbers: a node is a leaf without its lowest bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.hierarchies._kernels.levels import shared_integers

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Levels

Words = npt.NDArray[np.uint64]


def words(leaves: pa.Array) -> Words:
    """The numbers of an array without nulls."""
    return np.asarray(leaves.to_numpy(zero_copy_only=True), np.uint64)


def shared(leaves: pa.Array, before: pa.Scalar | None, shifts: Words) -> Levels:
    """The deepest level at which each sorted leaf has the node of the one before it."""
    first = np.uint64(0 if before is None else before.as_py())
    levels: Levels = shared_integers(words(leaves), first, shifts)
    if before is None:
        levels[:1] = -1
    return levels


def nodes(leaves: pa.Array, shift: np.uint64) -> pa.Array:
    """Leaves without their lowest `shift` bits."""
    return pa.array((words(leaves) >> shift) << shift)
