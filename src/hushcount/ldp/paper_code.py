"""Decoding of bits that were decided one by one: the nearest codeword of all, for parts of at most 15 bits.

Messages of 15 bits lie in a code of distance 56 (codes.py): 27 wrong bits of 128 are corrected, more than the
eighth that 002 asks for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushcount.ldp.code_decoding import signs
from hushcount.ldp.codes import LENGTH
from hushcount.privacy import check_count

MOST_BITS = 15
_LINEAR_BITS = 8  # a constant and the linear functions of the place: the first-order Reed-Muller code
_TOGETHER = 1 << 12


def nearest(decided: npt.NDArray[np.floating], bits: int) -> npt.NDArray[np.int64]:
    """The message of `bits` bits whose codeword differs least from each row of 128 signs (+1 for a 0).

    Of codewords that differ equally the one of the lowest higher bits is taken.
    """
    check_count("bits", bits, most=MOST_BITS)
    low_bits = min(bits, _LINEAR_BITS)
    linear = signs(np.arange(0, 1 << low_bits, 2)).astype(np.float32).T  # the constant is a sign
    rows = np.ascontiguousarray(decided, np.float32).reshape(-1, LENGTH)
    found = np.zeros(len(rows), np.int64)
    for start in range(0, len(rows), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        found[part] = _nearest(rows[part], linear, 1 << (bits - low_bits))
    return found


def _nearest(
    rows: npt.NDArray[np.float32], linear: npt.NDArray[np.float32], cosets: int
) -> npt.NDArray[np.int64]:
    best = np.full(len(rows), -1.0, np.float32)
    found = np.zeros(len(rows), np.int64)
    for coset in range(cosets):
        high = coset << _LINEAR_BITS
        agreements = (rows * signs(np.array([high]))[0]) @ linear
        place = np.abs(agreements).argmax(axis=1)
        agreement = agreements[np.arange(len(rows)), place]
        better = np.abs(agreement) > best
        best[better] = np.abs(agreement)[better]
        found[better] = (high | 2 * place | (agreement < 0))[better]
    return found
