"""Noise and thresholds of releases of keys without counts, from public numbers alone.

A user of s remaining keys adds the weight w(s) = isqrt(UNIT^2 // s) to each of them, so that the squares of
one user's weights add up to UNIT^2 at most. Discrete Gaussian noise of sigma that hides a vector of a length
costs no more than Gaussian noise at mu = (1 + 1 / (12 sigma^2)) length / sigma.
Proof: docs/proofs/keys/selection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.accounting.charges import Charge, Normal, probability_above
from hushcount.accounting.zcdp import first_raised, zcdp_sigma
from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.noise.gaussian import LARGEST_SIGMA, DiscreteGaussian, gaussian_delta
from hushcount.noise.lattice import smallest_integer
from hushcount.noise.tails import one_of
from hushcount.privacy import Budget

UNIT = 1024
SAFETY = 1e-8  # every divergence stays this much (relatively) below its share: rounding never uses it up


@dataclass(frozen=True, slots=True)
class KeyRound:
    """One look at the weights: noise, the noisy weight that is published, and below which a key leaves.

    A key whose noisy weight reaches `threshold` is published and leaves all sets. One below `cut` leaves all
    sets unpublished. The others stay for the next round.
    """

    sigma: float
    threshold: int
    cut: int | None = None

    @property
    def noise(self) -> DiscreteGaussian:
        """The distribution of the noise on each weight."""
        return DiscreteGaussian(self.sigma)


@dataclass(frozen=True, slots=True)
class Shares:
    """How rounds share a budget: mu^2, the delta of isolated keys, and the part of delta for common keys."""

    squares: tuple[int, ...]
    isolated: tuple[int, ...]
    common: float
    cut: float | None = None


ALONE = Shares((1,), (1,), 1.0)
SIPS = Shares((1, 9), (1, 2), 0.5)
STEERED = Shares((1, 2), (1, 4), 0.7, 1.5)


def weights(largest: int, unit: int = UNIT) -> Counts:
    """Return w(1), ..., w(largest).

    >>> weights(10)[[0, 1, 9]].tolist()
    [1024, 724, 323]
    """
    return np.array([math.isqrt(unit * unit // size) for size in range(1, largest + 1)], np.int64)


def mu_of(length: Floats | float, sigma: float) -> Floats:
    """Return the mu of noise that hides vectors of a length."""
    return np.asarray(length) * (1 + 1 / (12 * sigma**2)) / sigma


def largest_mu(epsilon: float, delta: float) -> float:
    """Return a mu at which the divergence is at most delta, and nearly delta."""
    low, high = 0.0, 1.0
    while gaussian_delta(np.array(high), epsilon) < delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(np.array(middle), epsilon) <= delta else (low, middle)
    return low


def least_sigma(mu: float, unit: int, grain: int = 1) -> float:
    """Return the smallest multiple of 1 / grain that hides a vector of length `unit` at this mu."""
    if not unit / mu <= LARGEST_SIGMA / 2:
        raise ParameterError(f"epsilon is too small: sigma would exceed {LARGEST_SIGMA:g}.")
    steps = smallest_integer(lambda n: n >= grain and float(mu_of(unit, n / grain)) <= mu)
    return steps / grain


def hiding(noise: DiscreteGaussian, added: Counts, tails: Floats) -> int:
    """Return the smallest threshold at which each added weight is shown with at most its probability."""

    def hides(threshold: int) -> bool:
        return bool((np.asarray(noise.tail(threshold - added)) <= tails * (1 - SAFETY)).all())

    return smallest_integer(hides)


@lru_cache(maxsize=64)
def one_round(epsilon: float, delta: float, largest: int, unit: int = UNIT) -> tuple[KeyRound, ...]:
    """Return the noise and threshold if all is spent in one round.

    For every set of s keys of which i are isolated, the divergence of the s - i common ones and the
    probability that an isolated one is shown add up to delta at most.

    >>> one_round(1.0, 1e-6, 1000)
    (KeyRound(sigma=4327.0, threshold=25986, cut=None),)
    """
    spare = delta * (1 - SAFETY)
    sigma, added = least_sigma(largest_mu(epsilon, spare), unit), weights(largest, unit)
    tails = np.empty(largest)
    for size in range(1, largest + 1):
        isolated = np.arange(1, size + 1)
        lengths = float(added[size - 1]) * np.sqrt(size - isolated)
        left = spare - gaussian_delta(mu_of(lengths, sigma), epsilon)
        tails[size - 1] = (-np.expm1(np.log1p(-left) / isolated)).min()
    return (KeyRound(sigma, hiding(DiscreteGaussian(sigma), added, tails)),)


@lru_cache(maxsize=64)
def several_rounds(
    epsilon: float, delta: float, largest: int, shares: Shares, unit: int = UNIT
) -> tuple[KeyRound, ...]:
    """Return noise, thresholds and cuts of rounds that share a budget.

    >>> [one.threshold for one in several_rounds(1.0, 1e-6, 1000, STEERED)]
    [49114, 33588]
    """
    total = largest_mu(epsilon, shares.common * delta * (1 - SAFETY))
    grain = 1 if unit == UNIT else 32
    sigmas = [
        least_sigma(total * math.sqrt(square / sum(shares.squares)), unit, grain) for square in shares.squares
    ]
    return _rounds(sigmas, shares, (1 - shares.common) * delta, weights(largest, unit))


def _rounds(sigmas: list[float], shares: Shares, isolated: float, added: Counts) -> tuple[KeyRound, ...]:
    """Return rounds of this noise that show an isolated key with the probability `isolated` in all."""
    rounds, last = [], len(sigmas) - 1
    for place, (sigma, share) in enumerate(zip(sigmas, shares.isolated, strict=True)):
        part = isolated * share / sum(shares.isolated)
        tails = np.array([one_of(size, part) for size in range(1, len(added) + 1)])
        threshold = hiding(DiscreteGaussian(sigma), added, tails)
        cut = None if shares.cut is None or place == last else math.floor(shares.cut * sigma)
        rounds.append(KeyRound(sigma, threshold, cut))
    return tuple(rounds)


@lru_cache(maxsize=64)
def rounds_in_rho(budget: Budget, largest: int, shares: Shares, unit: int = UNIT) -> tuple[KeyRound, ...]:
    """Return noise, thresholds and cuts of rounds that share a rho; isolated keys get what is left of delta.

    What is left is delta less the divergence of all rounds at the epsilon of the budget.
    """
    rho, whole = budget.rho or 0.0, sum(shares.squares)
    if not zcdp_sigma(rho, whole * unit**2) <= LARGEST_SIGMA / 2:
        raise ParameterError(f"rho is too small: sigma would exceed {LARGEST_SIGMA:g}.")

    def calibrated(raised: float) -> tuple[KeyRound, ...] | None:
        sigmas = [
            float(math.ceil(raised * zcdp_sigma(rho, Fraction(whole * unit**2, square))))
            for square in shares.squares
        ]
        length = math.sqrt(sum(float(mu_of(unit, sigma)) ** 2 for sigma in sigmas))
        left = budget.delta * (1 - SAFETY) - float(gaussian_delta(np.array(length), budget.epsilon))
        return _rounds(sigmas, shares, left, weights(largest, unit)) if left > 0 else None

    return first_raised(budget, 1.0, calibrated)


def rounds_charge(rounds: tuple[KeyRound, ...], largest: int, unit: int = UNIT) -> Charge:
    """Return the curve of all rounds, and the probability that one of them shows an isolated key."""
    sizes, added = np.arange(1, largest + 1), weights(largest, unit)
    shown = [-np.expm1(sizes * np.log1p(-one.noise.tail(one.threshold - added))) for one in rounds]
    curves = tuple(Normal(one.noise.exact_sigma**2, unit**2) for one in rounds)
    return Charge(probability_above(math.fsum(float(each.max()) for each in shown)), curves)
