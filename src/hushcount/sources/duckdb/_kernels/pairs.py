"""Keyed hashes of users and their keys, and the first keys of each user.

What is kept of a user is exact whatever the hashes are: rows whose hashes agree are compared by the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import hash_bytes, mix
from hushcount.compiled._kernels.intrinsics import fold
from hushcount.compiled.kernel import kernel

_ONE, _HALF = np.uint64(1), np.uint64(32)


@kernel
def hashes_of_words(words: Any, odd: Any) -> Any:
    """Return the hash of every word."""
    found = np.empty(words.size, np.uint64)
    for index in range(words.size):
        found[index] = mix(words[index], odd)
    return found


@kernel
def hashes_of_bytes(data: Any, offsets: Any, key: Any, odd: Any) -> Any:
    """Return the hash of every byte string data[offsets[i] : offsets[i + 1]]."""
    found = np.empty(offsets.size - 1, np.uint64)
    for index in range(found.size):
        start = np.uint64(offsets[index])
        found[index] = hash_bytes(data, start, np.uint64(offsets[index + 1]) - start, key, odd)
    return found


@kernel
def hashes_of_pairs(users: Any, keys: Any, left: Any, right: Any) -> Any:
    """Return the hash of every pair of the hashes of a user and a key."""
    found = np.empty(users.size, np.uint64)
    for index in range(users.size):
        both = fold(users[index] ^ left, keys[index] ^ right)
        found[index] = fold(both ^ right, left | _ONE)
    return found


@kernel
def parts_of(hashes: Any, parts: Any) -> Any:
    """Return which of so many parts each hash belongs to, by its upper half."""
    found = np.empty(hashes.size, np.uint8)
    for index in range(hashes.size):
        found[index] = ((hashes[index] >> _HALF) * np.uint64(parts)) >> _HALF
    return found


@kernel
def first_rows(order: Any, codes: Any, hashes: Any, largest: Any) -> Any:
    """Return the first rows of each user, up to a number of them, one for each hash.

    Five results: the rows, and their places among those of their user; rows that were left out because an
    earlier row of the user has the same hash, and that earlier row of each; and whether `order` sorts the
    rows by the code of the user and then by hash, as it must.
    """
    count = order.size
    kept, places = np.empty(count, np.int64), np.empty(count, np.int64)
    again, before = np.empty(count, np.int64), np.empty(count, np.int64)
    taken, repeated, place, code, last = 0, 0, 0, -1, np.uint64(0)
    for index in range(count):
        row = order[index]
        if codes[row] != code:
            if codes[row] < code:
                return kept[:0], places[:0], again[:0], before[:0], False
            code, place = codes[row], 0
        elif hashes[row] == last:
            if place <= largest:
                again[repeated], before[repeated] = row, order[index - 1]
                repeated += 1
            continue
        elif hashes[row] < last:
            return kept[:0], places[:0], again[:0], before[:0], False
        last = hashes[row]
        place += 1
        if place <= largest:
            kept[taken], places[taken] = row, place
            taken += 1
    return kept[:taken], places[:taken], again[:repeated], before[:repeated], True
