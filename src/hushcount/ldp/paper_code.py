"""Decoding of bits that were decided one by one: the nearest codeword of all, for parts of at most 15 bits.

Messages of 15 bits lie in a code of distance 56 (codes.py): 27 wrong bits of 128 are corrected, more than the
eighth that 002 asks for. The lowest eight bits of a message are a constant and a linear function of the
place, so for each value of the others one Hadamard transform compares with all of them.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from hushcount.ldp.code_decoding import signs
from hushcount.ldp.codes import LENGTH, codeword_bit
from hushcount.privacy import check_count

MOST_BITS = 15
_LINEAR_BITS = 8
_TOGETHER = 1 << 11
Agreements = npt.NDArray[np.int16]


def nearest(decided: npt.ArrayLike, bits: int) -> npt.NDArray[np.int64]:
    """The message of `bits` bits whose codeword differs least from each row of 128 signs (+1 for a 0)."""
    check_count("bits", bits, most=MOST_BITS)
    columns = np.ascontiguousarray(np.asarray(decided, np.int16).reshape(-1, LENGTH).T)
    found = np.zeros(columns.shape[1], np.int64)
    for start in range(0, len(found), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        found[part] = _nearest(columns[:, part], bits)
    return found


def _nearest(columns: Agreements, bits: int) -> npt.NDArray[np.int64]:
    """The same for columns of signs: the largest agreement, with either sign, that a message has."""
    best = np.full(columns.shape[1], -1, np.int16)
    found = np.zeros(columns.shape[1], np.int64)
    messages = linear_messages()
    known = messages < 1 << bits
    for coset in range(1 << max(bits - _LINEAR_BITS, 0)):
        high = coset << _LINEAR_BITS
        agreements = _transform(columns * signs(np.array([high]))[0][:, None].astype(np.int16))[known]
        better = np.flatnonzero(np.abs(agreements).max(axis=0) > best)
        rows = np.abs(agreements[:, better]).argmax(axis=0)
        chosen = agreements[rows, better]
        best[better] = np.abs(chosen)
        found[better] = high | messages[known][rows] | (chosen < 0)
    return found


def _transform(columns: Agreements) -> Agreements:
    """The Hadamard transform along the first axis: row u is the agreement with (-1)^(u . place)."""
    count = columns.shape[1]
    for stage in range(7):
        pairs = columns.reshape(-1, 2, 1 << stage, count)
        columns = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1)
    return columns.reshape(LENGTH, count)


@cache
def linear_messages() -> npt.NDArray[np.int64]:
    """For each u the message, without its constant, whose codeword has the bit u . place at every place."""
    messages = np.zeros(LENGTH, np.int64)
    for message in range(0, 1 << _LINEAR_BITS, 2):
        messages[sum(codeword_bit(message, 1 << bit) << bit for bit in range(7))] = message
    return messages
