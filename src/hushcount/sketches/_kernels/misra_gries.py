"""The rule of Misra-Gries (Lebeda and Tětek 2023, Algorithm 1).

A new key evicts a key whose counter is zero; if there is none, all counters are decremented. Counts are
stored without subtracting anything: the floor is the number of decrements, and a counter that equals it is
zero, so that decrementing all counters is one addition. No counter comes to zero between decrements, so the
stack of the floor is sorted once after each. The order of eviction is that of a keyed hash, the same for
every stream, which the proof needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.hashing import mix
from hushcount.compiled.kernel import inlined, kernel
from hushcount.sketches._kernels.table import (
    CLOCK_BITS,
    END,
    FLOOR,
    LENGTH_BITS,
    LENGTH_MASK,
    ODD,
    WINDOW,
    slot_of,
)
from hushcount.sketches._kernels.windows import open_window

_U = np.uint64
_ONE, _FOUR = _U(1), _U(4)


@inlined
def order_of(table: Any, key: Any) -> Any:
    """Return the hash that ranks a key: a bijection of integers; byte strings are hashed already."""
    return mix(key, table.state[ODD]) if table.refs.size == 0 else key


@kernel
def comes_before(table: Any, place: Any, other: Any) -> Any:
    """Return whether the bytes of one place precede those of another; hashes of integers always differ."""
    if table.refs.size == 0:
        return False
    left, right = table.refs[slot_of(place)], table.refs[slot_of(other)]
    shorter = min(left & LENGTH_MASK, right & LENGTH_MASK)
    for index in range(shorter):
        a = table.arena[(left >> LENGTH_BITS) + _U(index)]
        b = table.arena[(right >> LENGTH_BITS) + _U(index)]
        if a != b:
            return a < b
    return (left & LENGTH_MASK) < (right & LENGTH_MASK)


@kernel
def line_up(table: Any) -> Any:
    """Sort the stack of the floor by hash, the first on top; byte strings of equal hash by their bytes."""
    stack = table.state[FLOOR] & (WINDOW - _ONE)
    places = table.stacks[stack, : table.tops[stack]].copy()
    hashes = np.empty(places.size, np.uint64)
    for index in range(places.size):
        hashes[index] = order_of(table, table.rows[places[index]])
    order = np.argsort(hashes)
    for index in range(places.size):
        at = index
        place = places[order[index]]
        while at > 0 and hashes[order[at - 1]] == hashes[order[index]]:
            other = table.stacks[stack, places.size - at]
            if not comes_before(table, _U(place), _U(other)):
                break
            table.stacks[stack, places.size - at - 1] = other
            at -= 1
        table.stacks[stack, places.size - at - 1] = place


@kernel
def decrement(table: Any) -> Any:
    """Decrement every counter: raise the floor, and sort the counters that are zero now."""
    table.state[FLOOR] += _ONE
    if table.state[FLOOR] == table.state[END]:
        open_window(table, table.state[FLOOR])
    line_up(table)


@inlined
def pop_zero(table: Any) -> Any:
    """Return (place, True) of the first key in hash order whose counter is zero, or (0, False)."""
    floor = table.state[FLOOR]
    stack = floor & (WINDOW - _ONE)
    top = table.tops[stack]
    place = _U(0)
    found = False
    while top > 0 and not found:
        top -= 1
        place = _U(table.stacks[stack, top])
        found = table.rows[place | _FOUR] >> CLOCK_BITS == floor
    table.tops[stack] = top
    return place, found
