"""Noise and threshold of the floor release of several levels at once.

One event changes the number of events, and at each of `height` levels below the root it leaves the pair of
sketches in one of the states S1 to S6. With j levels in which a count or the floor changes,

    HS <= HS_(1+j)(epsilon) + j P[1 + z1 - z0 >= G] + (height - j) P[max(1 + z1 - z0, z2 - z0) >= G],

HS_i the divergence of i counts that change by 1.

For discrete Laplace noise the HS_i are exact, because the privacy loss of one count has only two values. Let
Z be DLap(rate) on the integers, a = exp(-rate). The loss log P[Z = z] - log P[Z = z + 1] is +rate for z >= 0,
with probability 1 / (1 + a), and -rate for z < 0. So the loss of several counts that each change by 1, with
independent noise, is binomial. Derivations: docs/proofs/hierarchy/streaming.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hushcount.accounting.charges import Normal, Response
from hushcount.accounting.zcdp import first_raised, zcdp_sigma
from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError
from hushcount.mechanisms.histograms import gaussian
from hushcount.noise import tails
from hushcount.noise.gaussian import DiscreteGaussian, mills
from hushcount.noise.laplace import LEAST_EPSILON, DiscreteLaplace
from hushcount.noise.lattice import smallest_integer
from hushcount.privacy import Budget

# Shares of delta for the counts that change; the rest hides isolated keys.
SHARES = tuple(np.geomspace(0.01, 0.98, 24).tolist())
_ROOT_TWO = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class LaplaceLevels:
    """z ~ DLap(rate); everything here is exact."""

    rate: float

    @property
    def distribution(self) -> DiscreteLaplace:
        """The distribution of each noise."""
        return DiscreteLaplace(self.rate)

    @property
    def words(self) -> str:
        """The noise, and how the levels are composed, in words."""
        return f"discrete Laplace of rate {self.rate:g}, levels composed exactly"

    def curve(self, counts: int) -> Response:
        """Return the Rényi divergences of so many counts that change by 1."""
        return Response(self.distribution.exact_epsilon, counts)

    def divergences(self, most: int, epsilon: float) -> Floats:
        """Return HS_1, ..., HS_most."""
        return laplace_divergences(most, self.rate, epsilon)[1:]

    def difference_tail(self, least: int) -> float:
        """Return P[z1 - z0 >= least]."""
        return math.exp(tails.log_difference_tail(self.rate, least)) if least > 0 else 1.0

    def isolated_tail(self, threshold: int) -> float:
        """Return P[max(1 + z1 - z0, z2 - z0) >= threshold]."""
        return math.exp(tails.log_floor_tail(self.rate, threshold))


@dataclass(frozen=True, slots=True)
class GaussianLevels:
    """z ~ discrete Gaussian(sigma); P[z1 - z0 = s] <= P[z1 = z0] exp(-s^2 / (4 sigma^2))."""

    sigma: float

    @property
    def distribution(self) -> DiscreteGaussian:
        """The distribution of each noise."""
        return DiscreteGaussian(self.sigma)

    @property
    def words(self) -> str:
        """The noise, and how the levels are composed, in words."""
        return f"discrete Gaussian of sigma {self.sigma:g}, levels composed on the integers"

    def curve(self, counts: int) -> Normal:
        """Return the Rényi divergences of so many counts that change by 1."""
        return Normal(self.distribution.exact_sigma**2, counts)

    def divergences(self, most: int, epsilon: float) -> Floats:
        """Return bounds above HS_1, ..., HS_most."""
        return np.exp(gaussian.log_hockey_stick(np.arange(1.0, most + 1), epsilon, self.sigma))

    def difference_tail(self, least: int) -> float:
        """Return a bound above P[z1 - z0 >= least] (docs/proofs/histograms/gaussian.md, section 3)."""
        if least < 1:
            return 1.0
        first, spread = np.array([float(least)]), np.array([_ROOT_TWO * self.sigma])
        log_first = gaussian.log_peak(np.array([2.0]), self.sigma) - (first / (2 * self.sigma)) ** 2
        return min(1.0, float((np.exp(log_first) * mills(first, spread))[0]))

    def isolated_tail(self, threshold: int) -> float:
        """Return a bound above P[max(1 + z1 - z0, z2 - z0) >= threshold]: the sum over both."""
        return self.difference_tail(threshold - 1) + self.difference_tail(threshold)


LevelNoise = LaplaceLevels | GaussianLevels
"""The noise of every floor and count, with what the calibration asks of it."""


@dataclass(frozen=True, slots=True)
class CalibratedLevels:
    """The noise, and the smallest height above the noisy floor at which a node of a level is published."""

    noise: LevelNoise
    threshold: int


def levels_for(budget: Budget, height: int) -> CalibratedLevels:
    """Return the noise and threshold for a budget; for one in rho, the smallest Gaussian noise it allows."""
    if budget.rho is None:
        return calibrated_levels(budget.epsilon, budget.delta, height)
    least = zcdp_sigma(budget.rho, height + 1)
    gaussian.check_sigma(least, height + 1)

    def calibrated(sigma: float) -> CalibratedLevels | None:
        noise = GaussianLevels(gaussian.rounded_up(sigma))
        threshold = least_threshold(noise, budget.epsilon, budget.delta, height)
        return None if threshold is None else CalibratedLevels(noise, threshold)

    return first_raised(budget, least, calibrated)


@lru_cache(maxsize=256)
def calibrated_levels(epsilon: float, delta: float, height: int) -> CalibratedLevels:
    """Return the noise with the lowest threshold G for a hierarchy of this height; of equals, the weakest.

    >>> found = calibrated_levels(1.0, 1e-6, 31)
    >>> found.threshold, found.noise.distribution
    (195, DiscreteGaussian(sigma=24.28125))
    """
    _check_range(epsilon, height)
    found = [
        CalibratedLevels(noise, threshold)
        for noise in _tried(epsilon, delta, height)
        if (threshold := least_threshold(noise, epsilon, delta, height)) is not None
    ]
    return min(found, key=lambda one: (one.threshold, one.noise.distribution.variance))


def _check_range(epsilon: float, height: int) -> None:
    """Raise if the noise cannot be drawn."""
    least = 2 * (height + 1) * LEAST_EPSILON
    if epsilon < least:
        raise ParameterError(
            f"epsilon must be at least {least:g} for a streaming tree of height {height}, got {epsilon:g}."
        )


def least_threshold(noise: LevelNoise, epsilon: float, delta: float, height: int) -> int | None:
    """Return the smallest G >= 1 for which this noise is private, or None if there is none."""
    target = delta * (1 - gaussian.SAFETY)
    moved = noise.divergences(height + 1, epsilon)
    if moved.max() >= target:
        return None
    return smallest_integer(lambda least: least >= 1 and spent(noise, moved, least) <= target)


def spent(noise: LevelNoise, moved: Floats, threshold: int) -> float:
    """Return the largest bound over all numbers j of levels that change.

    `moved` is HS_1, ..., HS_(1+height).
    """
    j = np.arange(len(moved))
    one, two = noise.difference_tail(threshold - 1), noise.isolated_tail(threshold)
    return float((moved + j * one + j[::-1] * two).max())


def above_zero(levels: CalibratedLevels) -> int:
    """Return the smallest count that is published where the floor is publicly 0.

    P[1 + z >= G0] is at most what P[1 + z1 - z0 >= G] was taken for.

    >>> above_zero(calibrated_levels(1.0, 1e-6, 31))
    139
    """
    target = levels.noise.difference_tail(levels.threshold - 1) * (1 - gaussian.SAFETY)
    return 1 + max(levels.noise.distribution.least_tail(target), 1)


def _tried(epsilon: float, delta: float, height: int) -> Iterator[LevelNoise]:
    """Yield basic composition (which nothing can refuse), then both distributions over a range of scales."""
    moved = height + 1
    yield LaplaceLevels(rounded_down(epsilon / moved))
    for share in SHARES:
        yield LaplaceLevels(largest_rate(moved, epsilon, share * delta))
    try:
        least = gaussian.least_sigma(epsilon, delta, moved)
    except ParameterError:  # an epsilon so small that Laplace noise alone can be drawn
        return
    for raised in gaussian.RAISES:
        yield GaussianLevels(gaussian.rounded_up(least * raised))


def laplace_divergences(most: int, rate: float, epsilon: float) -> Floats:
    """Return HS at epsilon of 0, 1, ..., `most` counts that each change by 1 under independent DLap(rate).

    >>> laplace_divergences(2, 0.5, 1.0).tolist()
    [0.0, 0.0, 0.0]
    """
    steps = np.arange(most + 1)[:, None]
    ups = np.arange(most + 1)[None, :]
    loss = (2 * ups - steps) * rate
    excess = np.where(ups <= steps, -np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)
    return np.asarray((np.exp(_log_binomial(most, rate)) * excess).sum(axis=1))


def largest_rate(steps: int, epsilon: float, delta: float) -> float:
    """Return the largest rate up to epsilon (of 40 bits) at which `steps` counts may change by 1.

    >>> largest_rate(4, 1.0, 0.0)
    0.25
    """
    low, high = rounded_down(epsilon / steps), epsilon
    while high - low > low * 2.0**-36:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if laplace_divergences(steps, middle, epsilon)[-1] > delta else (middle, high)
        )
    return rounded_down(low)


def rounded_down(rate: float) -> float:
    """Return a rate with 40 binary digits: a few of them add up without rounding."""
    mantissa, exponent = math.frexp(rate)
    return math.ldexp(math.floor(math.ldexp(mantissa, 40)), exponent - 40)


def _log_binomial(most: int, rate: float) -> Floats:
    """Return log P[ups of steps] in row `steps`, column `ups`; only columns up to `steps` mean anything."""
    factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, most + 1)))))
    steps, ups = np.arange(most + 1)[:, None], np.arange(most + 1)[None, :]
    downs = np.maximum(steps - ups, 0)
    ways = factorial[steps] - factorial[ups] - factorial[downs]
    return np.asarray(ways - steps * math.log1p(math.exp(-rate)) - downs * rate)
