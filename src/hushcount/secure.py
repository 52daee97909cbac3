"""Secure bytes of the operating system, and integers drawn from them without bias; pure Python.

The only module that asks for random bytes. What needs arrays takes them from hushcount.noise.bits, which
builds on this one; a client of the local model stays with this one and needs no library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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


# Set by hushcount.testing only, for one thread; every guarantee made meanwhile says so.
_seeded: ContextVar[ByteSource | None] = ContextVar("seeded", default=None)


def system_bytes() -> ByteSource:
    """Return the bytes that every client draws from unless a test hands over others."""
    return _seeded.get() or SystemBytes()


@contextmanager
def drawn_from(source: ByteSource) -> Iterator[None]:
    """Take all bytes of this thread from another source: nothing that is drawn meanwhile is private."""
    token = _seeded.set(source)
    try:
        yield
    finally:
        _seeded.reset(token)


def is_seeded() -> bool:
    """Return whether the bytes of this thread come from another source than the operating system."""
    return _seeded.get() is not None


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
    return system_bytes().bytes(size)
