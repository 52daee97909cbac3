"""Tails of the largest of several discrete Laplace noises, and of their differences, summed on the integers.

z0, z1, ... are independent draws of DLap(epsilon), P(z) proportional to a^|z| with a = exp(-epsilon), and
S(m) = P[z >= m]. Derivations: docs/proofs/counters/floor.md, "Calibration".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.noise.lattice import both_sides, log_both_sides, smallest_integer

SAFETY = 1e-10
"""Every computed tail must stay this much (relatively) below its target: rounding never uses up delta."""

_SMALL = 1e-3  # while k S(v) <= _SMALL, four terms of the alternating series leave a relative error of 1e-14
_LARGEST_TABLE = 1 << 22

Threshold = TypeVar("Threshold", float, Floats)  # one or many


def one_of(draws: int, probability: float) -> float:
    """Return the p at which one of `draws` independent events of probability p happens with `probability`."""
    return -math.expm1(math.log1p(-probability) / draws)


def any_of(draws: int, probability: float) -> float:
    """Return the probability that some of `draws` independent events of `probability` happens."""
    return -math.expm1(draws * math.log1p(-probability))


def largest_difference(epsilon: float, probability: float, draws: int) -> int:
    """Return the smallest m >= 1 with P[max over j <= draws of (zj - z0) >= m] <= probability."""
    a = math.exp(-epsilon)
    table = math.log(draws / _SMALL / (1 + a)) / epsilon
    if draws == 1 or table > _LARGEST_TABLE:  # the union bound, exact for one draw
        return smallest(lambda m: math.log(draws) + log_difference_tail(epsilon, m), probability, start=1)
    return smallest(_LargestDifference.of(epsilon, draws).log_tail, probability, start=1)


def log_difference_tail(epsilon: float, m: int) -> float:
    """Return log P[z1 - z0 >= m] for m >= 0."""
    a, one_minus_a = math.exp(-epsilon), -math.expm1(-epsilon)
    scale = math.log(one_minus_a / (1 + a))
    return scale - epsilon * m + math.log(_difference_bracket(a, one_minus_a, m))


def difference_tail(epsilon: float, m: Counts) -> Floats:
    """Return P[z1 - z0 >= m] for many whole numbers m of either sign."""
    a, one_minus_a = math.exp(-epsilon), -math.expm1(-epsilon)

    def upper(m: Floats) -> Floats:
        return one_minus_a / (1 + a) * np.exp(-epsilon * m) * _difference_bracket(a, one_minus_a, m)

    return both_sides(upper, m.astype(np.float64))


def log_difference_tails(epsilon: float, m: Counts) -> Floats:
    """Return log P[z1 - z0 >= m] for many whole numbers m of either sign, also where it is a tiny number."""
    a, one_minus_a = math.exp(-epsilon), -math.expm1(-epsilon)

    def log_upper(m: Floats) -> Floats:
        bracket = np.log(_difference_bracket(a, one_minus_a, m))
        return np.asarray(math.log(one_minus_a / (1 + a)) - epsilon * m + bracket)

    return log_both_sides(log_upper, m.astype(np.float64))


def log_floor_tail(epsilon: float, threshold: int) -> float:
    """Return log P[max(1 + z1 - z0, z2 - z0) >= G] for G >= 1, in closed form."""
    a, one_minus_a = math.exp(-epsilon), -math.expm1(-epsilon)
    either = _difference_bracket(a, one_minus_a, threshold - 1) / a
    either += _difference_bracket(a, one_minus_a, threshold)
    both = _both_bracket(epsilon, threshold)
    return math.log(one_minus_a / (1 + a)) - epsilon * threshold + math.log(either - both)


def smallest(log_tail: Callable[[int], float], probability: float, start: int) -> int:
    """Return the smallest m >= start at which a decreasing tail is at most `probability`."""
    target = math.log(probability) - SAFETY
    return smallest_integer(lambda m: m >= start and log_tail(m) <= target)


def _difference_bracket(a: float, one_minus_a: float, m: Threshold) -> Threshold:
    """Return P[z1 - z0 >= m] over (1-a)/(1+a) a^m."""
    return (m - a / (1 + a)) / (1 + a) + 1 / one_minus_a


def _both_bracket(epsilon: float, threshold: int) -> float:
    """Return P[1 + z1 - z0 >= G and z2 - z0 >= G] over (1-a)/(1+a) a^G."""
    a, one_minus_a, one_minus_cube = math.exp(-epsilon), -math.expm1(-epsilon), -math.expm1(-3 * epsilon)
    beyond = 1 / one_minus_a - a / (one_minus_a * (1 + a)) + a**3 / ((1 + a) ** 2 * one_minus_cube)
    between = a * -math.expm1(-epsilon * (threshold - 1)) / one_minus_a + 1
    below = math.exp(-epsilon * (threshold + 2)) / one_minus_cube
    return beyond + (between + below) / (1 + a) ** 2


@dataclass(frozen=True, slots=True)
class _LargestDifference:
    """The tail of max over j <= k of (zj - z0): the sum over v of P[z0 = v - m] g(v), g = 1 - (1 - S)^k.

    g is tabled for 1 <= v <= V. Below, it is summed in closed form; above, by four terms of its series.
    """

    epsilon: float
    rising: Floats  # sum over v <= m of a^-v g(v), m = 0..V
    falling: Floats  # sum over m < v <= V of a^v g(v), m = 0..V
    series: tuple[float, ...]  # g(v) = sum over j of series[j - 1] a^(j v) for v > V

    @classmethod
    def of(cls, epsilon: float, draws: int) -> _LargestDifference:
        """Return the tables for `draws` keys."""
        a = math.exp(-epsilon)
        last = max(1, math.ceil(math.log(draws / _SMALL / (1 + a)) / epsilon))
        v = np.arange(1, last + 1, dtype=np.float64)
        g = -np.expm1(draws * np.log1p(-np.exp(-epsilon * v) / (1 + a)))
        never = math.exp(-draws * (epsilon + math.log1p(a)))  # (a / (1 + a))^draws
        low = -1 / math.expm1(-epsilon) + never / math.expm1(-epsilon * (draws + 1))
        rising = np.concatenate(([low], low + np.cumsum(np.exp(epsilon * v) * g)))
        falling = np.concatenate((np.cumsum((np.exp(-epsilon * v) * g)[::-1])[::-1], [0.0]))
        series = tuple((-1) ** (j + 1) * math.comb(draws, j) / (1 + a) ** j for j in range(1, 5))
        return cls(epsilon, rising, falling, series)

    def log_tail(self, m: int) -> float:
        """Return log P[max over j of (zj - z0) >= m], m >= 1."""
        last = len(self.rising) - 1
        inner = min(m, last)
        outer = max(m, last)
        total = float(self.rising[inner])
        total += float(self.falling[inner]) * math.exp(2 * self.epsilon * inner)
        for j, weight in enumerate(self.series, start=1):
            total += weight * self._series_term(j, m, outer, last)
        scale = math.log(-math.expm1(-self.epsilon) / (1 + math.exp(-self.epsilon)))
        return scale - self.epsilon * m + math.log(total)

    def _series_term(self, j: int, m: int, outer: int, last: int) -> float:
        """Return the sum of a^((j-1) v) over last < v <= m, plus a^(-2m) that of a^((j+1) v) beyond."""
        epsilon = self.epsilon
        beyond = math.exp(-epsilon * ((j + 1) * (outer + 1) - 2 * m)) / -math.expm1(-epsilon * (j + 1))
        if outer == last:
            return beyond
        if j == 1:
            return beyond + (outer - last)
        rate = epsilon * (j - 1)
        between = math.exp(-rate * (last + 1)) * math.expm1(-rate * (outer - last)) / math.expm1(-rate)
        return beyond + between
