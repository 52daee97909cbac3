"""Rows that name their key by a code, as pages of a dictionary do: lined up, and looked for in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import hash_bytes
from hushcount.compiled._kernels.intrinsics import borrow, prefetch
from hushcount.compiled.kernel import inlined, kernel
from hushcount.sketches._kernels.arrays import BLOCK, CLOCK, CLOCK_BITS, END, GONE, GRAIN, KEY, ODD, TOP
from hushcount.sketches._kernels.eviction import push
from hushcount.sketches._kernels.table import borrowed, bucket_of, locate, mark_passed, slot_of
from hushcount.sketches._kernels.update import foresee, prepare, replace

_U = np.uint64
_ONE, _THREE, _FOUR = _U(1), _U(3), _U(4)


@kernel
def line_up_codes(codes: Any, size: Any) -> Any:
    """Return the different codes in the order of their last rows, and the number of rows of each.

    Codes are below `size`.
    """
    rows_of = np.zeros(size, np.uint32)
    lasts = np.empty(size, np.int32)
    for row in range(codes.size):
        code = codes[row]
        rows_of[code] += np.uint32(1)
        lasts[code] = row
    order = np.empty(codes.size + 1, np.int32)
    distinct = 0
    for row in range(codes.size):
        order[distinct] = codes[row]
        distinct += lasts[codes[row]] == row
    times = np.empty(distinct, np.uint64)
    for index in range(distinct):
        times[index] = rows_of[order[index]]
    return order[:distinct].copy(), times


@inlined
def look_ahead(table: Any, page: Any, codes: Any, seen: Any) -> Any:
    """Ask for the row of each code and the bytes of new keys; return how much room these may take."""
    data, offsets = page
    hashes, places, _ = seen
    need = _U(0)
    for index in range(codes.size):
        code = codes[index]
        if places[code]:
            prefetch(table.rows, _U(places[code] - np.uint32(1)))
        else:
            prefetch(table.rows, bucket_of(table, hashes[code]) << _THREE)
            prefetch(data, _U(offsets[code]))
            need += (_U(offsets[code + 1]) - _U(offsets[code]) + GRAIN) & ~GRAIN
    return need


@inlined
def forget(place: Any, seen: Any) -> Any:
    """Note that no code has its key at a place any more."""
    _, places, owners = seen
    slot = slot_of(place)
    if owners[slot]:
        places[owners[slot] - np.uint32(1)] = np.uint32(0)
        owners[slot] = np.uint32(0)


@inlined
def remember(code: Any, place: Any, seen: Any) -> Any:
    """Note that the key of a code is at a place."""
    _, places, owners = seen
    places[code] = np.uint32(place + _ONE)
    owners[slot_of(place)] = np.uint32(code + 1)


@kernel
def look_up_page(table: Any, page: Any, seen: Any) -> Any:
    """Write down the hash of each key of a page, and the place of those that are tracked.

    In the order of the page, whose bytes are then read one after the other, and a block at a time, so that
    the rows, references and bytes of the table have arrived when they are compared.
    """
    table = borrowed(table)
    data, offsets = page
    data = borrow(data)
    hashes, places, owners = seen
    seen = (borrow(hashes), borrow(places), borrow(owners))
    buckets = np.empty(BLOCK, np.uint64)
    for start in range(0, hashes.size, BLOCK):
        count = min(BLOCK, hashes.size - start)
        keys = borrow(hashes[start : start + count])
        for index in range(count):
            begin = _U(offsets[start + index])
            length = _U(offsets[start + index + 1]) - begin
            keys[index] = hash_bytes(data, begin, length, table.state[KEY], table.state[ODD])
            buckets[index] = bucket_of(table, keys[index])
            prefetch(table.rows, buckets[index] << _THREE)
        foresee(table, keys, buckets, count)
        for index in range(count):
            begin = _U(offsets[start + index])
            item = (data, begin, _U(offsets[start + index + 1]) - begin)
            place, found = locate(table, keys[index], buckets[index], item)
            if found and owners[slot_of(place)] == 0:
                remember(start + index, place, seen)


@kernel
def take_in(table: Any, code: Any, item: Any, clock: Any, seen: Any) -> Any:
    """Count a row of a key whose place is not known; from then on it is, if the rule gives it a counter.

    A key that is tracked nevertheless has two codes: the place is noted for one of them.
    """
    hashed = seen[0][code]
    bucket = bucket_of(table, hashed)
    place, found = locate(table, hashed, bucket, item)
    if found:
        reached = (table.rows[place | _FOUR] >> CLOCK_BITS) + _ONE
        table.rows[place | _FOUR] = (reached << CLOCK_BITS) | clock
        if reached < table.state[END]:
            push(table, reached, place)
        return
    if place >> _THREE != bucket:
        mark_passed(table, bucket, place)
    evicted = replace(table, (hashed, place), clock, item, _ONE)
    if evicted != place:
        forget(evicted, seen)
    if table.rows[place | _FOUR] > GONE:  # else it decremented the others
        remember(code, place, seen)


@kernel
def update_codes(table: Any, page: Any, codes: Any, seen: Any, first: Any) -> Any:
    """Count rows in their order from number `first` on: row i is of the key codes[i] of a page.

    `page` are the bytes and offsets of its keys. `seen` is what `look_up_page` wrote down:
    hashes, the place of each key plus one (0 if it is not known), and the code plus one of the key in each
    slot (0 if that is not known). Return how many rows have been counted: all, or as many as the arena
    has room for.
    """
    table = borrowed(table)
    data, offsets = page
    seen = (borrow(seen[0]), borrow(seen[1]), borrow(seen[2]))
    rows, places = table.rows, seen[1]
    for start in range(first, codes.size, BLOCK):
        block = borrow(codes[start : start + BLOCK])
        prepare(table)
        need = look_ahead(table, (data, offsets), block, seen)
        if table.state[TOP] + need > _U(table.arena.size):
            return start
        for index in range(block.size):
            code = block[index]
            table.state[CLOCK] += _ONE
            clock = table.state[CLOCK]
            known = places[code]
            if known:
                place = _U(known - np.uint32(1))
                reached = (rows[place | _FOUR] >> CLOCK_BITS) + _ONE
                rows[place | _FOUR] = (reached << CLOCK_BITS) | clock
                if reached < table.state[END]:
                    push(table, reached, place)
            else:
                begin = _U(offsets[code])
                item = (borrow(data), begin, _U(offsets[code + 1]) - begin)
                take_in(table, code, item, clock, seen)
    return codes.size
