"""Linear sketches: rows of cells, one hashed place a row and key; blocks of keys, row after row.

A key is one word, or two fingerprints of a byte string. Row hashes are pairwise independent, with proof:
the upper 33 bits of (a + high)(b + low) + c are, for random a, b, c (docs/proofs/linear/cells.md, section 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushcount.compiled.intrinsics import borrow, load64
from hushcount.compiled.kernel import inlined, kernel

_U = np.uint64
_ONE, _HALF, _SEVEN, _EIGHT = _U(1), _U(32), _U(7), _U(8)
_LOW = _U(0xFFFFFFFF)
_PRIME = _U((1 << 61) - 1)
_CHUNK = _U((1 << 56) - 1)
_THREE, _BITS = _U(3), _U(61)
_ODD = _U(0xD6E8FEB86659FD93)
BLOCK = 2048


class Rows(NamedTuple):
    """How rows hash: five words a row, one to mix with, how far to shift, whether the last bit is a sign."""

    words: Any
    odd: Any
    shift: Any
    signed: Any


@inlined
def mix(word: Any, odd: Any) -> Any:
    """A bijection of words that breaks up regular keys; saved sketches rest on it, so it never changes."""
    product = word * odd
    product ^= product >> _HALF
    return product * _ODD


@inlined
def pair(high: Any, low: Any, left: Any, right: Any) -> Any:
    """The product that makes two halves of a word pairwise independent."""
    return (left + high) * (right + low)


@kernel
def times(left: Any, right: Any) -> Any:
    """The product modulo 2^61 - 1 of two numbers below 2^61, below 2^61 again."""
    left_high, left_low = left >> _HALF, left & _LOW
    right_high, right_low = right >> _HALF, right & _LOW
    middle = left_high * right_low + left_low * right_high  # below 2^62
    top = left_high * right_high  # counts for 2^64 = 8
    low = left_low * right_low
    total = (low & _PRIME) + (low >> _BITS) + (top << _THREE)
    total += ((middle & _U((1 << 29) - 1)) << _HALF) + (middle >> _U(29))
    total = (total & _PRIME) + (total >> _BITS)
    return total - _PRIME if total >= _PRIME else total


@kernel
def fingerprint(data: Any, start: Any, length: Any, point: Any) -> Any:
    """The polynomial of a byte string at a secret point, modulo 2^61 - 1.

    Its coefficients are the length and then seven bytes each, so different strings give different ones.
    """
    value = length + _ONE
    offset = start
    stop = start + length
    while offset + _EIGHT <= stop:
        value = times(value, point) + (load64(data, offset) & _CHUNK)
        value = value - _PRIME if value >= _PRIME else value
        offset += _SEVEN
    while offset < stop:
        chunk = _U(0)
        end = min(offset + _SEVEN, stop)
        for index in range(end - offset):
            chunk |= _U(data[offset + _U(index)]) << (_EIGHT * _U(index))
        value = times(value, point) + chunk
        value = value - _PRIME if value >= _PRIME else value
        offset = end
    return value


@kernel
def fingerprints(data: Any, offsets: Any, points: Any) -> Any:
    """Two fingerprints of every byte string, at two secret points."""
    count = offsets.size - 1
    words = np.empty((2, count), np.uint64)
    for index in range(count):
        start, length = offsets[index], offsets[index + 1] - offsets[index]
        words[0, index] = fingerprint(data, start, length, points[0])
        words[1, index] = fingerprint(data, start, length, points[1])
    return words


@inlined
def split(words: Any, first: Any, count: Any, odd: Any, halves: Any) -> Any:
    """Mix words (a bijection, so nothing is lost) and cut them into halves."""
    for index in range(count):
        mixed = mix(words[first + index], odd)
        halves[0, index] = mixed >> _HALF
        halves[1, index] = mixed & _LOW


@inlined
def hashes_of_words(halves: Any, count: Any, row: Any, shift: Any, hashes: Any) -> Any:
    """The hashes of a block of words in one row."""
    left, right, plus = row[0], row[1], row[4]
    for index in range(count):
        hashes[index] = (pair(halves[0, index], halves[1, index], left, right) + plus) >> shift


@inlined
def hashes_of_prints(words: Any, block: Any, row: Any, shift: Any, hashes: Any) -> Any:
    """The hashes of a block (first, count) of fingerprint pairs in one row."""
    first, count = block
    for index in range(count):
        one, two = words[0, first + index], words[1, first + index]
        value = pair(one >> _HALF, one & _LOW, row[0], row[1])
        value += pair(two >> _HALF, two & _LOW, row[2], row[3])
        hashes[index] = (value + row[4]) >> shift


@inlined
def add_ones(cells: Any, hashes: Any, count: Any) -> Any:
    """Count a block in a row of Count-Min."""
    for index in range(count):
        cells[hashes[index]] += 1


@inlined
def add_weights(cells: Any, hashes: Any, count: Any, weights: Any, first: Any) -> Any:
    """Add weights of a block to a row of Count-Min."""
    for index in range(count):
        cells[hashes[index]] += weights[first + index]


@inlined
def add_signs(cells: Any, hashes: Any, count: Any) -> Any:
    """Count a block in a row of CountSketch: the last bit of a hash is the sign."""
    for index in range(count):
        hashed = hashes[index]
        cells[hashed >> _ONE] += 1 - 2 * np.int64(hashed & _ONE)


@inlined
def add_signed_weights(cells: Any, hashes: Any, count: Any, weights: Any, first: Any) -> Any:
    """Add weights of a block to a row of CountSketch."""
    for index in range(count):
        hashed = hashes[index]
        weight = weights[first + index]
        cells[hashed >> _ONE] += -weight if hashed & _ONE else weight


@inlined
def add_block(cells: Any, hashes: Any, block: Any, weights: Any, signed: Any) -> Any:
    """Add a block (first, count) to one row; no weights are all ones."""
    first, count = block
    if signed:
        if weights.size:
            add_signed_weights(cells, hashes, count, weights, first)
        else:
            add_signs(cells, hashes, count)
    elif weights.size:
        add_weights(cells, hashes, count, weights, first)
    else:
        add_ones(cells, hashes, count)


@kernel
def update_words(cells: Any, rows: Any, words: Any, weights: Any) -> Any:
    """Add the weights of 64-bit keys to every row."""
    halves, hashes = np.empty((2, BLOCK), np.uint64), np.empty(BLOCK, np.uint64)
    for first in range(0, words.size, BLOCK):
        count = min(BLOCK, words.size - first)
        split(borrow(words), first, count, rows.odd, borrow(halves))
        for depth in range(rows.words.shape[0]):
            hashes_of_words(borrow(halves), count, borrow(rows.words[depth]), rows.shift, borrow(hashes))
            add_block(borrow(cells[depth]), borrow(hashes), (first, count), borrow(weights), rows.signed)


@kernel
def update_prints(cells: Any, rows: Any, words: Any, weights: Any) -> Any:
    """Add the weights of fingerprinted keys to every row."""
    hashes = np.empty(BLOCK, np.uint64)
    for first in range(0, words.shape[1], BLOCK):
        count = min(BLOCK, words.shape[1] - first)
        for depth in range(rows.words.shape[0]):
            row = borrow(rows.words[depth])
            hashes_of_prints(borrow(words), (first, count), row, rows.shift, borrow(hashes))
            add_block(borrow(cells[depth]), borrow(hashes), (first, count), borrow(weights), rows.signed)


@kernel
def hash_words(rows: Any, words: Any) -> Any:
    """The hash of every word in every row."""
    found = np.empty((rows.words.shape[0], words.size), np.uint64)
    for index in range(words.size):
        mixed = mix(words[index], rows.odd)
        for depth in range(rows.words.shape[0]):
            row = rows.words[depth]
            product = pair(mixed >> _HALF, mixed & _LOW, row[0], row[1])
            found[depth, index] = (product + row[4]) >> rows.shift
    return found


@kernel
def hash_prints(rows: Any, words: Any) -> Any:
    """The hash of every fingerprint pair in every row."""
    found = np.empty((rows.words.shape[0], words.shape[1]), np.uint64)
    for depth in range(rows.words.shape[0]):
        hashes_of_prints(words, (0, words.shape[1]), rows.words[depth], rows.shift, found[depth])
    return found
