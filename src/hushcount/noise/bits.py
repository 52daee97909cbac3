"""Secure randomness in arrays: the bytes of hushcount.secure as uniform 64-bit words.

Everything that draws takes `bits` as an argument; there is no seed.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hushcount.compiled.arrays import Words
from hushcount.secure import system_bytes

WORD = 64  # bits of a word


class Bits(Protocol):
    """A source of independent uniform bits."""

    def words(self, count: int) -> Words:
        """Return `count` independent uniform 64-bit words."""
        ...

    def bytes(self, count: int) -> bytes:
        """Return `count` independent uniform bytes."""
        ...


class SystemBits:
    """Bits of the operating system's secure generator."""

    __slots__ = ()

    def words(self, count: int) -> Words:
        """Return `count` independent uniform 64-bit words (a read-only array)."""
        return np.frombuffer(self.bytes(8 * count), dtype=np.uint64)

    def bytes(self, count: int) -> bytes:
        """Return `count` independent uniform bytes."""
        return system_bytes().bytes(count)


def system_bits() -> SystemBits:
    """Return the bits every release draws from unless a test hands over others."""
    return SystemBits()


def uniform_from(word: int, width: int, bits: Bits) -> int:
    """Return a uniform integer below 2^width whose first 64 bits are given."""
    rest = int.from_bytes(bits.bytes((width - WORD) // 8), "big")
    return word << (width - WORD) | rest
