"""Exact binomial draws for many trials and an irrational probability: certified digits of the distribution.

A binomial is a sum of binomials over disjoint parts of its trials; parts are so large that each has a mean of
about 8 and one table serves all. No floating point decides a draw.
Proof: docs/proofs/histograms/pure.md, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from hushcount.compiled.arrays import Counts, Words
from hushcount.noise.bits import Bits
from hushcount.noise.expansions import LONG, Expansion, Interval

MEAN = 8

Probability = Callable[[int], Interval]
"""Integers low <= p 2^precision <= high for a precision."""


def binomial(trials: int, probability: Probability, bits: Bits) -> int:
    """Draw from Binomial(trials, p), exactly; takes time in proportion to the mean."""
    low, _ = probability(128)
    parts = min(max(1, math.ceil(Fraction(trials * low, MEAN << 128))), max(trials, 1))
    size, larger = divmod(trials, parts)
    total = BinomialDistribution(size, probability).sample(parts - larger, bits).sum()
    if larger:
        total += BinomialDistribution(size + 1, probability).sample(larger, bits).sum()
    return int(total)


class BinomialDistribution:
    """Binomial(trials, p) with few expected successes; P[B <= b] as digits, as many as a draw needs."""

    def __init__(self, trials: int, probability: Probability) -> None:
        self.trials = trials
        self._probability = probability
        self._sums: dict[int, _Sums] = {}
        self._digits: dict[int, Expansion] = {}

    def cumulative(self, b: int) -> Expansion:
        """Return the digits of P[B <= b], b < trials."""
        if b not in self._digits:
            self._digits[b] = Expansion(lambda precision: self._interval(b, precision))
        return self._digits[b]

    def sample(self, size: int, bits: Bits) -> Counts:
        """Draw `size` independent values: the smallest b with U < P[B <= b], U uniform."""
        if not self.trials:
            return np.zeros(size, np.int64)
        heads = self._heads()
        words = bits.words(size)
        values = np.searchsorted(heads, words, side="left").astype(np.int64)
        for tie in np.flatnonzero(heads[values] == words).tolist():
            values[tie] = self._settle(int(values[tie]), int(words[tie]), bits)
        return values

    def _settle(self, b: int, uniform: int, bits: Bits) -> int:
        """Return the first value whose cumulative probability exceeds a uniform number, by more digits."""
        known = LONG
        while b < self.trials:
            lead = self.cumulative(b).leading(known)
            if uniform < lead:
                return b
            if uniform > lead:
                b += 1
            else:
                uniform = uniform << LONG | int(bits.words(1)[0])
                known += LONG
        return b

    def _heads(self) -> Words:
        """Return the first 64 digits of P[B <= 0], P[B <= 1], ... until they are all ones."""
        ones = (1 << LONG) - 1
        heads: list[int] = []
        while not heads or heads[-1] < ones:
            b = len(heads)
            heads.append(self.cumulative(b).leading(LONG) if b < self.trials else ones)
        return np.array(heads, dtype=np.uint64)

    def _interval(self, b: int, precision: int) -> Interval:
        """Return bounds of P[B <= b] in units of 2^-precision."""
        extra = 64 + self.trials.bit_length()
        working = precision + extra
        if precision not in self._sums:
            self._sums[precision] = _Sums(self.trials, self._probability(working), working)
        low, high = self._sums[precision].up_to(b)
        return low >> extra, (high >> extra) + 1


class _Sums:
    """Bounds of P[B <= b] in units of 2^-working, each made of the one before."""

    def __init__(self, trials: int, probability: Interval, working: int) -> None:
        low, high = probability
        one = 1 << working
        self._trials = trials
        self._working = working
        self._odds = ((low << working) // (one - low), -((-high << working) // (one - high)))
        self._term = _power((one - high, one - low), trials, working)
        self._sums = [self._term]

    def up_to(self, b: int) -> Interval:
        """Return bounds of P[B <= b]."""
        while len(self._sums) <= b:
            self._next(len(self._sums))
        return self._sums[b]

    def _next(self, b: int) -> None:
        """Append the bounds of P[B <= b], from those of P[B = b - 1]."""
        ways = self._trials - b + 1
        scale = b << self._working
        low = self._term[0] * self._odds[0] * ways // scale
        high = -(-self._term[1] * self._odds[1] * ways // scale)
        self._term = (low, high)
        self._sums.append((self._sums[-1][0] + low, self._sums[-1][1] + high))


def _power(base: Interval, exponent: int, working: int) -> Interval:
    """Return bounds of base^exponent, base in units of 2^-working and at most 1."""
    low = high = 1 << working
    square = base
    while exponent:
        if exponent & 1:
            low, high = low * square[0] >> working, -(-high * square[1] >> working)
        square = square[0] * square[0] >> working, -(-square[1] * square[1] >> working)
        exponent >>= 1
    return low, high
