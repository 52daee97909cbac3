"""Batches of keys into a counter table; single keys looked up.

Keys are taken in blocks of 128. A first loop hashes them all and asks for their buckets, a second counts them
one after the other, in the order of the stream: by then their cache lines have arrived. The order must not
change, because it decides which key is evicted.

Several consecutive events of a key are counted in one step, which leaves the table as one after the other
would: once the key has its counter, the others raise it, and only the last has to be placed and timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import hash_bytes, mix
from hushcount.compiled._kernels.intrinsics import borrow, prefetch
from hushcount.compiled.kernel import inlined, kernel
from hushcount.sketches._kernels.arrays import (
    BLOCK,
    CLOCK,
    CLOCK_BITS,
    COUNTERS,
    EMPTY,
    END,
    FLOOR,
    GONE,
    GRAIN,
    HOLES,
    KEY,
    LAST_TIME,
    LENGTH_BITS,
    MISRA_GRIES,
    ODD,
    RULE,
    SPACE_SAVING,
    TOP,
    USED,
)
from hushcount.sketches._kernels.eviction import lower, open_window, pop, pop_zero, push
from hushcount.sketches._kernels.table import (
    borrowed,
    bucket_of,
    collect,
    home_of,
    keep_bytes,
    locate,
    mark_passed,
    search,
    slot_of,
    tidy,
)

IN_CACHE = 1 << 14  # Slots. A table this small stays in cache, so prefetching gains nothing.

_U = np.uint64
_ONE, _TWO, _THREE, _FOUR = _U(1), _U(2), _U(3), _U(4)


@inlined
def vacate(table: Any, place: Any) -> Any:
    """Free a slot: GONE if its bucket is flagged, which must have no EMPTY slot, else EMPTY."""
    table.rows[place] = _U(0)
    table.rows[place | _FOUR] = EMPTY
    if table.passed[place >> _THREE]:
        table.rows[place | _FOUR] = GONE
        table.state[HOLES] += _ONE


@kernel
def restart_clock(table: Any) -> Any:
    """Number the last updates again from 1, in the same order: the time has only 24 bits."""
    words, places = collect(table, _U(0xFFFFFFFFFFFFFFFF))
    for index in range(words.size):
        count = words[index] >> CLOCK_BITS
        table.rows[_U(places[index]) | _FOUR] = (count << CLOCK_BITS) | _U(index + 1)
    table.state[CLOCK] = _U(words.size)


@inlined
def replace(table: Any, found: Any, clock: Any, item: Any, count: Any) -> Any:
    """Put a key that is not tracked into its free slot, if the rule gives it a counter.

    `found` is the key with the slot, and `count` how many events it stands for. Return the place of the key
    that was evicted, or the slot itself if there is none.
    """
    state = table.state
    rows = table.rows
    key, place = found
    ref = _U(0)
    evicted = place
    if state[USED] == state[COUNTERS]:
        if state[RULE] == MISRA_GRIES:
            evicted, is_zero = pop_zero(table)
            while not is_zero:
                count -= lower(table, count)
                if count == 0:
                    return place
                evicted, is_zero = pop_zero(table)
        else:
            evicted = pop(table)
        count += state[FLOOR]
        if table.refs.size:
            ref = table.refs[slot_of(evicted)]
        vacate(table, evicted)
    else:
        state[USED] += _ONE
    if rows[place | _FOUR] == GONE:
        state[HOLES] -= _ONE
    rows[place] = key
    rows[place | _FOUR] = (count << CLOCK_BITS) | clock
    if table.refs.size:
        keep_bytes(table, place, ref, item)
    if count < state[END]:
        push(table, count, place)
    elif state[END] == 0 and state[USED] == state[COUNTERS]:
        open_window(table, _U(state[RULE] == SPACE_SAVING))
    return evicted


@inlined
def advance(table: Any, keys: Any, buckets: Any, count: Any, items: Any) -> Any:
    """Count a block of keys, one after the other."""
    data, starts, lengths = items
    rows = table.rows
    clock = table.state[CLOCK]
    for index in range(count):
        key = keys[index]
        clock += _ONE
        item = (data, starts[index], lengths[index])
        place, found = locate(table, key, buckets[index], item)
        if found:
            reached = (rows[place | _FOUR] >> CLOCK_BITS) + _ONE
            rows[place | _FOUR] = (reached << CLOCK_BITS) | clock
            if reached < table.state[END]:
                push(table, reached, place)
        else:
            if place >> _THREE != buckets[index]:
                mark_passed(table, buckets[index], place)
            replace(table, (key, place), clock, item, _ONE)
    table.state[CLOCK] = clock


@kernel
def advance_by(table: Any, keys: Any, buckets: Any, times: Any, items: Any) -> Any:
    """Count a block of keys, each for as many consecutive events as `times` says, at least one."""
    data, starts, lengths = items
    for index in range(times.size):
        table.state[CLOCK] += _ONE
        clock = table.state[CLOCK]
        item = (data, starts[index], lengths[index])
        place, found = search(table, keys[index], buckets[index], item)
        if found:
            reached = (table.rows[place | _FOUR] >> CLOCK_BITS) + times[index]
            table.rows[place | _FOUR] = (reached << CLOCK_BITS) | clock
            if reached < table.state[END]:
                push(table, reached, place)
        else:
            mark_passed(table, buckets[index], place)
            replace(table, (keys[index], place), clock, item, times[index])


@inlined
def foresee(table: Any, keys: Any, buckets: Any, count: Any) -> Any:
    """Prefetch the bytes of the keys that a block will probably match.

    row -> refs -> arena are dependent loads, so they are issued early and for the whole block: first all
    refs, then all bytes. `buckets` serves to remember the places in between.
    """
    rows = table.rows
    for index in range(count):
        place = buckets[index] << _THREE
        key = keys[index]
        at1 = rows[place | _ONE] == key
        at2 = rows[place | _TWO] == key
        at3 = rows[place | _THREE] == key
        buckets[index] = place | (_ONE if at1 else (_TWO if at2 else (_THREE if at3 else _U(0))))
        prefetch(table.refs, slot_of(buckets[index]))
    for index in range(count):
        prefetch(table.arena, table.refs[slot_of(buckets[index])] >> LENGTH_BITS)
        buckets[index] >>= _THREE


@kernel
def prepare(table: Any) -> Any:
    """Prepare a block: keep the time within its bits, and GONE slots few."""
    if table.state[CLOCK] + _U(BLOCK) > LAST_TIME:
        if table.stacks.size > 1:
            restart_clock(table)
        else:  # nothing is ever evicted, so the order of updates does not matter
            table.state[CLOCK] = _U(0)
    if table.state[HOLES] > _U(table.rows.size >> 5):
        tidy(table)


@kernel
def update_integers(table: Any, values: Any, times: Any) -> Any:
    """Count 64-bit keys in their order, each for as many events as `times` says; none are all ones."""
    table = borrowed(table)
    keys = np.empty(BLOCK, np.uint64)
    buckets = np.empty(BLOCK, np.uint64)
    nothing = np.empty(BLOCK, np.uint64)
    data = np.empty(0, np.uint8)
    for start in range(0, values.size, BLOCK):
        count = min(BLOCK, values.size - start)
        prepare(table)
        for index in range(count):
            keys[index] = values[start + index] ^ table.state[KEY]
            buckets[index] = bucket_of(table, mix(keys[index], table.state[ODD]))
            prefetch(table.rows, buckets[index] << _THREE)
        items = (borrow(data), borrow(nothing), borrow(nothing))
        if times.size:
            advance_by(table, borrow(keys), borrow(buckets), borrow(times[start : start + count]), items)
        else:
            advance(table, borrow(keys), borrow(buckets), count, items)


@kernel
def update_bytes(table: Any, data: Any, spans: Any, times: Any, first: Any) -> Any:
    """Count the byte strings data[begins[i] : ends[i]] in their order from number `first` on.

    `spans` are begins and ends, and `times` how many events each stands for; none are all ones. Return how
    many strings have been counted: all, or as many as the arena has room for if all are new.
    """
    table = borrowed(table)
    begins, ends = spans
    keys = np.empty(BLOCK, np.uint64)
    buckets = np.empty(BLOCK, np.uint64)
    starts = np.empty(BLOCK, np.uint64)
    lengths = np.empty(BLOCK, np.uint64)
    for start in range(first, begins.size, BLOCK):
        count = min(BLOCK, begins.size - start)
        prepare(table)
        need = _U(0)
        for index in range(count):
            starts[index] = _U(begins[start + index])
            lengths[index] = _U(ends[start + index]) - starts[index]
            keys[index] = hash_bytes(data, starts[index], lengths[index], table.state[KEY], table.state[ODD])
            buckets[index] = bucket_of(table, keys[index])
            prefetch(table.rows, buckets[index] << _THREE)
            need += (lengths[index] + GRAIN) & ~GRAIN
        if table.state[TOP] + need > _U(table.arena.size):
            return start
        if table.refs.size > IN_CACHE:
            foresee(table, keys, buckets, count)
        items = (borrow(data), borrow(starts), borrow(lengths))
        if times.size:
            advance_by(table, borrow(keys), borrow(buckets), borrow(times[start : start + count]), items)
        else:
            advance(table, borrow(keys), borrow(buckets), count, items)
    return begins.size


@kernel
def hashes(table: Any, data: Any, offsets: Any) -> Any:
    """Return the hashes of byte strings, which stand for them as keys."""
    keys = np.empty(offsets.size - 1, np.uint64)
    for index in range(keys.size):
        start = _U(offsets[index])
        length = _U(offsets[index + 1]) - start
        keys[index] = hash_bytes(data, start, length, table.state[KEY], table.state[ODD])
    return keys


@kernel
def lookup(table: Any, keys: Any, data: Any, offsets: Any) -> Any:
    """Return the counts of keys, 0 for those not tracked; `data` and `offsets` are their bytes, if any."""
    counts = np.zeros(keys.size, np.int64)
    for index in range(keys.size):
        item = (data, _U(offsets[index]), _U(offsets[index + 1]) - _U(offsets[index]))
        place, found = search(table, keys[index], home_of(table, keys[index]), item)
        if found:
            counts[index] = table.rows[place | _FOUR] >> CLOCK_BITS
    return counts
