"""Batches of leaves into the counter tables of all levels, in blocks that stay in the nearest caches."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.intrinsics import load64
from hushcount.compiled.kernel import inlined, kernel
from hushcount.sketches._kernels.table import TableArrays
from hushcount.sketches._kernels.update import update_integers

_U = np.uint64
_ONES, _TOPS = _U(0x0101010101010101), _U(0x8080808080808080)
_PLACES = _U(0x0001020304050607)  # times 256^i: the top byte is i

BLOCK_OF_LEAVES = 1 << 13  # with its nodes 128 KiB; long enough that a level's table pays for its way in


@inlined
def next_zero(data: Any, place: Any, end: Any) -> Any:
    """The place of the first zero byte from `place` on, or the end, looked for by words."""
    while place + 8 <= data.size and place < end:
        word = load64(data, place)
        zeros = (word - _ONES) & ~word & _TOPS  # the lowest bit is right, those above it may be too many
        if zeros:
            lowest = (zeros & (~zeros + _U(1))) >> _U(7)
            return min(place + np.int64((lowest * _PLACES) >> _U(56)), end)
        place += 8
    while place < end and data[place] != 0:
        place += 1
    return min(place, end)


@kernel
def component_spans(data: Any, offsets: Any, height: Any) -> Any:
    """Where each leaf begins, and in row i where its first i + 1 components end."""
    begins = np.empty(offsets.size - 1, np.uint64)
    ends = np.empty((height, begins.size), np.uint64)
    for index in range(begins.size):
        begins[index] = offsets[index]
        place, end = np.int64(offsets[index]), np.int64(offsets[index + 1])
        for level in range(height - 1):
            place = next_zero(data, place, end)
            ends[level, index] = place
            place += 1
        ends[height - 1, index] = end
    return begins, ends


@kernel
def update_levels(tables: Any, leaves: Any, shifts: Any) -> Any:
    """Count the node of every leaf at every level; row i of `tables` belongs to the level of shifts[i]."""
    nodes = np.empty(BLOCK_OF_LEAVES, np.uint64)
    for start in range(0, leaves.size, BLOCK_OF_LEAVES):
        count = min(BLOCK_OF_LEAVES, leaves.size - start)
        for level in range(shifts.size):
            for index in range(count):
                nodes[index] = (leaves[start + index] >> shifts[level]) << shifts[level]
            table = TableArrays(
                tables.rows[level],
                tables.passed[level],
                tables.stacks[level],
                tables.tops[level],
                tables.state[level],
                tables.refs[level],
                tables.arena[level],
            )
            update_integers(table, nodes[:count])
