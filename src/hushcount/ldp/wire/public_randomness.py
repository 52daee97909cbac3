"""Public randomness of a campaign: the question of each nonce, and the hashes of prefixes and buckets.

Everything here follows from the public seed of the manifest; nothing here is private. Pure Python.
"""

from __future__ import annotations

import struct
from hashlib import blake2s

from hushcount.ldp.wire.versions import DRAWN, ISSUED, Wire

HASH_NAME = "blake2s-multiply-shift"
SEED_BYTES = 32
WIDEST_HASH = 32
SHARED = 0xFFFF  # the question number of hashes that all questions of a group share
CELL, SIGN, BUCKET = b"cell", b"sign", b"bucket"  # purposes, padded with zeros to 16 bytes

_WORDS = struct.Struct("<8I")
_NAME = struct.Struct("<16sBHIB")
_CONSTANTS = struct.Struct("<4Q")
_MASK64 = (1 << 64) - 1


class PublicRandomness:
    """Words and hash constants derived from a seed by keyed BLAKE2s."""

    __slots__ = ("_keyed", "seed")

    def __init__(self, seed: bytes) -> None:
        self.seed = seed
        self._keyed = blake2s(key=seed, digest_size=32)

    def __reduce__(self) -> tuple[type[PublicRandomness], tuple[bytes]]:
        return PublicRandomness, (self.seed,)

    def words(self, nonce: bytes, group: int, wire: Wire = DRAWN) -> tuple[int, ...]:
        """Return the 32-bit words of a nonce in a group: question, row, masks, and last the extra word.

        Version 1 has one digest of eight words; in version 2 the number of the digest ends the message.
        """
        if wire is ISSUED:
            return self._eight(nonce + bytes((group,)))
        return self._eight(nonce + bytes((group, 0))) + self._eight(nonce + bytes((group, 1)))

    def _eight(self, message: bytes) -> tuple[int, ...]:
        """Return the eight words of one digest."""
        keyed = self._keyed.copy()
        keyed.update(message)
        return _WORDS.unpack(keyed.digest())

    def constants(self, purpose: bytes, where: tuple[int, int, int], count: int) -> tuple[int, ...]:
        """Return `count` 64-bit constants b, a_0, a_1, .. of one hash; where = (group, question, row)."""
        found = self._four(purpose, where, 0)
        for block in range(1, -(-count // 4)):
            found += self._four(purpose, where, block)
        return found[:count]

    def _four(self, purpose: bytes, where: tuple[int, int, int], block: int) -> tuple[int, ...]:
        """Return four constants, those of one digest."""
        keyed = self._keyed.copy()
        keyed.update(_NAME.pack(purpose, *where, block))
        return _CONSTANTS.unpack(keyed.digest())

    def hash(self, purpose: bytes, where: tuple[int, int, int], value: int, shape: tuple[int, int]) -> int:
        """Hash a value; shape = (bits of the value, bits of the result)."""
        width, bits = shape
        if width <= 32:  # the same without a loop, for most prefixes
            offset, factor, _, _ = self._four(purpose, where, 0)
            return (offset + factor * value & _MASK64) >> (64 - bits)
        return multiply_shift(value, self.constants(purpose, where, 1 + words_of(width)), bits)


def words_of(width: int) -> int:
    """Return how many 32-bit words hold a value of `width` bits."""
    return -(-width // 32)


def multiply_shift(value: int, constants: tuple[int, ...], bits: int) -> int:
    """Hash the 32-bit words of a value, least significant first, to `bits` <= 32 bits; strongly universal.

    ((b + sum a_i x_i) mod 2^64) >> (64 - bits), with constants (b, a_0, a_1, ..).

    >>> multiply_shift(5, (1 << 63, 3), 8)
    128
    """
    total = constants[0]
    for factor in constants[1:]:
        total += factor * (value & 0xFFFFFFFF)
        value >>= 32
    return (total & _MASK64) >> (64 - bits)


def pick(word: int, cumulative: tuple[int, ...]) -> int:
    """Return the first question whose cumulative share exceeds the word.

    >>> pick(7, (5, 7, 1 << 32))
    2
    """
    question = 0
    while cumulative[question] <= word:
        question += 1
    return question
