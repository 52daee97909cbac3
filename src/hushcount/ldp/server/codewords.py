"""Soft decoding of the extended BCH code, for the server: the most likely messages of noisy codewords.

Ordered-statistics decoding trusts the most reliable independent places, solves for the message, and tries
again with up to `order` of these places inverted. Hard decisions correct 21 errors of 128; this often finds
the message behind 30 and more, because the wrong places tend to be the unreliable ones.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from hushcount.compiled.arrays import Counts, Floats32, Signs
from hushcount.ldp._kernels.codes import decode_ordered
from hushcount.ldp.wire.codes import LENGTH, MESSAGE_BITS, encode
from hushcount.privacy import check_count

_WORD = (1 << 64) - 1


@cache
def _basis(bits: int) -> NDArray[np.uint64]:
    """Return for each message bit its codeword in two words, and the bit itself."""
    rows = [(encode(1 << bit), 1 << bit) for bit in range(bits)]
    return np.array([(word & _WORD, word >> 64, message) for word, message in rows], np.uint64)


def decode(signals: Floats32, bits: int, order: int = 2, best: int = 1) -> tuple[Counts, Floats32]:
    """Return the most likely messages of `bits` bits for each row of 128 signals, and their correlations.

    A signal is positive for a 0 and negative for a 1. A message that was not found has correlation -inf.
    """
    check_count("bits", bits, most=MESSAGE_BITS)
    check_count("order", order, least=0, most=3)
    rows = np.ascontiguousarray(signals, np.float32).reshape(-1, LENGTH)
    messages = np.zeros((len(rows), check_count("best", best)), np.uint64)
    scores = np.full(messages.shape, -np.inf, np.float32)
    decode_ordered(rows, _basis(bits), order, messages, scores)
    return messages.astype(np.int64), scores


def codewords(messages: Counts) -> NDArray[np.uint64]:
    """Return the codewords of an array of messages, as rows of two words."""
    basis = _basis(MESSAGE_BITS)
    words = np.zeros((len(messages), 2), np.uint64)
    for bit in range(MESSAGE_BITS):
        chosen = ((messages >> bit) & 1).astype(bool)
        words[chosen] ^= basis[bit, :2]
    return words


def signs(messages: Counts) -> Signs:
    """Return +1 for each 0 and -1 for each 1 of every codeword: a signal without noise."""
    packed = codewords(messages).view(np.uint8)
    return (1 - 2 * np.unpackbits(packed, axis=1, bitorder="little").astype(np.int8)).astype(np.int8)
