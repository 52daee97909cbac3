"""Thresholds of the counter mechanisms, every tail summed on the integers.

Throughout, z0, z1, ... are independent draws of DLap(epsilon), P(z) proportional to a^|z| with
a = exp(-epsilon), and S(m) = P[z >= m]. A published value is kept with >=, so every tail is P[... >= t].
Derivations: docs/proofs/counters/floor.md, "Calibration".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hushcount.noise.laplace import DiscreteLaplace

if TYPE_CHECKING:
    import numpy.typing as npt

SAFETY = 1e-10
"""Every computed tail must stay this much (relatively) below its target: rounding never uses up delta."""

_SMALL = 1e-3  # where k S(v) <= _SMALL four terms of the alternating series leave a relative error of 1e-14
_LARGEST_TABLE = 1 << 22


def floor_threshold(epsilon: float, delta: float) -> int:
    """Least G >= 1 with P[max(1 + z1 - z0, z2 - z0) >= G] <= delta.

    >>> floor_threshold(1.0, 1e-6), floor_threshold(0.1, 1e-6), floor_threshold(2.0, 1e-6)
    (17, 161, 9)
    """
    return _least(lambda threshold: log_floor_tail(epsilon, threshold), delta, start=1)


def pmg_threshold(epsilon: float, delta: float) -> int:
    """Least t >= 1 with P[max(1 + z0 + z1, z0 + z2) >= t] <= delta; z0 is symmetric, so it is G."""
    return floor_threshold(epsilon, delta)


def pmg_paper_threshold(epsilon: float, delta: float) -> int:
    """The threshold printed for geometric noise."""  # Lebeda and Tětek 2023, s5.2
    log_odds = math.log(6) - math.log1p(math.exp(-epsilon)) - math.log(delta)
    return 1 + 2 * math.ceil(log_odds / epsilon)


def standard_threshold(epsilon: float, delta: float, candidates: int) -> int:
    """Least t >= 2 with P[max over j <= candidates of (1 + z0 + zj) >= t] <= delta."""
    # Lebeda and Tětek 2023, s5.1
    return 1 + largest_difference(epsilon, delta, candidates)


def chan_threshold(epsilon: float, delta: float, candidates: int) -> int:
    """Least t >= 2 with 1 - (1 - P[1 + z >= t])^k <= delta, z ~ DLap(epsilon / k), k = candidates."""
    return 1 + _least_tail(DiscreteLaplace(Fraction(epsilon) / candidates), one_of(candidates, delta))


def dpss_margin(epsilon: float, delta: float) -> int:
    """Least m >= 1 with 1 - (1 - S(m))(1 - S(m+1)) <= delta."""
    law = DiscreteLaplace(epsilon)

    def log_tail(margin: int) -> float:
        below, above = float(law.log_tail(margin)), float(law.log_tail(margin + 1))
        return below + math.log1p(math.exp(above - below) - math.exp(above))

    return _least(log_tail, delta, start=1)


def laplace_threshold(epsilon: float, delta: float) -> int:
    """Least t >= 2 with P[1 + z >= t] <= delta."""
    return 1 + _least_tail(DiscreteLaplace(epsilon), delta)


def shard_margin(epsilon: float, delta: float) -> int:
    """Least A >= 1 with S(A) <= delta and S(A + 1) <= delta / 2."""
    law = DiscreteLaplace(epsilon)
    return max(_least_tail(law, delta), _least_tail(law, delta / 2) - 1)


def one_of(draws: int, probability: float) -> float:
    """The p for which an event of probability p happens in one of `draws` trials with `probability`."""
    return -math.expm1(math.log1p(-probability) / draws)


def any_of(draws: int, probability: float) -> float:
    """The probability that an event of `probability` happens in one of `draws` independent trials."""
    return -math.expm1(draws * math.log1p(-probability))


def largest_difference(epsilon: float, probability: float, draws: int) -> int:
    """Least m >= 1 with P[max over j <= draws of (zj - z0) >= m] <= probability."""
    a = math.exp(-epsilon)
    table = math.log(draws / _SMALL / (1 + a)) / epsilon
    if draws == 1 or table > _LARGEST_TABLE:  # the union bound, exact for one draw
        return _least(lambda m: math.log(draws) + log_difference_tail(epsilon, m), probability, start=1)
    return _least(_LargestDifference.of(epsilon, draws).log_tail, probability, start=1)


def log_difference_tail(epsilon: float, least: int) -> float:
    """log P[z1 - z0 >= m] for m >= 0."""
    a, one_minus_a = math.exp(-epsilon), -math.expm1(-epsilon)
    scale = math.log(one_minus_a / (1 + a))
    return scale - epsilon * least + math.log(_difference_bracket(a, one_minus_a, least))


def log_floor_tail(epsilon: float, threshold: int) -> float:
    """log P[max(1 + z1 - z0, z2 - z0) >= G] for G >= 1, in closed form."""
    a, one_minus_a = math.exp(-epsilon), -math.expm1(-epsilon)
    either = _difference_bracket(a, one_minus_a, threshold - 1) / a
    either += _difference_bracket(a, one_minus_a, threshold)
    both = _both_bracket(epsilon, threshold)
    return math.log(one_minus_a / (1 + a)) - epsilon * threshold + math.log(either - both)


def _difference_bracket(a: float, one_minus_a: float, least: int) -> float:
    # P[z1 - z0 >= m] = (1-a)/(1+a) a^m times this
    return (least - a / (1 + a)) / (1 + a) + 1 / one_minus_a


def _both_bracket(epsilon: float, threshold: int) -> float:
    # P[1 + z1 - z0 >= G and z2 - z0 >= G] = (1-a)/(1+a) a^G times this
    a, one_minus_a, one_minus_cube = math.exp(-epsilon), -math.expm1(-epsilon), -math.expm1(-3 * epsilon)
    beyond = 1 / one_minus_a - a / (one_minus_a * (1 + a)) + a**3 / ((1 + a) ** 2 * one_minus_cube)
    between = a * -math.expm1(-epsilon * (threshold - 1)) / one_minus_a + 1
    below = math.exp(-epsilon * (threshold + 2)) / one_minus_cube
    return beyond + (between + below) / (1 + a) ** 2


def _least_tail(law: DiscreteLaplace, probability: float) -> int:
    return _least(lambda m: float(law.log_tail(m)), probability, start=1)


def _least(log_tail: Callable[[int], float], probability: float, start: int) -> int:
    """Least m >= start at which a decreasing tail has come down to `probability`."""
    target = math.log(probability) - SAFETY
    if log_tail(start) <= target:
        return start
    step = 1
    while log_tail(start + step) > target:
        step *= 2
    low, high = start + step // 2, start + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if log_tail(middle) > target else (low, middle)
    return high


@dataclass(frozen=True, slots=True)
class _LargestDifference:
    """The tail of max over j <= k of (zj - z0): the sum over v of P[z0 = v - m] g(v), g = 1 - (1 - S)^k.

    g is tabled for 1 <= v <= V; below, it sums in closed form; above, four terms of its binomial series do.
    """

    epsilon: float
    rising: npt.NDArray[np.float64]  # sum over v <= m of a^-v g(v), m = 0..V
    falling: npt.NDArray[np.float64]  # sum over m < v <= V of a^v g(v), m = 0..V
    series: tuple[float, ...]  # g(v) = sum over j of series[j - 1] a^(j v) for v > V

    @classmethod
    def of(cls, epsilon: float, draws: int) -> _LargestDifference:
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

    def log_tail(self, least: int) -> float:
        """log P[max over j of (zj - z0) >= m], m >= 1."""
        last = len(self.rising) - 1
        inner = min(least, last)
        outer = max(least, last)
        total = float(self.rising[inner])
        total += float(self.falling[inner]) * math.exp(2 * self.epsilon * inner)
        for j, weight in enumerate(self.series, start=1):
            total += weight * self._series_term(j, least, outer, last)
        scale = math.log(-math.expm1(-self.epsilon) / (1 + math.exp(-self.epsilon)))
        return scale - self.epsilon * least + math.log(total)

    def _series_term(self, j: int, least: int, outer: int, last: int) -> float:
        # sum over last < v <= m of a^((j-1) v), plus a^(-2m) sum over v > max(m, last) of a^((j+1) v)
        epsilon = self.epsilon
        beyond = math.exp(-epsilon * ((j + 1) * (outer + 1) - 2 * least)) / -math.expm1(-epsilon * (j + 1))
        if outer == last:
            return beyond
        if j == 1:
            return beyond + (outer - last)
        rate = epsilon * (j - 1)
        between = math.exp(-rate * (last + 1)) * math.expm1(-rate * (outer - last)) / math.expm1(-rate)
        return beyond + between
