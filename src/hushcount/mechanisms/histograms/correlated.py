"""The correlated sparse histogram: counts of a sketch that share one part of their noise.

Calibration is done on the integers, in half units: counts are doubled, so that a release is a function of
integers which each change by 1. `own` is the sigma of the noise of each count and `shared` that of the noise
which all counts share. S_d is the sum of d own noises, of which P[S_d = S] exp(-(2 S + d) / (2 own^2)) is
P[S_d = S + d]. If d counts and the shared noise change by 1 together,

    H_d = sum over n of P[N0 = n] HS_d(epsilon - (1 + 2 n) / (2 shared^2)),
    HS_d(e) = P[S_d >= a] - exp(e) P[S_d >= a + d], a = ceil(own^2 e - d / 2).

Derivations: docs/proofs/histograms/correlated.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.accounting.charges import Charge, Normal, probability_above
from hushcount.accounting.decimals import number
from hushcount.accounting.zcdp import GRAIN, first_raised
from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.base import Claim
from hushcount.mechanisms.histograms.gaussian import CERTAIN, SAFETY, blocks, check_sigma, rounded_up
from hushcount.mechanisms.histograms.laplace import TOGETHER, ManyKeysMechanism, left_out
from hushcount.mechanisms.intervals import EstimateError
from hushcount.noise.bits import Bits
from hushcount.noise.gaussian import LARGEST_SIGMA, DiscreteGaussian, GaussianSum
from hushcount.noise.lattice import LEAST_PROBABILITY, smallest_integer
from hushcount.privacy import Budget
from hushcount.shapes import LimitedKeys, ManyKeys, Public, Shape

LEAST_OWN = 2.0  # from this sigma, S_d is discrete Gaussian of sigma own sqrt(d) but for a relative 2e-17 d
RAISES = (1.0005, 1.001, 1.002, 1.004, 1.008, 1.016, 1.032, 1.064)
BLOCKS = 100  # at most this many numbers of common keys are looked at one by one
CELLS = 1 << 13  # at most this many values of the shared noise are looked at one by one
BEYOND = 1e-12  # of delta: the mass of the shared noise that is not added up


class CorrelatedSparseHistogram(ManyKeysMechanism):
    """Noisy counts of the stored keys, with one noise for each and one that all share, above a threshold.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event, or one user (the unit of the shape).
    Assumes: at most `candidates` keys are stored on either side, none of count 0; one unit changes counts by
        1, all in the same direction; so keys that only one side stores have the count 1 and are all on the
        same side.
    Parameters: discrete Gaussians `own` on each doubled count and `shared` on all of them; threshold t on the
        halves, `correlated_noise`.
    Proof: docs/proofs/histograms/correlated.md. Checked by: tests/privacy/test_correlated.py
    """

    name = "correlated"
    gaussian = True
    accepts = (LimitedKeys,)
    needs = ("moved", "candidates")
    claim = Claim(
        "correlated sparse histogram",
        "Correlated sparse histogram (Lebeda and Retschmeier 2024), calibrated on the integers, is"
        " (epsilon, delta)-DP.",
        "docs/proofs/histograms/correlated.md",
        (*TOGETHER, "at most `candidates` keys are stored, none of count 0"),
    )

    @classmethod
    def check_kind(cls, kind: type[Shape]) -> None:
        """Raise unless summaries of this type store no more keys than one unit can change."""
        if issubclass(kind, ManyKeys) and not issubclass(kind, LimitedKeys):
            raise NotProvedError(
                "correlated is proved for sketches that store a limited number of keys, not for exact counts,"
                ' which may store any number; use mechanism="gaussian".'
            )
        super().check_kind(kind)

    def calibrate(self) -> None:
        """Set both noises, and the threshold for them."""
        found = correlated_for(self.budget, self.needed("candidates"))
        self.sum, self.threshold = found.sum, found.threshold
        self.own, self.shared = found.sum.parts

    def finer_charge(self) -> Charge:
        """Return the curves of both noises, and the probability that an isolated key is published."""
        stored = self.needed("candidates")
        isolated = shown(np.array([float(stored)]), 2 * self.threshold, self.sum, self.budget.delta)
        own, shared = (law.exact_sigma**2 for law in (self.own, self.shared))
        return Charge(probability_above(float(isolated[0])), (Normal(own, stored), Normal(shared, 1)))

    def noises(self, count: int, bits: Bits) -> Counts:
        """Draw one noise that all doubled counts share, and one for each; return what it adds to counts.

        A doubled count plus noise that is odd is rounded down to a whole count, after the threshold, which
        is even.
        """
        shared = int(self.shared.sample(1, bits)[0])
        return (self.own.sample(count, bits) + shared) // 2

    def tail(self, m: Counts) -> Floats:
        """Return P[noise of one count >= m]: it is half the sum of both, rounded down."""
        return self.sum.tail(2 * m)

    def parameters(self, sizes: Public) -> dict[str, int | float | str | None]:
        """Return the threshold, both sigmas in units of a count, and how many keys are stored."""
        own, shared = float(self.own.sigma) / 2, float(self.shared.sigma) / 2
        named = {"sigma": own, "shared_sigma": shared, "moved": sizes.moved, "candidates": sizes.candidates}
        return {"threshold": self.threshold, **named, "rho": self.budget.rho}

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise in words, and the public numbers that the guarantee names."""
        words = "discrete Gaussian on doubled counts, sigma {:g} for each and {:g} shared by all"
        noise = words.format(float(self.own.sigma), float(self.shared.sigma))
        return {"noise": noise, **self.parameters(self.public)}

    def error(self, sizes: Public) -> CorrelatedError:
        """Return the error of counts that share a part of their noise."""
        return CorrelatedError(self.sum, sizes.candidates, left_out(sizes, self.public), **self.published())


@dataclass(frozen=True, slots=True)
class CorrelatedError(EstimateError):
    """Half of the sum of two noises is added to a count, and one of the two is the same for all counts."""

    noise: GaussianSum  # type: ignore[assignment]

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of, and that errors go together."""
        together = "All counts share a part of their noise: if one is too high, the others tend to be."
        return (*EstimateError.sentences(self, confidence), together)

    def log_tail(self, m: Counts) -> Floats:
        """Return log P[noise of one count >= m]: it is half the sum of both, rounded down."""
        return np.log(np.maximum(self.noise.tail(2 * m), LEAST_PROBABILITY))

    def _one_sided(self, failure: float, keys: int) -> int:
        """Return a width that none of `keys` noises exceeds but for `failure`: noises are not independent."""
        return max(self.noise.least_tail(failure / keys) // 2, 0)

    def _two_sided(self, failure: float, keys: int) -> int:
        """Return a width that none of `keys` noises exceeds in size but for `failure`."""
        return -(-self.noise.two_sided(failure / keys) // 2)


@dataclass(frozen=True, slots=True)
class CorrelatedNoise:
    """Both noises, and the threshold t: a count is published where 2 count + Z + Z0 >= 2 t."""

    sum: GaussianSum
    threshold: int

    @property
    def reliable(self) -> int:
        """The smallest count that is published with probability 0.95."""
        return self.threshold - smallest_integer(lambda m: self.sum.tail(2 * m) < CERTAIN) + 1


def correlated_for(budget: Budget, stored: int) -> CorrelatedNoise:
    """Return the noise and t for a budget; of one in rho, the noise is the smallest that rho allows."""
    epsilon, delta, rho = budget.epsilon, budget.delta, budget.rho
    if rho is None:
        return correlated_noise(epsilon, delta, stored)
    least = max(math.sqrt((stored + math.sqrt(stored)) / (2 * rho)), LEAST_OWN)
    check_sigma(least, stored)
    while zcdp_cost(parts(least, stored), stored) > Fraction(number("rho", rho)):  # but for rounding, never
        least += 1 / GRAIN
    return first_raised(budget, least, lambda own: calibrated(epsilon, delta, stored, parts(own, stored)))


def zcdp_cost(noise: GaussianSum, stored: int) -> Fraction:
    """Return the rho of both noises, if `stored` doubled counts and the shared noise change by 1."""
    own, shared = (law.exact_sigma**2 for law in noise.parts)
    return stored / (2 * own) + 1 / (2 * shared)


@lru_cache(maxsize=256)
def correlated_noise(epsilon: float, delta: float, stored: int) -> CorrelatedNoise:
    """Return the noise and t that publish the smallest counts, if at most `stored` keys are stored.

    >>> correlated_noise(1.0, 1e-6, 100).reliable
    170
    """
    least, best = least_own(epsilon, delta, stored), None
    for raised in RAISES:
        found = calibrated(epsilon, delta, stored, parts(least * raised, stored))
        if best is not None and (found is None or found.reliable > best.reliable):
            break
        best = found if best is None or (found and found.reliable < best.reliable) else best
    # delta may be so large beside epsilon that the bounds say nothing: half of it is enough
    return best or correlated_noise(epsilon, delta / 2, stored)


def parts(own: float, stored: int) -> GaussianSum:
    """Return the noise of this sigma with the part that is shared: its variance is own^2 / sqrt(stored)."""
    return GaussianSum(rounded_up(own), rounded_up(own * stored**-0.25))


def least_own(epsilon: float, delta: float, stored: int) -> float:
    """Return a sigma below which `stored` common keys alone exceed delta, up to the ripple of the lattice."""

    def spends(own: float) -> bool:
        if own > LARGEST_SIGMA:
            raise ParameterError(
                f"epsilon is too small for {stored} counts that change together: sigma would exceed"
                f" {LARGEST_SIGMA:g}, got {epsilon:g}."
            )
        return float(divergence(np.array([float(stored)]), epsilon, parts(own, stored), delta)[0]) > delta

    low, high = LEAST_OWN, LEAST_OWN
    while spends(high):
        low, high = high, 2 * high
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if spends(middle) else (low, middle)
    return high


def calibrated(epsilon: float, delta: float, stored: int, noise: GaussianSum) -> CorrelatedNoise | None:
    """Return the smallest threshold for which this noise is private, or None if there is none."""
    common, first = blocks(stored, BLOCKS)  # of each block the most common keys, and the fewest
    left = delta * (1 - SAFETY) - divergence(common, epsilon, noise, delta)
    if left.min() <= 0:
        return None
    some = stored - first > 0

    def hides(threshold: int) -> bool:
        if threshold < 1:
            return False
        return bool((shown((stored - first)[some], 2 * threshold, noise, delta) <= left[some]).all())

    return CorrelatedNoise(noise, smallest_integer(hides))


def divergence(common: Floats, epsilon: float, noise: GaussianSum, delta: float) -> Floats:
    """Return H_d for many numbers d of common keys; the shared noise beyond its span counts as lost."""
    own, (values, masses, beyond) = float(noise.own), _shared(noise, delta)
    loss = epsilon - (1 + 2 * values) / (2 * float(noise.shared) ** 2)
    return np.asarray([hockey_stick(float(d), loss, own) @ masses + beyond for d in common])


def hockey_stick(common: float, epsilon: Floats, own: float) -> Floats:
    """Return HS_d at many losses, which may be below 0."""
    if not common:
        return np.maximum(-np.expm1(epsilon), 0.0)
    start, spread = np.ceil(own**2 * epsilon - common / 2), own * math.sqrt(common)
    apart = 1 + 3 * common * math.exp(-((math.pi * own) ** 2))
    found = _tail(start, spread) * apart - np.exp(epsilon) * _tail(start + common, spread) / apart
    return np.clip(found, 0.0, 1.0)


def shown(isolated: Floats, threshold: int, noise: GaussianSum, delta: float) -> Floats:
    """Return I_i, the probability that one of i isolated keys reaches a threshold in half units."""
    values, masses, beyond = _shared(noise, delta)
    each = np.asarray(noise.parts[0].log_tail(3 + values - threshold))  # P[N < m] is P[N >= 1 - m]
    return np.asarray([-np.expm1(count * each) @ masses + beyond for count in isolated])


def _shared(noise: GaussianSum, delta: float) -> tuple[Counts, Floats, float]:
    """Return values of the shared noise, their probabilities, and that of all others.

    What is added up grows with the value, so the last of a cell of values may stand for all of them.
    """
    law, beyond = noise.parts[1], BEYOND * delta
    span = law.two_sided(beyond)
    ends = np.arange(-span - 1, span + 1, 1 + 2 * span // CELLS)
    ends = np.append(ends[:-1], span)
    return ends[1:], -np.diff(np.asarray(law.tail(ends + 1))), beyond


def _tail(m: Floats, spread: float) -> Floats:
    """Return P[Z >= m] for many m, Z discrete Gaussian."""
    return np.asarray(DiscreteGaussian(spread).tail(m.astype(np.int64)))
