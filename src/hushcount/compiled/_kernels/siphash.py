"""SipHash-2-4 of keys, one key of the function for each row (Aumasson and Bernstein 2012).

Row by row it stands in for a random function: no output says anything about any other. That is more than
the pairwise independence of row_hash.py, and takes longer. A key is one word of 64 bits, or two fingerprints
of a byte string; the first two words of a row are the key of its function.

Files rest on all of this, so none of it may ever change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

_U = np.uint64
_SHORT, _LONG = _U(8 << 56), _U(16 << 56)  # the last block holds the length in bytes
_START = (_U(0x736F6D6570736575), _U(0x646F72616E646F6D), _U(0x6C7967656E657261), _U(0x7465646279746573))
_END = _U(0xFF)


@inlined
def turned(word: Any, bits: Any) -> Any:
    """Return a word rotated to the left."""
    return (word << _U(bits)) | (word >> _U(64 - bits))


@inlined
def mixed(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    """Return the four words of the state after one round."""
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = turned(v1, 13) ^ v0, turned(v3, 16) ^ v2
    v0 = turned(v0, 32)
    v2, v0 = v2 + v1, v0 + v3
    v1, v3 = turned(v1, 17) ^ v2, turned(v3, 21) ^ v0
    return v0, v1, turned(v2, 32), v3


@kernel
def siphash(low: Any, high: Any, one: Any, two: Any, words: Any) -> Any:
    """Return the hash of one word, or of two, with the key (low, high)."""
    v0, v1, v2, v3 = low ^ _START[0], high ^ _START[1], low ^ _START[2], high ^ _START[3]
    for index in range(words + 1):
        block = one if index == 0 else two
        if index == words:
            block = _SHORT if words == 1 else _LONG
        v3 ^= block
        v0, v1, v2, v3 = mixed(v0, v1, v2, v3)
        v0, v1, v2, v3 = mixed(v0, v1, v2, v3)
        v0 ^= block
    v2 ^= _END
    for _ in range(4):
        v0, v1, v2, v3 = mixed(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@kernel
def keyed_words(rows: Any, words: Any) -> Any:
    """Return the keyed hash of every word in every row."""
    found = np.empty((rows.words.shape[0], words.size), np.uint64)
    for depth in range(rows.words.shape[0]):
        low, high = rows.words[depth, 0], rows.words[depth, 1]
        for index in range(words.size):
            found[depth, index] = siphash(low, high, words[index], words[index], 1) >> rows.shift
    return found


@kernel
def keyed_prints(rows: Any, words: Any) -> Any:
    """Return the keyed hash of every fingerprint pair in every row."""
    found = np.empty((rows.words.shape[0], words.shape[1]), np.uint64)
    for depth in range(rows.words.shape[0]):
        low, high = rows.words[depth, 0], rows.words[depth, 1]
        for index in range(words.shape[1]):
            found[depth, index] = siphash(low, high, words[0, index], words[1, index], 2) >> rows.shift
    return found
