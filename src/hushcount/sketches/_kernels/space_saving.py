"""SpaceSaving: the smallest counter gives way, among equals the one updated most recently.

Stacks are in order of update, so that is the top of the floor's stack.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.intrinsics import prefetch
from hushcount.compiled.kernel import inlined
from hushcount.sketches._kernels.table import AHEAD, CLOCK_BITS, END, FLOOR, LENGTH_BITS, WINDOW, slot_of
from hushcount.sketches._kernels.windows import open_window

_U = np.uint64
_ONE, _FOUR = _U(1), _U(4)


@inlined
def pop(table: Any) -> Any:
    """The place of the minimum key updated most recently; raises the floor where it must."""
    state = table.state
    floor = state[FLOOR]
    stack = floor & (WINDOW - _ONE)
    top = table.tops[stack]
    while True:
        while top == 0:
            table.tops[stack] = 0
            floor += _ONE
            state[FLOOR] = floor
            if floor == state[END]:
                open_window(table, floor)
            stack = floor & (WINDOW - _ONE)
            top = table.tops[stack]
        top -= 1
        place = _U(table.stacks[stack, top])
        if table.rows[place | _FOUR] >> CLOCK_BITS == floor:
            break
    table.tops[stack] = top
    if top >= AHEAD:
        foresee_next(table, stack, top)
    return place


@inlined
def foresee_next(table: Any, stack: Any, top: Any) -> Any:
    """Ask for the rows, and for bytes the strings, of the keys to be evicted soon."""
    later = _U(table.stacks[stack, top - AHEAD])
    prefetch(table.rows, later)
    if table.refs.size:
        prefetch(table.refs, slot_of(later))
        soon = _U(table.stacks[stack, top - AHEAD // 2])
        prefetch(table.arena, table.refs[slot_of(soon)] >> LENGTH_BITS)
