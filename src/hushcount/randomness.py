"""Secure randomness: uniform bits of the operating system, and what is drawn from them without bias.

The only module that makes random bits. Everything that draws takes `bits` as an argument; there is no seed.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushcount.errors import ParameterError


class Bits(Protocol):
    """A source of independent uniform bits."""

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Return `count` independent uniform 64-bit words."""
        ...

    def bytes(self, count: int) -> bytes:
        """Return `count` independent uniform bytes."""
        ...


class SystemBits:
    """Bits of the operating system's secure generator."""

    __slots__ = ()

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Return `count` independent uniform 64-bit words (a read-only array)."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def bytes(self, count: int) -> bytes:
        """Return `count` independent uniform bytes."""
        return os.urandom(count)


def system_bits() -> SystemBits:
    """The bits every release draws from unless a test hands over others."""
    return SystemBits()


def below(bound: int, bits: Bits) -> int:
    """Draw an integer uniform on 0 .. bound - 1, of any size.

    Draws as many bits as bound - 1 has and starts again when they reach the bound: no modulo, so no bias.
    """
    if bound < 1:
        raise ParameterError(f"bound must be at least 1, got {bound}.")
    width = (bound - 1).bit_length()
    size = (width + 7) // 8
    while True:
        value = int.from_bytes(bits.bytes(size), "big") >> (8 * size - width)
        if value < bound:
            return value


def fresh_key() -> bytes:
    """Return 16 random bytes, the key of one keyed hash."""
    return os.urandom(16)
