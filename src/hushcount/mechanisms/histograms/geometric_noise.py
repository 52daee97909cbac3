"""Truncated geometric noise: its distribution in integers, and exact draws from it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Words
from hushcount.mechanisms.base import Block, keep
from hushcount.mechanisms.intervals import Selection
from hushcount.mechanisms.sampling.rows import Grid, stationary_masses
from hushcount.noise.bits import Bits, uniform_from

if TYPE_CHECKING:
    import pyarrow as pa


WORD = 64
FIRST = 16  # bits of a uniform integer that are looked at first


@dataclass(frozen=True, slots=True)
class TruncatedGeometricNoise:
    """K in 0..n-1 with P(K < k) = pi*_k: delta, E delta, E^2 delta, ... to the middle, then down again.

    `masses` are the integers pi*_0 .. pi*_n over 2^width. Drawn exactly: a uniform integer against them.
    """

    masses: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, grid: Grid) -> TruncatedGeometricNoise:
        """Return the distribution of a grid."""
        return cls(stationary_masses(grid), grid.width)

    @property
    def centre(self) -> int:
        """The median of K, subtracted so that published counts are centred on the truth."""
        return bisect_right(self.masses, 1 << (self.width - 1)) - 1

    @property
    def largest(self) -> int:
        """The largest value of K."""
        return len(self.masses) - 2

    def cumulative(self) -> Floats:
        """P(K < k) for k = 0..n as floats."""
        return np.array([mass / (1 << self.width) for mass in self.masses])

    def tail(self, m: Counts) -> Floats:
        """Return P[centre - K >= m] = P[K < centre - m + 1]."""
        below = self.cumulative()
        return below[np.clip(self.centre - m + 1, 0, len(below) - 1)]

    def quantiles(self, failure: float) -> tuple[int, int]:
        """Return (low, high) with P(K < low) <= failure / 2 and P(K > high) <= failure / 2."""
        half = math.floor(failure / 2 * 2.0**53) << (self.width - 53)
        low = bisect_right(self.masses, half) - 1
        high = bisect_left(self.masses, (1 << self.width) - half) - 1
        return low, high

    def selection(self) -> Selection:
        """Return which values are published: a count less K of at least 1."""
        with np.errstate(divide="ignore"):
            below = np.log(self.cumulative())  # log P(K < k)

        def log_tail(m: Counts) -> Floats:
            """Return log P[-K >= m]."""
            return np.asarray(below[np.clip(1 - m, 0, len(below) - 1)])

        return Selection(log_tail, 1)

    def sample(self, size: int, bits: Bits) -> Counts:
        """Draw `size` independent values.

        The first 16 bits of a uniform integer decide nearly always, its first 64 but for one in 10^16.
        """
        words = bits.words(size)
        heads = _heads(self)
        values: Counts = _by_first_bits(self)[words >> (WORD - FIRST)]
        undecided = np.flatnonzero(values < 0)
        some = words[undecided]
        found = np.searchsorted(heads, some, side="left")
        for tie in np.flatnonzero(heads[np.minimum(found, len(heads) - 1)] == some).tolist():
            found[tie] = bisect_right(self.masses, uniform_from(int(some[tie]), self.width, bits)) - 1
        values[undecided] = found
        return values

    def publish(self, keys: pa.Array, counts: Counts, bits: Bits, floor: int = 0) -> Block:
        """Return the keys that keep at least 1, with what they keep raised by the floor and the median."""
        values = counts - self.sample(len(counts), bits)
        published = values >= 1
        return keep(keys, published), values[published] + (self.centre + floor)

    def parameters(self, floor: int = 0) -> dict[str, int]:
        """Return the public numbers of a release: the largest noise, and what is added to what is left."""
        return {"largest_noise": self.largest, "offset": self.centre + floor}


@lru_cache(maxsize=32)
def _heads(noise: TruncatedGeometricNoise) -> Words:
    """Return the first 64 bits of pi*_1 .. pi*_(n-1)."""
    return np.array([mass >> (noise.width - WORD) for mass in noise.masses[1:-1]], dtype=np.uint64)


@lru_cache(maxsize=32)
def _by_first_bits(noise: TruncatedGeometricNoise) -> Counts:
    """Return the value of every word with given first bits; -1 where one of the heads has them too."""
    heads = _heads(noise)
    first = np.arange(1 << FIRST, dtype=np.uint64) << (WORD - FIRST)
    last = first | np.uint64((1 << (WORD - FIRST)) - 1)
    low, high = np.searchsorted(heads, first, side="left"), np.searchsorted(heads, last, side="right")
    return np.where(low == high, low, -1)
