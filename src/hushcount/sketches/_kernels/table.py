"""Hash table of the counter sketches.

`rows` holds 64-bit words. Eight words (one 64-byte cache line) are a bucket of four slots:

    key 0 | key 1 | key 2 | key 3 | word 0 | word 1 | word 2 | word 3

A `place` is the index of a key in `rows`; its word is at `place | 4`:

    bits 63..24 count, bits 23..0 time of the last update (orders keys of equal count)

EMPTY (0) and GONE (1) mark free slots; the word of a key is at least 2**24.
Integer keys are stored XORed with the hash key. For byte strings the key is a 64-bit hash;
`refs[slot_of(place)]` is offset << 24 | length of the bytes in `arena`, compared on a match.

`stacks` (see eviction.py): for each count near the floor, the places that reached it, oldest first.
`state`: ten words, the numbers that change with every update and the constants of the table (below).

Search: start in the home bucket, given by the hash, and go on until a bucket has an EMPTY slot.
Insert: take the first free slot on that way and flag the full buckets skipped in `passed`.
Invariant: a flagged bucket has no EMPTY slot (slots freed there become GONE), so no search
stops too early. `tidy` recomputes the flags once over 1/16 of the slots are GONE.

Why: at most 1/3 of the slots are used, so most lookups read one cache line. Counts and times share a
word, so that an update writes one word, next to the key it has just compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import copy_bytes, mix, same_bytes
from hushcount.compiled._kernels.intrinsics import borrow
from hushcount.compiled.kernel import inlined, kernel
from hushcount.sketches._kernels.arrays import (
    EMPTY,
    GONE,
    GRAIN,
    HOLES,
    LENGTH_BITS,
    LENGTH_MASK,
    ODD,
    TOP,
    USED,
    TableArrays,
)

_U = np.uint64
_ONE, _TWO, _THREE, _FOUR, _SEVEN, _HALF = _U(1), _U(2), _U(3), _U(4), _U(7), _U(32)


@inlined
def borrowed(table: Any) -> Any:
    """Return the table without ownership of its arrays, so that inner calls count no references."""
    return TableArrays(
        borrow(table.rows),
        borrow(table.passed),
        borrow(table.stacks),
        borrow(table.tops),
        borrow(table.state),
        borrow(table.refs),
        borrow(table.arena),
        borrow(table.scratch),
    )


@inlined
def slot_of(place: Any) -> Any:
    """Return the number of a slot: of every eight words in `rows`, four are keys."""
    return ((place >> _THREE) << _TWO) | (place & _THREE)


@inlined
def bucket_of(table: Any, hashed: Any) -> Any:
    """Return the home bucket of a hash: its upper half times the number of buckets, without a division."""
    return ((hashed >> _HALF) * _U(table.rows.size >> 3)) >> _HALF


@inlined
def next_bucket(table: Any, bucket: Any) -> Any:
    """Return the bucket after a bucket, in a ring."""
    return _U(0) if bucket + _ONE == _U(table.rows.size >> 3) else bucket + _ONE


@inlined
def same_key(table: Any, place: Any, item: Any) -> Any:
    """Return whether a place holds this very key, given that the 64-bit keys agree."""
    if table.refs.size == 0:
        return True
    data, start, length = item
    ref = table.refs[slot_of(place)]
    return ref & LENGTH_MASK == length and same_bytes(data, start, table.arena, ref >> LENGTH_BITS, length)


@kernel
def search(table: Any, key: Any, bucket: Any, item: Any) -> Any:
    """Return (place of the key, True), or (first free place on the way, False)."""
    rows = table.rows
    free = _U(0)
    found_free = False
    while True:
        ends = False
        for index in range(4):
            place = (bucket << _THREE) | _U(index)
            word = rows[place | _FOUR]
            if word > GONE:
                if rows[place] == key and same_key(table, place, item):
                    return place, True
            else:
                if not found_free:
                    free = place
                    found_free = True
                ends = ends or word == EMPTY
        if ends:
            return free, False
        bucket = next_bucket(table, bucket)


@inlined
def locate(table: Any, key: Any, bucket: Any, item: Any) -> Any:
    """Return what `search` does; the usual cases are decided in the home bucket without a loop or a guess."""
    rows = table.rows
    place = bucket << _THREE
    at0 = rows[place] == key
    at1 = rows[place | _ONE] == key
    at2 = rows[place | _TWO] == key
    at3 = rows[place | _THREE] == key
    index = _ONE if at1 else (_TWO if at2 else (_THREE if at3 else _U(0)))
    if at0 | at1 | at2 | at3:
        place |= index
        if rows[place | _FOUR] > GONE and same_key(table, place, item):
            return place, True
    else:
        free0 = rows[place | _FOUR] == EMPTY
        free1 = rows[place | _U(5)] == EMPTY
        free2 = rows[place | _U(6)] == EMPTY
        free3 = rows[place | _SEVEN] == EMPTY
        if free0 | free1 | free2 | free3:
            index = _U(0) if free0 else (_ONE if free1 else (_TWO if free2 else _THREE))
            return place | index, False
    return search(table, key, bucket, item)


@kernel
def home_of(table: Any, key: Any) -> Any:
    """Return the home bucket of a key: byte strings come hashed, integers are mixed here."""
    if table.refs.size == 0:
        key = mix(key, table.state[ODD])
    return bucket_of(table, key)


@kernel
def mark_passed(table: Any, bucket: Any, place: Any) -> Any:
    """Flag the buckets from `bucket` up to the one of `place`; return how many EMPTY slots became GONE."""
    holes = _U(0)
    while bucket != place >> _THREE:
        table.passed[bucket] = 1
        for index in range(4):
            at = (bucket << _THREE) | _U(4 + index)
            if table.rows[at] == EMPTY:
                table.rows[at] = GONE
                holes += _ONE
        bucket = next_bucket(table, bucket)
    return holes


@kernel
def tidy(table: Any) -> Any:
    """Recompute the flags from the keys that are tracked now, and make all other GONE slots EMPTY."""
    rows = table.rows
    holes = _U(0)
    table.passed[:] = 0
    for bucket in range(rows.size >> 3):
        for index in range(4):
            place = _U((bucket << 3) + index + 4)
            rows[place] = EMPTY if rows[place] == GONE else rows[place]
    for bucket in range(rows.size >> 3):
        for index in range(4):
            place = _U((bucket << 3) + index)
            if rows[place | _FOUR] > GONE:
                holes += mark_passed(table, home_of(table, rows[place]), place)
    table.state[HOLES] = holes


@kernel
def sort_by_time(words: Any, places: Any, count: Any) -> Any:
    """Sort words and places by the time in the words: a radix sort of two passes of 12 bits, stable."""
    words_out = np.empty_like(words)
    places_out = np.empty_like(places)
    for shift in (_U(0), _U(12)):
        starts = np.zeros(4097, np.int64)
        for index in range(count):
            starts[((words[index] >> shift) & _U(4095)) + _ONE] += 1
        for digit in range(4096):
            starts[digit + 1] += starts[digit]
        for index in range(count):
            digit = (words[index] >> shift) & _U(4095)
            words_out[starts[digit]] = words[index]
            places_out[starts[digit]] = places[index]
            starts[digit] += 1
        words, words_out = words_out, words
        places, places_out = places_out, places
    return words, places


@kernel
def collect(table: Any, bound: Any) -> Any:
    """Return words and places of all keys whose word is below a bound, in the order of their last update."""
    used = table.state[USED]
    words = np.empty(used, np.uint64)
    places = np.empty(used, np.uint32)
    count = 0
    for bucket in range(table.rows.size >> 3):
        for index in range(4):
            word = table.rows[(bucket << 3) + index + 4]
            if word > GONE and word < bound:
                words[count] = word
                places[count] = (bucket << 3) + index
                count += 1
    words, places = sort_by_time(words, places, count)
    return words[:count], places[:count]


@inlined
def keep_bytes(table: Any, place: Any, ref: Any, item: Any) -> Any:
    """Store the bytes of a key in the room of the evicted one if they fit, else at the top of the arena."""
    data, start, length = item
    room = ((ref & LENGTH_MASK) + GRAIN) & ~GRAIN
    offset = ref >> LENGTH_BITS
    if length > room:
        offset = table.state[TOP]
        table.state[TOP] = offset + ((length + GRAIN) & ~GRAIN)
    copy_bytes(data, start, table.arena, offset, length)
    table.refs[slot_of(place)] = (offset << LENGTH_BITS) | length


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
    return TableArrays(
        table.rows, table.passed, table.stacks, table.tops, table.state, table.refs, arena, table.scratch
    )
