"""Single keys into a counter table and out of it: look up, restore, gather byte strings, compact.

None of this is on the way of an update but `compact`, which moves the bytes of tracked keys to the front of a
new arena once the old one is full of bytes that belong to evicted keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import hash_bytes
from hushcount.compiled.kernel import kernel
from hushcount.sketches._kernels.eviction import line_up, open_window
from hushcount.sketches._kernels.table import (
    CLOCK,
    CLOCK_BITS,
    COUNTERS,
    FLOOR,
    GONE,
    GRAIN,
    KEY,
    LAST_TIME,
    LENGTH_BITS,
    LENGTH_MASK,
    MISRA_GRIES,
    ODD,
    RULE,
    TOP,
    USED,
    TableArrays,
    bucket_of,
    collect,
    home_of,
    keep_bytes,
    mark_passed,
    search,
    slot_of,
)

_U = np.uint64
_ONE, _FOUR = _U(1), _U(4)


@kernel
def lookup_integers(table: Any, values: Any) -> Any:
    """Return the counts of 64-bit keys, 0 for those not tracked."""
    counts = np.zeros(values.size, np.int64)
    item = (np.empty(0, np.uint8), _U(0), _U(0))
    for index in range(values.size):
        key = values[index] ^ table.state[KEY]
        place, found = search(table, key, home_of(table, key), item)
        if found:
            counts[index] = table.rows[place | _FOUR] >> CLOCK_BITS
    return counts


@kernel
def lookup_bytes(table: Any, data: Any, offsets: Any) -> Any:
    """Return the counts of byte strings, 0 for those not tracked."""
    counts = np.zeros(offsets.size - 1, np.int64)
    for index in range(offsets.size - 1):
        item = (data, _U(offsets[index]), _U(offsets[index + 1]) - _U(offsets[index]))
        key = hash_bytes(data, item[1], item[2], table.state[KEY], table.state[ODD])
        place, found = search(table, key, bucket_of(table, key), item)
        if found:
            counts[index] = table.rows[place | _FOUR] >> CLOCK_BITS
    return counts


@kernel
def insert(table: Any, key: Any, count: Any, item: Any) -> Any:
    """Put a key with its count into a table that has room and does not hold it."""
    home = home_of(table, key)
    place, _ = search(table, key, home, item)
    mark_passed(table, home, place)
    table.state[USED] += _ONE
    table.state[CLOCK] = (table.state[CLOCK] + _ONE) & LAST_TIME
    table.rows[place] = key
    table.rows[place | _FOUR] = (count << CLOCK_BITS) | table.state[CLOCK]
    if table.refs.size:
        keep_bytes(table, place, _U(0), item)


@kernel
def close_restore(table: Any) -> Any:
    """Open the window at the floor of the rule, if the restored keys take all counters."""
    if table.state[USED] == table.state[COUNTERS]:
        if table.state[RULE] == MISRA_GRIES:
            open_window(table, table.state[FLOOR])
            line_up(table)
        else:
            words, _ = collect(table, _U(0xFFFFFFFFFFFFFFFF))
            open_window(table, words.min() >> CLOCK_BITS)


@kernel
def restore_integers(table: Any, values: Any, counts: Any) -> Any:
    """Put keys and counts into an empty table, least recently updated first."""
    item = (np.empty(0, np.uint8), _U(0), _U(0))
    for index in range(values.size):
        insert(table, values[index] ^ table.state[KEY], counts[index], item)
    close_restore(table)


@kernel
def restore_bytes(table: Any, data: Any, offsets: Any, counts: Any) -> Any:
    """Put keys and counts into an empty table, least recently updated first."""
    for index in range(counts.size):
        item = (data, _U(offsets[index]), _U(offsets[index + 1]) - _U(offsets[index]))
        key = hash_bytes(data, item[1], item[2], table.state[KEY], table.state[ODD])
        insert(table, key, counts[index], item)
    close_restore(table)


@kernel
def gather_bytes(table: Any, places: Any) -> Any:
    """Return the byte strings of places, one after the other, and their offsets."""
    offsets = np.zeros(places.size + 1, np.uint64)
    for index in range(places.size):
        offsets[index + 1] = offsets[index] + (table.refs[slot_of(_U(places[index]))] & LENGTH_MASK)
    data = np.empty(offsets[places.size], np.uint8)
    for index in range(places.size):
        start = table.refs[slot_of(_U(places[index]))] >> LENGTH_BITS
        for octet in range(offsets[index + 1] - offsets[index]):
            data[offsets[index] + _U(octet)] = table.arena[start + _U(octet)]
    return data, offsets


@kernel
def live_bytes(table: Any) -> Any:
    """Return how many bytes of the arena the tracked keys need; each is rounded up to 16."""
    total = np.int64(0)
    for slot in range(table.refs.size):
        if table.rows[((slot >> 2) << 3) + (slot & 3) + 4] > GONE:
            total += np.int64(((table.refs[slot] & LENGTH_MASK) + GRAIN) & ~GRAIN)
    return total


@kernel
def compact(table: Any, arena: Any) -> Any:
    """Return the same table with its byte strings moved to the front of another arena."""
    top = _U(0)
    for slot in range(table.refs.size):
        if table.rows[((slot >> 2) << 3) + (slot & 3) + 4] > GONE:
            ref = table.refs[slot]
            length = ref & LENGTH_MASK
            for index in range(length):
                arena[top + _U(index)] = table.arena[(ref >> LENGTH_BITS) + _U(index)]
            table.refs[slot] = (top << LENGTH_BITS) | length
            top += (length + GRAIN) & ~GRAIN
    table.state[TOP] = top
    return TableArrays(table.rows, table.passed, table.stacks, table.tops, table.state, table.refs, arena)
