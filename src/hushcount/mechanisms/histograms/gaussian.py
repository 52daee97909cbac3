"""The Gaussian sparse histogram: a release of counts of which one unit can change many, all in one direction.

Calibration is done on the integers and in logarithms. Z1, Z2, ... are independent discrete Gaussians and S_j
is the sum of j of them. When j counts change by 1, the privacy loss depends on S_j alone, and at a loss e

    HS_j(e) = sum over S >= a of P[S_j = S] (1 - exp(e - (2 S + j) / (2 sigma^2))), a = ceil(sigma^2 e - j/2).

`log_hockey_stick` bounds it from above by P[S_j = S] <= P[S_j = 0] exp(-S^2 / (2 j sigma^2)).
Derivations: docs/proofs/histograms/gaussian.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hushcount.accounting.charges import Charge, Normal, probability_above
from hushcount.accounting.zcdp import GRAIN, RAISED, first_raised, zcdp_sigma
from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim
from hushcount.mechanisms.histograms.laplace import TOGETHER, ManyKeysMechanism
from hushcount.noise.gaussian import LARGEST_SIGMA, DiscreteGaussian, mills
from hushcount.noise.tails import any_of
from hushcount.privacy import Budget

SAFETY = 1e-8
"""Every computed divergence must stay this much (relatively) below delta: rounding never uses it up."""

RAISES = RAISED[1:]
CERTAIN = 0.95
_WIDE = 3.0  # from this sigma, P[S_j = 0] is bounded in closed form
_BLOCKS = 400  # at most this many numbers of common keys are looked at one by one


class GaussianSparseHistogram(ManyKeysMechanism):
    """Noisy counts of the tracked keys, above a threshold that hides whether a key is tracked at all.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event, or one user (the unit of the shape).
    Assumes: one unit changes at most `moved` counts by 1, all in the same direction.
    Parameters: Z discrete Gaussian(sigma) on each count; threshold t, `sparse_histogram`.
    Proof: docs/proofs/histograms/gaussian.md. Checked by: tests/privacy/test_gaussian.py
    """

    name = "gaussian"
    gaussian = True
    claim = Claim(
        "Gaussian sparse histogram",
        "Gaussian sparse histogram (Lebeda and Tětek 2023, Theorem 23), calibrated on the integers, "
        "is (epsilon, delta)-DP.",
        "docs/proofs/histograms/gaussian.md",
        TOGETHER,
    )
    noise: DiscreteGaussian

    def calibrate(self) -> None:
        """Set the noise of each count, and the threshold for it."""
        found = histogram_for(self.budget, self.needed("moved"))
        self.noise, self.threshold = found.noise, self.lifted(found.threshold)

    def finer_charge(self) -> Charge:
        """Return the curve of the noise, and the probability that an isolated key is published."""
        return gaussian_charge(self.noise, self.needed("moved"), self.threshold - max(self.least_value, 1))


def gaussian_charge(noise: DiscreteGaussian, moved: int, hidden: int) -> Charge:
    """Return the charge of this noise on `moved` counts; an isolated key shows if its noise is `hidden`."""
    isolated = any_of(moved, float(noise.tail(hidden)))
    return Charge(probability_above(isolated), (Normal(noise.exact_sigma**2, moved),))


@dataclass(frozen=True, slots=True)
class SparseHistogram:
    """Noise sigma and the threshold t: counts are published where count + Z >= t."""

    sigma: float
    threshold: int

    @property
    def noise(self) -> DiscreteGaussian:
        """The distribution of the noise."""
        return DiscreteGaussian(self.sigma)

    @property
    def reliable(self) -> int:
        """The smallest count that is published with probability 0.95."""
        return self.threshold + self.noise.least_tail(1 - CERTAIN) - 1


def histogram_for(budget: Budget, moved: int) -> SparseHistogram:
    """Return the sigma and t for a budget; of one in rho, sigma is the smallest that rho allows.

    The noise of a rho has a smaller divergence than delta at its epsilon, and what is left hides keys.
    """
    epsilon, delta, rho = budget.epsilon, budget.delta, budget.rho
    if rho is None:
        return sparse_histogram(epsilon, delta, moved)
    least = zcdp_sigma(rho, moved)
    check_sigma(least, moved)
    return first_raised(budget, least, lambda one: calibrated(epsilon, delta, moved, rounded_up(one)))


def check_sigma(sigma: float, moved: int) -> None:
    """Raise if noise of this sigma, which a budget in rho asks for, cannot be drawn."""
    if sigma > LARGEST_SIGMA:
        raise ParameterError(
            f"rho is too small for {moved} counts that change together: sigma would exceed {LARGEST_SIGMA:g}."
        )


@lru_cache(maxsize=256)
def sparse_histogram(epsilon: float, delta: float, moved: int) -> SparseHistogram:
    """Return the sigma and t that publish the smallest counts, if up to `moved` counts change by 1 together.

    >>> sparse_histogram(1.0, 1e-6, 1).threshold
    22
    """
    least = least_sigma(epsilon, delta, moved)
    tried = [calibrated(epsilon, delta, moved, rounded_up(least * raised)) for raised in RAISES]
    found = [one for one in tried if one is not None]
    if not found:  # delta is so large beside epsilon that the bounds say nothing: half of it is enough
        return sparse_histogram(epsilon, delta / 2, moved)
    return min(found, key=lambda one: (one.reliable, one.sigma))


def least_sigma(epsilon: float, delta: float, moved: int) -> float:
    """Return a sigma below which `moved` common keys alone exceed delta, up to the ripple of the lattice."""
    low, high = 1e-2, 1.0
    while _divergence(moved, epsilon, high) > delta:
        low, high = high, 2 * high
        if high > LARGEST_SIGMA:
            raise ParameterError(
                f"epsilon is too small for {moved} counts that change together: sigma would exceed"
                f" {LARGEST_SIGMA:g}, got {epsilon:g}."
            )
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _divergence(moved, epsilon, middle) > delta else (low, middle)
    return high


def calibrated(epsilon: float, delta: float, moved: int, sigma: float) -> SparseHistogram | None:
    """Return the smallest threshold for which this sigma is private, or None if there is none."""
    spare = delta * (1 - SAFETY)
    common, first = blocks(moved)
    left = spare - np.exp(log_hockey_stick(common, epsilon, sigma))
    if left.min() <= 0:
        return None
    isolated = moved - first  # of each block the most isolated keys, and the most common ones
    some = isolated > 0
    each = -np.expm1(np.log1p(-left[some]) / isolated[some])
    threshold = 1 + DiscreteGaussian(sigma).least_tail(float(each.min()) * (1 - SAFETY))
    hidden = moved * math.log1p(-float(DiscreteGaussian(sigma).tail(threshold - 1)))
    if _divergence(moved, epsilon + hidden, sigma) > spare:
        return None
    return SparseHistogram(sigma, threshold)


def blocks(moved: int, most: int = _BLOCKS) -> tuple[Floats, Floats]:
    """Return numbers of common keys 0..moved in blocks: the last and first of each, finest near `moved`."""
    isolated = np.unique(np.round(np.geomspace(1, moved, most)))  # of the first in each block
    first = np.concatenate((moved - isolated[::-1], [float(moved)]))
    first[0] = 0.0
    last = np.concatenate((first[1:] - 1, [float(moved)]))
    return last, first


def log_hockey_stick(common: Floats, epsilon: float, sigma: float) -> Floats:
    """Return an upper bound of log HS_j(epsilon) for many j, exact for j = 1; -inf for j = 0."""
    start = np.ceil(sigma**2 * epsilon - common / 2)
    result = np.where(common > 0, 0.0, -np.inf)  # no divergence exceeds 1
    some = (common > 0) & (start > 0)
    j, a = common[some], start[some]
    spread = sigma * np.sqrt(j)
    step = epsilon - (2 * a + j) / (2 * sigma**2)  # at most 0, up to rounding
    excess = mills(a, spread) - np.exp(step) * mills(a + j, spread)
    with np.errstate(divide="ignore"):
        log_excess = np.log(np.maximum(excess, 0.0))
    result[some] = np.minimum(log_peak(j, sigma) - a * a / (2 * spread**2) + log_excess, 0.0)
    return result


def log_peak(common: Floats, sigma: float) -> Floats:
    """Return an upper bound of log P[S_j = 0] for many j."""
    if sigma < _WIDE:
        return np.array([math.log(_peak(int(j), sigma)) for j in common])
    near = np.expm1(2.001 * common * math.exp(-((math.pi * sigma) ** 2) / 2))
    spread = math.sqrt(2 * math.pi) * sigma * np.sqrt(common)
    far = spread / 4 * np.exp(common * (0.01 - 9 * (math.pi * sigma) ** 2 / 32))
    return np.asarray(np.log1p(near + far) - np.log(spread))


def _peak(common: int, sigma: float) -> float:
    """Return the mean of the characteristic function of S_j over N angles: P[S_j is a multiple of N]."""
    angles = 64 + math.ceil(20 * sigma * math.sqrt(common))
    z = np.arange(1, 3 + math.ceil(9 * sigma))
    weights = np.exp(-z * z / (2 * sigma**2))
    waves = np.cos(np.outer(np.arange(angles) * (2 * math.pi / angles), z)) @ weights
    each = (1 + 2 * waves) / (1 + 2 * weights.sum())
    return float(np.mean(np.maximum(each, 0.0) ** common))


def _divergence(common: int, epsilon: float, sigma: float) -> float:
    """Return an upper bound of HS for one number of common keys."""
    return float(np.exp(log_hockey_stick(np.array([float(common)]), epsilon, sigma)[0]))


def rounded_up(sigma: float) -> float:
    """Return sigma rounded up to a multiple of 1 / GRAIN."""
    return math.ceil(sigma * GRAIN) / GRAIN
