"""Leaves of a hierarchy into the counter tables of all its levels.

The tables of integer hierarchies lie side by side, row i of each array belonging to level i + 1, so that one
call visits all levels. Leaves are taken in blocks of 8,192: with its nodes a block takes 128 KiB and stays in
cache while one table after the other counts it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.intrinsics import load64
from hushcount.compiled.kernel import inlined, kernel
from hushcount.sketches._kernels.arrays import TableArrays
from hushcount.sketches._kernels.update import update_integers

_U = np.uint64
_ONES, _TOPS = _U(0x0101010101010101), _U(0x8080808080808080)
_PLACES = _U(0x0001020304050607)  # times 256^i: the top byte is i

BLOCK_OF_LEAVES = 1 << 13  # long enough that bringing the table of a level into cache pays


@inlined
def next_zero(data: Any, place: Any, end: Any) -> Any:
    """Return the place of the first zero byte from `place` on, or the end; eight bytes are tested at once."""
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
    """Return where each leaf begins, and in row i where its first i + 1 components end."""
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
def update_levels(tables: Any, leaves: Any, times: Any, shifts: Any) -> Any:
    """Count the node of every leaf at every level; row i of `tables` belongs to the level of shifts[i].

    A leaf counts for as many consecutive events as `times` says, for 1 if there are no times.
    """
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
                tables.scratch[level],
            )
            update_integers(table, nodes[:count], times[start : start + count])
