"""Which key is evicted: stacks of the keys near the floor, and the rules of SpaceSaving and Misra-Gries.

**Stacks.** For each count of the window [floor, floor + WINDOW) there is a stack of the places that reached
it, oldest first. A key that reaches such a count is pushed on the stack of that count. Nothing is removed
when it goes on: an entry is stale if the key's count has changed since; stale entries are skipped when they
are popped. A key above the floor cannot be evicted, so a stack never holds more than `counters` entries.
When the floor leaves the window, one scan of the table, sorted by time, fills the stacks of the next 16
counts.

Why: to find the key to be evicted takes a pop, where an ordered list of all keys would write to two
neighbours at every update. Only counts near the floor have a stack, so frequent keys cost nothing.

**SpaceSaving.** A new key evicts the key of the smallest count, of several the one updated last. The stack
of the floor has those keys in the order of their updates, so the key is on its top. Which of equal keys is
evicted is part of the proof, so it must not depend on the layout of the table.

**Misra-Gries** (Lebeda and Tětek 2023, Algorithm 1). A new key evicts a key whose counter is zero; if there
is none, all counters are decremented. Counts are stored without subtracting anything: the floor is the
number of decrements, and a counter that equals it is zero, so that decrementing all counters is one
addition. No counter comes to zero between decrements, so the stack of the floor is sorted once after each.
The order of eviction is that of a keyed hash, the same for every stream, which the proof needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import mix
from hushcount.compiled._kernels.intrinsics import prefetch
from hushcount.compiled.kernel import inlined, kernel
from hushcount.sketches._kernels.table import (
    AHEAD,
    CLOCK_BITS,
    END,
    FLOOR,
    LENGTH_BITS,
    LENGTH_MASK,
    ODD,
    WINDOW,
    collect,
    slot_of,
)

_U = np.uint64
_ONE, _FOUR = _U(1), _U(4)
CROWDED = 32  # hashes in one bucket: random ones are practically never so many


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
def hash_order(hashes: Any) -> Any:
    """Return the order of evenly spread hashes: one pass deals them to as many buckets as there are hashes.

    Buckets then hold about one hash each, so that sorting neighbours takes few steps. Hashes that are not
    spread, as in a forged file, are sorted by comparisons.
    """
    size = hashes.size
    bits = 1
    while 1 << bits < size:
        bits += 1
    shift = _U(64 - bits)
    starts = np.zeros((1 << bits) + 1, np.int64)
    for index in range(size):
        starts[(hashes[index] >> shift) + _ONE] += 1
    if starts.max() > CROWDED:
        return np.argsort(hashes)
    for bucket in range(1 << bits):
        starts[bucket + 1] += starts[bucket]
    order = np.empty(size, np.int64)
    dealt = np.empty(size, np.uint64)
    for index in range(size):
        bucket = hashes[index] >> shift
        at = starts[bucket]
        starts[bucket] = at + 1
        dealt[at], order[at] = hashes[index], index
    for index in range(1, size):
        at, first, place = index, dealt[index], order[index]
        while at > 0 and dealt[at - 1] > first:
            dealt[at], order[at] = dealt[at - 1], order[at - 1]
            at -= 1
        dealt[at], order[at] = first, place
    return order


@kernel
def line_up(table: Any) -> Any:
    """Sort the stack of the floor by hash, the first on top; byte strings of equal hash by their bytes."""
    stack = table.state[FLOOR] & (WINDOW - _ONE)
    places = table.stacks[stack, : table.tops[stack]].copy()
    hashes = np.empty(places.size, np.uint64)
    for index in range(places.size):
        if index + AHEAD < places.size:
            prefetch(table.rows, _U(places[index + AHEAD]))
        hashes[index] = order_of(table, table.rows[places[index]])
    order = hash_order(hashes)
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
