"""The rule of SpaceSaving: a new key evicts the key of the smallest count, of several the one updated last.

The stack of the floor has those keys in the order of their updates, so the key is on its top. Which of equal
keys is evicted is part of the proof, so it must not depend on the layout of the table.
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
    """Return the place of the key to be evicted; the floor rises past counts that no key has any more."""
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
    """Prefetch the rows and byte strings of the keys that will be evicted next: the stack names them."""
    later = _U(table.stacks[stack, top - AHEAD])
    prefetch(table.rows, later)
    if table.refs.size:
        prefetch(table.refs, slot_of(later))
        soon = _U(table.stacks[stack, top - AHEAD // 2])
        prefetch(table.arena, table.refs[slot_of(soon)] >> LENGTH_BITS)
