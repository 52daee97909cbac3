"""Noise from a seed, for tests of programs that use hushcount: the same results each time, NOT PRIVATE."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hushcount.secure import drawn_from

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Words

__all__ = ["SeededBits", "seeded"]


class SeededBits:
    """Bytes that follow from a seed: anybody who knows it can take the noise away again.

    Parameters
    ----------
    seed : int
        Any whole number; the same seed gives the same bytes.

    Examples
    --------
    >>> SeededBits(1).bytes(4) == SeededBits(1).bytes(4), SeededBits(1).bytes(4) == SeededBits(2).bytes(4)
    (True, False)
    """

    def __init__(self, seed: int) -> None:
        self._seed = str(int(seed)).encode()
        self._drawn = 0

    def bytes(self, count: int) -> bytes:
        """Return the next bytes.

        Parameters
        ----------
        count : int
            How many.
        """
        self._drawn += 1
        return hashlib.shake_256(b"%d hushcount %b" % (self._drawn, self._seed)).digest(count)

    def words(self, count: int) -> Words:
        """Return the next 64-bit words.

        Parameters
        ----------
        count : int
            How many.
        """
        import numpy as np

        return np.frombuffer(self.bytes(8 * count), dtype=np.uint64)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw all randomness inside a `with` block from a seed.

    Releases made inside say that they are NOT PRIVATE, in their table, text and JSON. It holds for the
    thread that runs the block, and for no other.

    Parameters
    ----------
    seed : int
        Any whole number; the same seed and the same data give the same release.

    Examples
    --------
    >>> import hushcount as hc
    >>> with hc.testing.seeded(7):
    ...     release = hc.top(["tea"] * 500, epsilon=1.0, delta=1e-6)
    >>> release.guarantee.unit.protects
    'nobody: NOT PRIVATE, the noise came from a seed for tests'
    """
    with drawn_from(SeededBits(seed)):
        yield
