"""The largest of very many discrete Laplace draws, exact, without drawing the others.

Every draw carries a tag, uniform on [0, 1), that breaks ties. A cut (level, part) splits the draws into those
at or above (level, part / 2^64) and the rest; how many lie above is binomial, and given that, they are
independent draws of the distribution above the cut.

The binomial has very many trials and an irrational probability, so it is drawn by certified digits of its
distribution. It is a sum of binomials over disjoint parts of its trials; parts are so large that each has a
mean of about 8 and one table serves all. No floating point decides a draw.
Proof: docs/proofs/histograms/pure.md, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from hushcount.compiled.arrays import Counts, Mask, Words
from hushcount.noise.bits import Bits
from hushcount.noise.expansions import LONG, Expansion, Interval, bernoullis, exp_interval
from hushcount.noise.laplace import DiscreteLaplace, digit_table, geometrics

WHOLE = 1 << 64  # tags have 64 bits; a further tie is for the caller to break

MEAN = 8  # of a binomial whose distribution is tabled

Draws = tuple[Counts, Words]
Probability = Callable[[int], Interval]
"""Integers low <= p 2^precision <= high for a precision."""


def wanted_above(least: int) -> int:
    """Return how many draws a cut should leave above it, so that `least` are there almost surely."""
    return least + 8 * math.isqrt(least) + 64


def all_draws(count: int, epsilon: Fraction, bits: Bits) -> Draws:
    """Return all of `count` draws."""
    return DiscreteLaplace(epsilon).sample(count, bits), bits.words(count)


def largest_draws(count: int, epsilon: Fraction, least: int, bits: Bits) -> Draws:
    """Return the largest of `count` draws: at least `least` of them, everything above some cut.

    `count` must be at least 2 wanted_above(least).
    """
    cut: TailCut | None = None
    values, tags = np.zeros(0, np.int64), np.zeros(0, np.uint64)
    wanted = wanted_above(least)
    while len(values) < least:
        lower = TailCut.leaving(wanted, count, epsilon)
        left = count - len(values)
        found = binomial(left, lower.probability if cut is None else _between(lower, cut), bits)
        more = _below(cut, found, partial(lower.draws, bits=bits))
        values, tags = _joined([(values, tags), more])
        cut, wanted = lower, 2 * wanted
        if 2 * wanted > count and len(values) < least:  # the rest are few: draw them one by one
            rest = _below(cut, count - len(values), partial(all_draws, epsilon=epsilon, bits=bits))
            return _joined([(values, tags), rest])
    return values, tags


def _joined(parts: Sequence[Draws]) -> Draws:
    """Return all draws of several parts."""
    return np.concatenate([values for values, _ in parts]), np.concatenate([tags for _, tags in parts])


@dataclass(frozen=True, slots=True)
class TailCut:
    """The pair (level, part / 2^64): a draw is above it if its value is larger, or equal with a tag as large.

    With a = exp(-epsilon), u = 1 - part / 2^64, it is above with probability a^level (u + a - a u) / (1 + a).
    """

    epsilon: Fraction
    level: int
    part: int

    @classmethod
    def leaving(cls, wanted: int, count: int, epsilon: Fraction) -> TailCut:
        """Return a cut that about `wanted` of `count` draws are above; floating point picks it, any would do.

        But for (0, 1/2): a draw is above that with probability 1/2, whose digits no bounds can certify.
        """
        rate = float(epsilon)
        share = min(wanted * (1 + math.exp(-rate)) / count, 1.0)
        level = max(math.floor(-math.log(share) / rate), 0)
        left = min(share * math.exp(rate * level), 1.0)
        upper = (left - math.exp(-rate)) / -math.expm1(-rate)
        part = WHOLE - min(max(math.ceil(upper * WHOLE), 1), WHOLE)
        return cls(epsilon, level, part + (level == 0 and part == WHOLE // 2))

    def probability(self, precision: int) -> Interval:
        """Return bounds of the probability to be above."""
        working = precision + 32
        one, upper = 1 << working, WHOLE - self.part
        a = exp_interval(self.epsilon, working)
        start = exp_interval(self.epsilon * self.level, working) if self.level else (one, one)
        low = start[0] * (upper * one + self.part * a[0]) // (WHOLE * (one + a[1]))
        high = -(-start[1] * (upper * one + self.part * a[1]) // (WHOLE * (one + a[0])))
        return low >> 32, (high >> 32) + 1

    def at_level(self, precision: int) -> Interval:
        """Return bounds of the probability to be at the level, given to be above.

        U (1 - a) / (u + a - a u).
        """
        one, upper = 1 << precision, WHOLE - self.part
        low, high = exp_interval(self.epsilon, precision)
        least = upper * (one - high) * one // (upper * one + self.part * high)
        most = upper * (one - low) * one // (upper * one + self.part * low) + 1
        return max(least, 0), most

    def above(self, values: Counts, tags: Words) -> Mask:
        """Return which draws are above."""
        reached = (values == self.level) & (tags >= np.uint64(self.part))
        return np.asarray((values > self.level) | reached)

    def draws(self, count: int, bits: Bits) -> Draws:
        """Draw `count` values above this cut, with their tags."""
        at = bernoullis(Expansion(self.at_level), count, bits)
        values = np.full(count, self.level, np.int64)
        values[~at] += 1 + geometrics(digit_table(self.epsilon), int(count - at.sum()), bits)
        tags = bits.words(count).copy()
        tags[at] = uniforms(WHOLE - self.part, int(at.sum()), bits) + np.uint64(self.part)
        return values, tags


def uniforms(bound: int, count: int, bits: Bits) -> Words:
    """Draw `count` integers uniform on 0 .. bound - 1, bound at most 2^64."""
    width = (bound - 1).bit_length()
    if not width:
        return np.zeros(count, np.uint64)
    found = np.zeros(0, np.uint64)
    while len(found) < count:
        words = bits.words(count - len(found)) >> np.uint64(64 - width)
        found = np.concatenate((found, words[words <= np.uint64(bound - 1)]))
    return found


def other_places(size: int, seen: Words, count: int, bits: Bits) -> Words:
    """Return `count` different places below `size` that are not seen; every list of them is as likely."""
    found = seen
    while len(found) < len(seen) + count:
        more = np.concatenate((found, uniforms(size, len(seen) + count - len(found), bits)))
        _, first = np.unique(more, return_index=True)
        found = more[np.sort(first)]
    return found[len(seen) :]


def _between(lower: TailCut, upper: TailCut) -> Probability:
    """Return the probability to be above the lower cut, given not to be above the upper one."""

    def bounds(precision: int) -> Interval:
        working = precision + 32
        one = 1 << working
        (low, high), (least, most) = lower.probability(working), upper.probability(working)
        small = max(low - most, 0) * one // (one - least)
        large = -(-(high - least) * one // (one - most))
        return small >> 32, (large >> 32) + 1

    return bounds


def _below(cut: TailCut | None, count: int, draw: Callable[[int], Draws]) -> Draws:
    """Draw until `count` draws are not above a cut, and return those."""
    kept: list[Draws] = [(np.zeros(0, np.int64), np.zeros(0, np.uint64))]
    missing = count
    while missing:
        values, tags = draw(missing)
        if cut is not None:
            inside = ~cut.above(values, tags)
            values, tags = values[inside], tags[inside]
        kept.append((values, tags))
        missing -= len(values)
    return _joined(kept)


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
