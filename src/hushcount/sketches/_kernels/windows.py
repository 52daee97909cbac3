"""Stacks by count: who has reached each count of the window [floor, floor + WINDOW), in order.

A key's word tells whether its entry is still true; entries are never removed elsewhere. A key above the
floor cannot leave, so a stack never holds more than `counters` entries. When the floor has passed the
window, one scan of the table, sorted by time, fills the stacks for the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel
from hushcount.sketches._kernels.table import CLOCK_BITS, END, FLOOR, WINDOW, collect

_U = np.uint64
_ONE = _U(1)


@kernel
def open_window(table: Any, floor: Any) -> Any:
    """Fill the stacks for the counts from `floor` on."""
    state = table.state
    state[FLOOR] = floor
    state[END] = floor + WINDOW
    words, places = collect(table, (floor + WINDOW) << CLOCK_BITS)
    table.tops[:] = 0
    for index in range(words.size):
        push(table, words[index] >> CLOCK_BITS, places[index])


@inlined
def push(table: Any, count: Any, place: Any) -> Any:
    """Note that a key has just reached a count."""
    stack = count & (WINDOW - _ONE)
    top = table.tops[stack]
    table.stacks[stack, top] = place
    table.tops[stack] = top + 1
