"""The limit of any counter table: a loop that only hashes, probes and increments.

The table is a power of two at load at most 0.5 and already holds the k heaviest keys, so nothing is
ever inserted, evicted or moved. The hashes are those of the sketches.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from hushcount.compiled._kernels.hashing import hash_bytes, mix, same_bytes

Words = npt.NDArray[np.uint64]

_U = np.uint64
_ONE = _U(1)
# The top bit is set, so that no key below 2^31 becomes 0, which marks a free slot.
_KEY, _ODD = _U(0x9D5C1B2E46A7F380), _U(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class IntegerLimit:
    """Slots of (key, count)."""

    rows: Words

    @classmethod
    def holding(cls, keys: npt.NDArray[np.int64]) -> IntegerLimit:
        limit = cls(_zeros(2 * _slots(keys.size)))
        _insert_integers(limit.rows, keys.view(np.uint64))
        return limit

    def count(self, keys: npt.NDArray[np.int64]) -> int:
        """Count the keys that are held; returns how many are not."""
        return int(_count_integers(self.rows, keys.view(np.uint64)))


@dataclass(frozen=True, slots=True)
class TextLimit:
    """Slots of (hash, count, start, length), and the bytes of the keys."""

    rows: Words
    arena: npt.NDArray[np.uint8]

    @classmethod
    def holding(cls, keys: pa.Array) -> TextLimit:
        data, offsets = _buffers(keys)
        limit = cls(_zeros(4 * _slots(len(keys))), data.copy())
        _insert_texts(limit.rows, limit.arena, offsets)
        return limit

    def count(self, keys: pa.Array) -> int:
        """Count the keys that are held; returns how many are not."""
        return int(_count_texts(self.rows, self.arena, *_buffers(keys)))


def _slots(keys: int) -> int:
    return 1 << (2 * keys - 1).bit_length()


def _zeros(words: int) -> Words:
    """Zeros on large pages where there are any, as the sketches have them."""
    pages = mmap.mmap(-1, 8 * words, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint64, words)


def _buffers(keys: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    _, offsets, data = keys.buffers()
    return np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int32)[: len(keys) + 1]


@njit(inline="always")
def _slot(hashed: Any, slots: Any) -> Any:
    """The upper half of a hash, scaled to a power of two."""
    return ((hashed >> _U(32)) * slots) >> _U(32)


@njit(error_model="numpy", cache=True)
def _insert_integers(rows: Any, keys: Any) -> None:
    slots = _U(rows.size >> 1)
    for value in keys:
        key = value ^ _KEY
        slot = _slot(mix(key, _ODD), slots)
        while rows[slot << _ONE] != 0:
            slot = (slot + _ONE) & (slots - _ONE)
        rows[slot << _ONE] = key


@njit(error_model="numpy", cache=True)
def _count_integers(rows: Any, keys: Any) -> Any:
    missing = 0
    slots = _U(rows.size >> 1)
    for index in range(keys.size):
        key = keys[index] ^ _KEY
        slot = _slot(mix(key, _ODD), slots)
        while True:
            held = rows[slot << _ONE]
            if held == key:
                rows[(slot << _ONE) | _ONE] += _ONE
                break
            if held == 0:
                missing += 1
                break
            slot = (slot + _ONE) & (slots - _ONE)
    return missing


@njit(error_model="numpy", cache=True)
def _insert_texts(rows: Any, data: Any, offsets: Any) -> None:
    slots = _U(rows.size >> 2)
    for index in range(offsets.size - 1):
        start = _U(offsets[index])
        length = _U(offsets[index + 1]) - start
        hashed = hash_bytes(data, start, length, _KEY, _ODD)
        slot = _slot(hashed, slots)
        while rows[slot << _U(2)] != 0:
            slot = (slot + _ONE) & (slots - _ONE)
        row = slot << _U(2)
        rows[row], rows[row | _U(2)], rows[row | _U(3)] = hashed, start, length


@njit(error_model="numpy", cache=True)
def _count_texts(rows: Any, arena: Any, data: Any, offsets: Any) -> Any:
    missing = 0
    slots = _U(rows.size >> 2)
    for index in range(offsets.size - 1):
        start = _U(offsets[index])
        length = _U(offsets[index + 1]) - start
        hashed = hash_bytes(data, start, length, _KEY, _ODD)
        slot = _slot(hashed, slots)
        while True:
            row = slot << _U(2)
            held = rows[row]
            if (
                held == hashed
                and rows[row | _U(3)] == length
                and same_bytes(data, start, arena, rows[row | _U(2)], length)
            ):
                rows[row | _ONE] += _ONE
                break
            if held == 0:
                missing += 1
                break
            slot = (slot + _ONE) & (slots - _ONE)
    return missing
