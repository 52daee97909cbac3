"""Stacks by count: the places that reached each count of the window [floor, floor + WINDOW), oldest first.

A key that reaches a count of the window is pushed on the stack of that count. Nothing is removed when it
goes on: an entry is stale if the key's count has changed since; stale entries are skipped when they are
popped. A key above the floor cannot be evicted, so a stack never holds more than `counters` entries. When
the floor leaves the window, one scan of the table, sorted by time, fills the stacks of the next 16 counts.

Why: to find the key to be evicted takes a pop, where an ordered list of all keys would write to two
neighbours at every update. Only counts near the floor have a stack, so frequent keys cost nothing.
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
    """Fill the stacks of the counts from `floor` on."""
    state = table.state
    state[FLOOR] = floor
    state[END] = floor + WINDOW
    words, places = collect(table, (floor + WINDOW) << CLOCK_BITS)
    table.tops[:] = 0
    for index in range(words.size):
        push(table, words[index] >> CLOCK_BITS, places[index])


@inlined
def push(table: Any, count: Any, place: Any) -> Any:
    """Push the place of a key that has just reached a count."""
    stack = count & (WINDOW - _ONE)
    top = table.tops[stack]
    table.stacks[stack, top] = place
    table.tops[stack] = top + 1
