"""Closed forms of the baselines of Cohen et al. 2021: the stability histogram, and the same sampled
afterwards.

Continuous Laplace noise as in the paper, for comparison and tests; nothing here releases anything. The
release is LaplaceThreshold (mechanisms/exact.py), on the integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hushcount.privacy import Budget

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StabilityHistogram:
    """Counts plus Laplace noise, published from T = 1 + ln(1/delta)/epsilon on."""

    # Cohen et al. 2021, Alg 6

    budget: Budget

    @property
    def threshold(self) -> float:
        """T, above which a noisy count is published."""
        return 1 + math.log(1 / self.budget.delta) / self.budget.epsilon

    def reporting(self, counts: npt.ArrayLike) -> Floats:
        """The probability to publish a key of each count."""  # Cohen et al. 2021, (49)
        away = self.budget.epsilon * (np.asarray(counts, dtype=np.float64) - self.threshold)
        return np.where(away >= 0, 1 - np.exp(-np.abs(away)) / 2, np.exp(-np.abs(away)) / 2)

    def expectation(self, counts: npt.ArrayLike) -> Floats:
        """The expected published count, 0 when not published; sampling does not change it."""
        # Cohen et al. 2021, (47)
        i, t, e = np.asarray(counts, dtype=np.float64), self.threshold, self.budget.epsilon
        decay = np.exp(-e * np.abs(i - t)) / 2
        return np.where(i > t, i - decay * (t - 1 / e), decay * (t + 1 / e))

    def mean_square(self, counts: npt.ArrayLike) -> Floats:
        """The mean squared error of the published count, 0 when not published."""  # Cohen et al. 2021, (50)
        i, t, e = np.asarray(counts, dtype=np.float64), self.threshold, self.budget.epsilon
        decay = np.exp(-e * np.abs(i - t))
        above = 2 / e**2 - decay * (t**2 / 2 - i * t + (i - t) / e + 1 / e**2)
        below = i**2 + decay * (t**2 / 2 - i * t - (i - t) / e + 1 / e**2)
        return np.where(i > t, above, below)


@dataclass(frozen=True, slots=True)
class SampledStabilityHistogram:
    """The stability histogram, then ppswor of the noisy counts with f(w) = w."""

    budget: Budget
    rate: float

    def reporting(self, counts: npt.ArrayLike) -> Floats:
        """The probability to publish a key of each count."""  # Cohen et al. 2021, (51)
        i = np.asarray(counts, dtype=np.float64)
        t, e, r = StabilityHistogram(self.budget).threshold, self.budget.epsilon, self.rate
        kept = np.exp(-e * np.abs(i - t)) / 2
        below = kept * (1 - e / (e + r) * math.exp(-t * r))
        if e == r:
            middle = -e * np.maximum(i - t, 0.0) * np.exp(-e * i) / 2
        else:
            middle = e / (2 * (e - r)) * (2 * kept * math.exp(-r * t) - np.exp(-r * i))
        return np.where(i > t, 1 - kept - e / (2 * (e + r)) * np.exp(-r * i) + middle, below)

    def mean_square(self, counts: npt.ArrayLike) -> Floats:
        """The mean squared error of the inverse-probability estimate of the count."""
        # Cohen et al. 2021, (48)
        i = np.asarray(counts, dtype=np.float64)
        expected = StabilityHistogram(self.budget).expectation(i)
        return i**2 - 2 * i * expected + self._second_moment(i)

    def _second_moment(self, counts: Floats) -> Floats:
        t, e, r = StabilityHistogram(self.budget).threshold, self.budget.epsilon, self.rate
        return np.array([_integral(lambda j: j**2 / -np.expm1(-r * j), float(i), t, e) for i in counts])


@dataclass(frozen=True, slots=True)
class PrioritySampledStabilityHistogram:
    """The stability histogram, then Poisson PPS of the noisy counts with f(w) = w."""

    budget: Budget
    rate: float

    def reporting(self, counts: npt.ArrayLike) -> Floats:
        """The probability to publish a key of each count."""  # Cohen et al. 2021, G.3
        histogram = StabilityHistogram(self.budget)
        t, e, r = histogram.threshold, self.budget.epsilon, self.rate
        if t >= 1 / r:
            return histogram.reporting(counts)
        i = np.asarray(counts, dtype=np.float64)
        start, end = np.exp(-e * np.abs(i - t)), np.exp(-e * np.abs(i - 1 / r))
        low = r / 2 * ((t + 1 / e) * start - end / e)
        middle = r * (i - end / (2 * e) - (t - 1 / e) * start / 2)
        high = 1 - r / (2 * e) * end - r / 2 * (t - 1 / e) * start
        return np.where(i <= t, low, np.where(i < 1 / r, middle, high))


def _integral(weight: Callable[[Floats], Floats], count: float, start: float, epsilon: float) -> float:
    """Integral over j >= start of weight(j) times the Laplace density at j - count, by Gauss's rules."""
    nodes, weights = np.polynomial.laguerre.laggauss(64)
    legendre, legendre_weights = np.polynomial.legendre.leggauss(64)
    turn = max(count, start)
    beyond = turn + nodes / epsilon
    total = float(weights @ weight(beyond)) * math.exp(-epsilon * (turn - count)) / 2
    if count <= start:
        return total
    cuts = np.linspace(start, count, max(2, math.ceil(epsilon * (count - start) / 4) + 1))
    for low, high in pairwise(cuts.tolist()):
        points = (high + low) / 2 + (high - low) / 2 * legendre
        density = epsilon / 2 * np.exp(-epsilon * (count - points))
        total += float((high - low) / 2 * (legendre_weights @ (weight(points) * density)))
    return total
