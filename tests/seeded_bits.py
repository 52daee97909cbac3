"""Bits for tests: seeded, so that a test draws the same noise each time, or dictated word by word."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt


class SeededBits:
    """Uniform bits of a seeded generator; satisfies hushcount.noise.bits.Bits."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64DXSM(seed))

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)

    def bytes(self, count: int) -> bytes:
        return self._generator.bytes(count)


class DictatedBits:
    """Exactly the words given, one list per call; a call for another number of words, or one more, fails."""

    def __init__(self, calls: Iterable[npt.ArrayLike]) -> None:
        self._calls = [np.asarray(call, dtype=np.uint64) for call in calls]

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        words = self._calls.pop(0)
        assert len(words) == count, f"{count} words asked for, {len(words)} dictated"
        return words

    def bytes(self, count: int) -> bytes:
        words = self.words(-(-count // 8))
        return words.astype(">u8").tobytes()[:count]

    @property
    def used_up(self) -> bool:
        return not self._calls


def packed(uniforms: Iterable[int]) -> npt.NDArray[np.uint64]:
    """Words that read as the given 16-bit integers (and then as ones)."""
    short = np.array(list(uniforms), dtype=np.uint16)
    padding = np.full(-len(short) % 4, 0xFFFF, dtype=np.uint16)
    return np.concatenate([short, padding]).view(np.uint64)
