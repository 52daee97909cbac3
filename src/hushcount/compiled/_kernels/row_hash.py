"""Hashes of the rows of linear sketches and oracles, pairwise independent with proof.

A key is one word of 64 bits, or two fingerprints of a byte string. In a row with the random words a, b and c
a word with the halves `high` and `low` has the hash

    (a + high) (b + low) + c   modulo 2^64, of which the upper 33 bits may be used

which is pairwise independent (docs/proofs/linear/cells.md, section 1) and takes one multiplication. Two
fingerprints are two such products, added. A fingerprint is a polynomial modulo 2^61 - 1, whose coefficients
are the bytes, at a secret point; reducing modulo this prime takes shifts and additions only.

Files rest on all of this, so none of it may ever change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushcount.compiled._kernels.hashing import mix
from hushcount.compiled._kernels.intrinsics import load64
from hushcount.compiled.kernel import inlined, kernel

_U = np.uint64
_ONE, _HALF, _SEVEN, _EIGHT = _U(1), _U(32), _U(7), _U(8)
_LOW = _U(0xFFFFFFFF)
_PRIME = _U((1 << 61) - 1)
_CHUNK = _U((1 << 56) - 1)
_THREE, _BITS = _U(3), _U(61)


class RowWords(NamedTuple):
    """The random words of all rows.

    `words` has five for each row (two pairs of factors and a summand), `odd` mixes integers before they are
    hashed, `shift` leaves as many bits as a cell number has, and one more as a sign if `signed`.
    """

    words: Any
    odd: Any
    shift: Any
    signed: Any


@inlined
def pair(high: Any, low: Any, left: Any, right: Any) -> Any:
    """Return the product that makes two halves of a word pairwise independent."""
    return (left + high) * (right + low)


@kernel
def times(left: Any, right: Any) -> Any:
    """Return the product modulo 2^61 - 1 of two numbers below 2^61.

    The numbers are cut into halves of 32 bits. 2^61 is 1 modulo the prime, so bits from 61 on are shifted
    down and added; every sum stays below 2^64.
    """
    left_high, left_low = left >> _HALF, left & _LOW
    right_high, right_low = right >> _HALF, right & _LOW
    middle = left_high * right_low + left_low * right_high  # below 2^62
    top = left_high * right_high  # times 2^64, which is 8 modulo the prime
    low = left_low * right_low
    total = (low & _PRIME) + (low >> _BITS) + (top << _THREE)
    total += ((middle & _U((1 << 29) - 1)) << _HALF) + (middle >> _U(29))
    total = (total & _PRIME) + (total >> _BITS)
    return total - _PRIME if total >= _PRIME else total


@kernel
def fingerprint(data: Any, start: Any, length: Any, point: Any) -> Any:
    """Return the polynomial of a byte string at a secret point, modulo 2^61 - 1.

    Its coefficients are the length and then seven bytes each, which stay below the prime; different strings
    have different coefficients. Whole words are read while eight bytes are left, of which seven are used.
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
    """Return two fingerprints of every byte string, at two secret points: one would collide too often."""
    count = offsets.size - 1
    words = np.empty((2, count), np.uint64)
    for index in range(count):
        start, length = offsets[index], offsets[index + 1] - offsets[index]
        words[0, index] = fingerprint(data, start, length, points[0])
        words[1, index] = fingerprint(data, start, length, points[1])
    return words


@inlined
def split(words: Any, first: Any, count: Any, odd: Any, halves: Any) -> Any:
    """Mix words, a bijection that breaks up regular keys, and cut them into halves."""
    for index in range(count):
        mixed = mix(words[first + index], odd)
        halves[0, index] = mixed >> _HALF
        halves[1, index] = mixed & _LOW


@inlined
def hashes_of_words(halves: Any, count: Any, row: Any, shift: Any, hashes: Any) -> Any:
    """Write the hashes of a block of words in one row."""
    left, right, plus = row[0], row[1], row[4]
    for index in range(count):
        hashes[index] = (pair(halves[0, index], halves[1, index], left, right) + plus) >> shift


@inlined
def hashes_of_prints(words: Any, block: Any, row: Any, shift: Any, hashes: Any) -> Any:
    """Write the hashes of a block (first, count) of fingerprint pairs in one row."""
    first, count = block
    for index in range(count):
        one, two = words[0, first + index], words[1, first + index]
        value = pair(one >> _HALF, one & _LOW, row[0], row[1])
        value += pair(two >> _HALF, two & _LOW, row[2], row[3])
        hashes[index] = (value + row[4]) >> shift


@kernel
def hash_words(rows: Any, words: Any) -> Any:
    """Return the hash of every word in every row."""
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
    """Return the hash of every fingerprint pair in every row."""
    found = np.empty((rows.words.shape[0], words.shape[1]), np.uint64)
    for depth in range(rows.words.shape[0]):
        hashes_of_prints(words, (0, words.shape[1]), rows.words[depth], rows.shift, found[depth])
    return found
