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
from hushcount.sketches._kernels.arrays import (
    AHEAD,
    CLOCK_BITS,
    END,
    FLOOR,
    GONE,
    LENGTH_BITS,
    LENGTH_MASK,
    ODD,
    WINDOW,
)
from hushcount.sketches._kernels.table import collect, slot_of

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


@inlined
def split(scratch: Any, size: Any) -> Any:
    """Return room for hashes, for sorted hashes, for sorted places, and for where each bucket starts."""
    words = scratch[: 4 * size].view(np.uint64)
    return words[:size], words[size:], scratch[4 * size : 5 * size], scratch[5 * size :]


@kernel
def by_hash(places: Any, scratch: Any) -> Any:
    """Return the hashes that `scratch` begins with in order, and their places.

    Evenly spread hashes are dealt to as many buckets in one pass. Buckets then hold about one hash each, so
    that sorting neighbours takes few steps. Hashes that are not spread, as in a forged file, are sorted by
    digits. Equal hashes stay in the order in which they came. No function of numpy is called: those for
    sorting make a compiled kernel slow to load.
    """
    size = places.size
    hashes, dealt, dealt_places, starts = split(scratch, size)
    bits = 1
    while 1 << bits < size:
        bits += 1
    shift = _U(64 - bits)
    starts[: (1 << bits) + 1] = 0
    for index in range(size):
        starts[(hashes[index] >> shift) + _ONE] += np.uint32(1)
    for bucket in range(1 << bits):
        if starts[bucket + 1] > CROWDED:
            order = digit_order(hashes)
            return hashes[order], places[order]
        starts[bucket + 1] += starts[bucket]
    for index in range(size):
        bucket = hashes[index] >> shift
        at = starts[bucket]
        starts[bucket] = at + np.uint32(1)
        dealt[at], dealt_places[at] = hashes[index], places[index]
    for index in range(1, size):
        at, first, place = index, dealt[index], dealt_places[index]
        while at > 0 and dealt[at - 1] > first:
            dealt[at], dealt_places[at] = dealt[at - 1], dealt_places[at - 1]
            at -= 1
        dealt[at], dealt_places[at] = first, place
    return dealt, dealt_places


@kernel
def digit_order(hashes: Any) -> Any:
    """Return the order of any words: a radix sort of six passes of 11 bits, stable."""
    order = np.empty(hashes.size, np.int64)
    dealt = np.empty(hashes.size, np.int64)
    for index in range(hashes.size):
        order[index] = index
    for step in range(6):
        shift = _U(11 * step)
        starts = np.zeros(2049, np.int64)
        for index in range(hashes.size):
            starts[((hashes[index] >> shift) & _U(2047)) + _ONE] += 1
        for digit in range(2048):
            starts[digit + 1] += starts[digit]
        for index in range(hashes.size):
            digit = (hashes[order[index]] >> shift) & _U(2047)
            dealt[starts[digit]] = order[index]
            starts[digit] += 1
        order, dealt = dealt, order
    return order


@kernel
def line_up(table: Any) -> Any:
    """Sort the stack of the floor by hash, the first on top; byte strings of equal hash by their bytes."""
    stack = table.state[FLOOR] & (WINDOW - _ONE)
    size = table.tops[stack]
    places = table.stacks[stack, :size]
    hashes = split(table.scratch, size)[0]
    for index in range(size):
        if index + AHEAD < size:
            prefetch(table.rows, _U(places[index + AHEAD]))
        hashes[index] = order_of(table, table.rows[places[index]])
    hashes, sorted_places = by_hash(places, table.scratch)
    for index in range(size):
        at = index
        place = sorted_places[index]
        while at > 0 and hashes[at - 1] == hashes[index]:
            other = places[size - at]
            if not comes_before(table, _U(place), _U(other)):
                break
            places[size - at - 1] = other
            at -= 1
        places[size - at - 1] = place


@kernel
def decrement(table: Any) -> Any:
    """Decrement every counter: raise the floor, and sort the counters that are zero now."""
    table.state[FLOOR] += _ONE
    if table.state[FLOOR] == table.state[END]:
        open_window(table, table.state[FLOOR])
    line_up(table)


@kernel
def smallest(table: Any) -> Any:
    """Return the smallest count of all keys."""
    least = _U(0xFFFFFFFFFFFFFFFF)
    for bucket in range(table.rows.size >> 3):
        for index in range(4):
            word = table.rows[(bucket << 3) + index + 4]
            if word > GONE:
                least = min(least, word)
    return least >> CLOCK_BITS


@kernel
def lower(table: Any, most: Any) -> Any:
    """Decrement every counter, none of which is zero: once, or up to `most` times. Return how often.

    Within the window a counter may be zero after every step. Once no counter is left in the window, all steps
    up to where the smallest counter becomes zero are one: those between would find none.
    """
    state = table.state
    if most == 1 or state[FLOOR] + _ONE < state[END]:
        decrement(table)
        return _ONE
    steps = min(most, smallest(table) - state[FLOOR])
    open_window(table, state[FLOOR] + steps)
    line_up(table)
    return steps


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
    if top >= AHEAD:
        foresee_next(table, stack, top)
    return place, found
