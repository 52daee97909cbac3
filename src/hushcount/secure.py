"""Secure bytes of the operating system, and integers drawn from them without bias; pure Python.

The only module that asks for random bytes. What needs arrays takes them from hushcount.noise.bits, which
builds on this one; a client of the local model stays with this one and needs no library.
"""

from __future__ import annotations

import os
from typing import Protocol

from hushcount.errors import ParameterError


class ByteSource(Protocol):
    """A source of independent uniform bytes."""

    def bytes(self, count: int) -> bytes:
        """Return `count` independent uniform bytes."""
        ...


class SystemBytes:
    """Bytes of the operating system's secure generator."""

    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        """Return `count` independent uniform bytes."""
        return os.urandom(count)


def system_bytes() -> SystemBytes:
    """The bytes every client draws from unless a test hands over others."""
    return SystemBytes()


def below(bound: int, bits: ByteSource) -> int:
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


def fresh_key(size: int = 16) -> bytes:
    """Return random bytes, the key of one keyed hash."""
    return os.urandom(size)
