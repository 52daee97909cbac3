"""The responses of many clients, with the distribution of wire/response.py and the same use of random bytes.

Each response gets 16 random bytes: a 64-bit coin, a byte in place of a missing truth, and seven bytes of
which the first with nonzero low bits replaces the truth. If all seven have zero low bits, which is rare, the
answer is marked UNDECIDED and drawn again outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

UNDECIDED = 0x80  # set in an answer that still needs a replacement


@inlined
def _parity(word: Any) -> Any:
    """Return the parity of the bits of a word; bit i of 0x6996 is the parity of i."""
    word ^= word >> np.uint32(16)
    word ^= word >> np.uint32(8)
    word ^= word >> np.uint32(4)
    return (np.uint32(0x6996) >> (word & np.uint32(15))) & np.uint32(1)


@kernel
def truths(reports: Any, cells: Any, flips: Any, masks: Any, out: Any) -> None:
    """Write the truthful answers: bit i is the parity of the cell under mask i; a flip turns bit 0."""
    for place in range(len(reports)):
        report = reports[place]
        answer = np.uint32(flips[place])
        for i in range(masks.shape[1]):
            answer ^= _parity(masks[report, i] & cells[place]) << np.uint32(i)
        out[report] = answer


@kernel
def respond(answers: Any, fits: Any, draws: Any, probability: Any, mask: Any) -> int:
    """Replace truths by responses, with 16 random bytes each; return how many are left undecided."""
    undecided = 0
    for report in range(len(answers)):
        draw = draws[report]
        if not fits[report]:
            answers[report] = draw[8] & mask
        coin = np.uint64(0)
        for i in range(8):
            coin |= np.uint64(draw[i]) << np.uint64(8 * i)
        if coin >= probability:
            place = 9
            while place < 16 and draw[place] & mask == 0:
                place += 1
            if place < 16:
                answers[report] ^= draw[place] & mask
            else:
                answers[report] |= UNDECIDED
                undecided += 1
    return undecided
