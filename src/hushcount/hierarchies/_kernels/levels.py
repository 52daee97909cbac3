"""Levels and nodes of leaves, which are whole numbers, rows of bytes, or components with a zero byte between.

Leaves come sorted, so it is enough to compare each with the one before it: the deepest level that the two
share says which nodes end between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import copy_bytes
from hushcount.compiled.kernel import kernel

_U = np.uint64


@kernel
def shared_integers(leaves: Any, before: Any, shifts: Any) -> Any:
    """Return the deepest level at which each leaf has the node of the one before it."""
    levels = np.empty(leaves.size, np.int16)
    last = before
    for index in range(leaves.size):
        differing = leaves[index] ^ last
        level = shifts.size - 1
        while differing >> shifts[level]:
            level -= 1
        levels[index] = level
        last = leaves[index]
    return levels


@kernel
def bits_in_common(left: Any, right: Any) -> Any:
    """Return how many bits two rows of bytes begin with alike."""
    place = 0
    while place < left.size and left[place] == right[place]:
        place += 1
    bits = 8 * place
    if place < left.size:
        differing = np.int64(left[place] ^ right[place])
        while differing < 128:
            differing <<= 1
            bits += 1
    return bits


@kernel
def shared_bits(leaves: Any, before: Any, step: Any) -> Any:
    """Return the same for rows of bytes, of which a level is `step` bits."""
    levels = np.empty(leaves.shape[0], np.int16)
    last = before
    for index in range(levels.size):
        levels[index] = bits_in_common(leaves[index], last) // step
        last = leaves[index]
    return levels


@kernel
def components_in_common(left: Any, right: Any) -> Any:
    """Return how many whole components two leaves begin with alike."""
    length = min(left.size, right.size)
    level, step = 0, 0
    while step < length and left[step] == right[step]:
        level += left[step] == 0
        step += 1
    # The last component of equal leaves has no zero byte after it.
    return level + (step == left.size and step == right.size)


@kernel
def shared_components(data: Any, offsets: Any, before: Any) -> Any:
    """Return the same for components."""
    levels = np.empty(offsets.size - 1, np.int16)
    last = before
    for index in range(levels.size):
        leaf = data[np.int64(offsets[index]) : np.int64(offsets[index + 1])]
        levels[index] = components_in_common(leaf, last)
        last = leaf
    return levels


@kernel
def cut_components(data: Any, offsets: Any, level: Any) -> Any:
    """Return the first `level` components of each leaf, as bytes and their offsets."""
    count = offsets.size - 1
    ends = np.zeros(count + 1, np.int64)
    for index in range(count):
        place, end = np.int64(offsets[index]), np.int64(offsets[index + 1])
        start, missing = place, level
        while place < end and missing > 0:
            missing -= data[place] == 0
            place += 1
        # Without a zero byte at the end, which stands between components only.
        ends[index + 1] = ends[index] + place - start - (level > 0 and missing == 0)
    cut = np.empty(ends[count], np.uint8)
    for index in range(count):
        length = _U(ends[index + 1] - ends[index])
        copy_bytes(data, _U(offsets[index]), cut, _U(ends[index]), length)
    return cut, ends
