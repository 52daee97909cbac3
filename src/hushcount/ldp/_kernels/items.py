"""Many items at once: cut out bits, put a tag on top, hash, parity; then the clients' responses.

Items are rows of 32-bit words, least significant first. Words have 32 bits, so that a word times a 64-bit
constant of the multiply-shift hash needs no more than the low 64 bits, and so that two adjacent words, joined
to 64 bits, can be shifted at once.

Responses have the distribution of wire/response.py and use random bytes in the same way: each gets a 64-bit
coin, a word in place of a missing truth, and seven words of which the first with nonzero low bits replaces
the truth; a word has one byte in version 1 of the wire and two in version 2. If all seven have zero low bits,
which is rare, the answer is marked UNDECIDED and drawn again outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

UNDECIDED = 0x8000  # set in an answer that still needs a replacement


@inlined
def _parity(word: Any) -> Any:
    """Return the parity of the bits of a word; bit i of 0x6996 is the parity of i."""
    word ^= word >> np.uint32(16)
    word ^= word >> np.uint32(8)
    word ^= word >> np.uint32(4)
    return (np.uint32(0x6996) >> (word & np.uint32(15))) & np.uint32(1)


@kernel
def cut(words: Any, shift: Any, bits: Any, out: Any) -> None:
    """Write (item >> shift) mod 2^bits of every row to `out`."""
    have = words.shape[1]
    far, near = shift // 32, np.uint64(shift % 32)
    for row in range(len(words)):
        for i in range(out.shape[1]):
            low = np.uint64(words[row, i + far]) if i + far < have else np.uint64(0)
            high = np.uint64(words[row, i + far + 1]) if i + far + 1 < have else np.uint64(0)
            left = min(max(bits - 32 * i, 0), 32)
            keep = (np.uint64(1) << np.uint64(left)) - np.uint64(1)
            out[row, i] = np.uint32((((high << np.uint64(32)) | low) >> near) & keep)


@kernel
def put_on_top(words: Any, bits: Any, tags: Any) -> None:
    """Add tag << bits to every row, which has zeros and enough room there."""
    first, near = bits // 32, np.uint64(bits % 32)
    for row in range(len(words)):
        wide = np.uint64(tags[row]) << near
        words[row, first] |= np.uint32(wide & np.uint64(0xFFFFFFFF))
        if first + 1 < words.shape[1]:
            words[row, first + 1] |= np.uint32(wide >> np.uint64(32))


@kernel
def multiply_shift(words: Any, constants: Any, bits: Any, out: Any) -> None:
    """Write ((b + sum of a_i x_i) mod 2^64) >> (64 - bits) to `out`, with constants (b, a_0, a_1, ..)."""
    shift = np.uint64(64 - bits)
    for row in range(len(words)):
        total = constants[0]
        for i in range(words.shape[1]):
            total += constants[i + 1] * np.uint64(words[row, i])
        out[row] = np.uint32(total >> shift)


@kernel
def parity(words: Any, mask: Any, out: Any) -> None:
    """Write the parity of the bits of every row under a mask of as many words to `out`."""
    for row in range(len(words)):
        folded = np.uint32(0)
        for i in range(words.shape[1]):
            folded ^= words[row, i] & mask[i]
        out[row] = _parity(folded)


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
    """Replace truths by responses; return how many are left undecided.

    `draws` is (coins[report], words[report, 8]): first the word for a missing truth, then the replacements.
    """
    coins, words = draws
    undecided = 0
    for report in range(len(answers)):
        if not fits[report]:
            answers[report] = words[report, 0] & mask
        if coins[report] >= probability:
            place = 1
            while place < 8 and words[report, place] & mask == 0:
                place += 1
            if place < 8:
                answers[report] ^= words[report, place] & mask
            else:
                answers[report] |= UNDECIDED
                undecided += 1
    return undecided
