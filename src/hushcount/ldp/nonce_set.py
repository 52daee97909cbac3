"""The nonces that have reported, so that nobody is counted twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushcount.ldp._kernels import nonces as kernels
from hushcount.secure import fresh_key

_SMALLEST = 1 << 12
_FULLEST = 0.6

Words = npt.NDArray[np.uint64]


class NonceSet:
    """A growing set of 64-bit nonces."""

    __slots__ = ("_factor", "_held", "_table", "_zero")

    def __init__(self) -> None:
        self._factor = np.uint64(int.from_bytes(fresh_key(8), "little") | 1)
        self._table = np.zeros(_SMALLEST, np.uint64)
        self._held = 0
        self._zero = False

    def __len__(self) -> int:
        return self._held + self._zero

    def add(self, nonces: Words) -> npt.NDArray[np.bool_]:
        """Add nonces in order; true where a nonce was not there before."""
        self._make_room(len(nonces))
        fresh = np.empty(len(nonces), np.bool_)
        self._held += int(kernels.insert(self._table, self._factor, nonces, fresh))
        if not self._zero:
            zeros = np.flatnonzero(nonces == 0)[:1]
            fresh[zeros] = True
            self._zero = len(zeros) == 1
        return fresh

    def _make_room(self, coming: int) -> None:
        size = len(self._table)
        while self._held + coming > _FULLEST * size:
            size *= 2
        if size > len(self._table):
            larger = np.zeros(size, np.uint64)
            kernels.grow(self._table, self._factor, larger)
            self._table = larger
