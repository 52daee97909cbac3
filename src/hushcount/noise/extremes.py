"""The largest of very many discrete Laplace draws, exact, without drawing the others.

Every draw carries a tag, uniform on [0, 1), that breaks ties. A cut (level, part) splits the draws into those
at or above (level, part / 2^64) and the rest; how many lie above is binomial, and given that, they are
independent draws of the distribution above the cut. Proof: docs/proofs/histograms/pure.md, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushcount.compiled.arrays import Counts, Mask, Words
from hushcount.noise.binomial import Probability, binomial
from hushcount.noise.bits import Bits
from hushcount.noise.expansions import Expansion, Interval, bernoullis, exp_interval
from hushcount.noise.laplace import DiscreteLaplace, digit_table, geometrics

WHOLE = 1 << 64  # tags have 64 bits; a further tie is for the caller to break

Draws = tuple[Counts, Words]


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
        more = lower.draws(found, cut, bits)
        values, tags = np.concatenate((values, more[0])), np.concatenate((tags, more[1]))
        cut, wanted = lower, 2 * wanted
        if 2 * wanted > count and len(values) < least:  # the rest are few: draw them one by one
            rest = _below(cut, count - len(values), lambda missing: all_draws(missing, epsilon, bits))
            return np.concatenate((values, rest[0])), np.concatenate((tags, rest[1]))
    return values, tags


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

    def draws(self, count: int, below: TailCut | None, bits: Bits) -> Draws:
        """Draw `count` values above this cut, but not above a higher one."""
        return _below(below, count, lambda missing: self._draws(missing, bits))

    def above(self, values: Counts, tags: Words) -> Mask:
        """Return which draws are above."""
        reached = (values == self.level) & (tags >= np.uint64(self.part))
        return np.asarray((values > self.level) | reached)

    def _draws(self, count: int, bits: Bits) -> Draws:
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
    return np.concatenate([value for value, _ in kept]), np.concatenate([tag for _, tag in kept])
