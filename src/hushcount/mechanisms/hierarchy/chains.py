"""Noise and threshold of the offline release of a hierarchy: what a path of failed tests may give away.

w is the noise of one test, F(t) = P[w < t], q = P[w >= threshold - W]. One event changes the residuals of one
path, by its weight of at most W, until the first test on it succeeds. A test fails with probability F(t) in
the smaller data and F(t - W) in the larger, for some integer t, or with 1 and 1 - q where the smaller data
does not test the node.
With p and p' the products of these over the tests of a path, the release is (epsilon, delta)-DP if
p - exp(epsilon) p' <= delta (all fail) and (1 - p') - exp(epsilon) (1 - p) <= delta (some test succeeds)
for all choices. Derivations: docs/proofs/hierarchy/offline.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.lattice import LEAST_PROBABILITY
from hushcount.noise.tails import one_of
from hushcount.privacy import Budget, check_count

SAFETY = 1e-9
"""A computed divergence is raised by this much (relatively): rounding never uses up delta."""

LARGEST_TESTS = 1 << 16
LARGEST_SCALE = 1e8
RAISES = (1.0, 1.0005, 1.001, 1.003, 1.01, 1.03, 1.1, 1.25, 1.5, 2.0)
_ROUNDING = 1e-12  # more than the relative error of the formulas of a distribution
_BITS = 12  # significant bits of a scale
_FINEST = 1024  # from this standard deviation, neighbouring t are taken together
_STEPS = 32  # thresholds tried beyond the smallest that untested nodes allow
_SEARCH = 40  # steps of a golden section search


@dataclass(frozen=True, slots=True)
class Chain:
    """A distribution of noise with its smallest private threshold, for paths of some length."""

    noise: Distribution
    threshold: int


@dataclass(frozen=True, slots=True)
class Failures:
    """What one failed test may be: hidden = -log F(t), loss = log F(t) / F(t - W), for all t that matter.

    A product with any other t has p <= `beyond`.
    """

    hidden: Floats
    loss: Floats
    beyond: float

    @classmethod
    def of(cls, noise: Distribution, threshold: int, weight: int = 1) -> Failures:
        """Return the tests at t < threshold, and that of a node which only the larger data tests."""
        step = 1 + int(math.sqrt(noise.variance) / _FINEST)
        untested = -math.log1p(-float(noise.tail(threshold - weight)))
        lowest, beyond = _lowest(noise, threshold - weight)
        t = np.arange(lowest, threshold, step)
        highest = t + (step - 1)  # of each block the most likely to fail, and the greatest loss
        hidden = np.where(
            highest >= 1, -np.log1p(-noise.tail(np.maximum(highest, 1))), -noise.log_tail(1 - highest)
        )
        loss = np.append(_losses(noise, t, step, weight), untested) * (1 + _ROUNDING)
        return cls(np.append(hidden, 0.0) * (1 - _ROUNDING), loss, beyond)

    def all_fail(self, tests: int, epsilon: float) -> float:
        """Return an upper bound of p - exp(epsilon) p' over all paths of `tests` nodes."""

        def bound(slope: float) -> float:
            loss = tests * float(np.max(self.loss - slope * self.hidden))
            hidden = (epsilon + math.log1p(slope) - loss) / slope
            if hidden > 0:
                return math.exp(-hidden) * slope / (1 + slope)
            return max(-math.expm1(epsilon - loss), 0.0)

        return _least_value(bound) + self.beyond

    def some_succeeds(self, tests: int, epsilon: float) -> float:
        """Return an upper bound of (1 - p') - exp(epsilon) (1 - p) over all paths of `tests` nodes."""

        def bound(slope: float) -> float:
            loss = tests * float(np.max(self.loss - slope * self.hidden))
            hidden = max(math.log1p(slope) - epsilon - loss, 0.0) / slope
            return -math.expm1(-hidden - loss - slope * hidden) + math.exp(epsilon) * math.expm1(-hidden)

        return max(_least_value(bound), math.exp(epsilon) * self.beyond - math.expm1(epsilon))


def chain_delta(noise: Distribution, threshold: int, tests: int, epsilon: float, weight: int = 1) -> float:
    """Return the delta of the release at epsilon (an upper bound, both ways) for paths of `tests` nodes.

    One event changes a count by at most `weight`.

    >>> 0.9e-6 < chain_delta(DiscreteGaussian(15.13), 84, 32, 1.0) < 1e-6
    True
    """
    failures = Failures.of(noise, threshold, weight)
    return (1 + SAFETY) * max(failures.all_fail(tests, epsilon), failures.some_succeeds(tests, epsilon))


def calibrate(tests: int, budget: Budget, threshold: int | None = None, weight: int = 1) -> Chain:
    """Return the distribution of noise for a public threshold, or the one with the smallest threshold of all.

    One event changes a count by at most `weight`.

    >>> chain = calibrate(32, Budget(1.0, 1e-6))
    >>> chain.threshold, round(float(chain.noise.sigma), 1)
    (84, 15.1)
    """
    found = [
        *chains(laplace, check_count("tests", tests, 2, LARGEST_TESTS), budget, weight),
        *chains(DiscreteGaussian, tests, budget, weight),
    ]
    least = min(found, key=lambda chain: (chain.threshold, chain.noise.variance))
    if threshold is None:
        return least
    given = check_count("threshold", threshold)
    if given < least.threshold:
        raise ParameterError(
            f"threshold must be at least {least.threshold} for epsilon = {budget.epsilon:g},"
            f" delta = {budget.delta:g} and height {tests - 1}, got {given}."
        )
    return min((one for one in found if one.threshold <= given), key=lambda chain: chain.noise.variance)


def laplace(scale: Fraction) -> DiscreteLaplace:
    """P(w) proportional to exp(-|w| / scale)."""
    return DiscreteLaplace(1 / scale)


@lru_cache(maxsize=256)
def chains(
    kind: Callable[[Fraction], Distribution], tests: int, budget: Budget, weight: int = 1
) -> tuple[Chain, ...]:
    """Return distributions of one kind with their smallest thresholds, by increasing scale."""
    least = _least_scale(kind, tests, budget, weight)
    noises = dict.fromkeys(kind(_rounded_up(least * raised)) for raised in RAISES)
    found = ((noise, _least_threshold(noise, tests, budget, weight)) for noise in noises)
    return tuple(Chain(noise, threshold) for noise, threshold in found if threshold is not None)


def _least_scale(kind: Callable[[Fraction], Distribution], tests: int, budget: Budget, weight: int) -> float:
    """Return about the scale below which the failed tests of a path alone exceed delta."""

    def private(scale: float) -> bool:
        noise = kind(_rounded_up(scale))
        failures = Failures.of(noise, _untested_threshold(noise, tests, budget.delta, weight), weight)
        return failures.all_fail(tests, budget.epsilon) * (1 + SAFETY) <= budget.delta

    high = weight / budget.epsilon
    while high > LARGEST_SCALE or not private(high):
        high *= 2
        if high > LARGEST_SCALE:
            raise ParameterError(
                f"epsilon is too small for a tree of height {tests - 1}: the noise would exceed"
                f" {LARGEST_SCALE:g}, got {budget.epsilon:g}."
            )
    low = high / 2
    while low > 1e-2 and private(low):
        low, high = low / 2, low
    while high / low > 1 + 1e-4:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def _least_threshold(noise: Distribution, tests: int, budget: Budget, weight: int) -> int | None:
    """Return the smallest private threshold, or None if failed tests exceed delta at any threshold."""

    def private(threshold: int) -> bool:
        return chain_delta(noise, threshold, tests, budget.epsilon, weight) <= budget.delta

    start = _untested_threshold(noise, tests, budget.delta, weight)
    if weight == 1:
        return next(filter(private, range(start, start + _STEPS)), None)
    low, high = start - 1, start + _STEPS * weight
    if not private(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def _untested_threshold(noise: Distribution, tests: int, delta: float, weight: int) -> int:
    """Return the smallest threshold with 1 - (1 - q)^tests <= delta, for nodes that one side alone tests."""
    return max(1, weight + noise.least_tail(max(one_of(tests, delta), LEAST_PROBABILITY)))


def _lowest(noise: Distribution, margin: int) -> tuple[int, float]:
    """Return the smallest t that matters, and the probability to fail below it; q = P[w >= margin]."""
    if isinstance(noise, DiscreteLaplace):
        return 1, 0.0  # from there downwards the loss stays the same and failing gets less likely
    negligible = max(1e-9 * float(noise.tail(margin)), LEAST_PROBABILITY)
    far = noise.least_tail(min(negligible, 0.1))
    return 2 - far, float(noise.tail(far))


def _losses(noise: Distribution, t: Counts, step: int, weight: int) -> Floats:
    """Return log F(t) / F(t - weight) for t in steps, or somewhat more: the sum of the losses on the way.

    The loss does not increase in t, so that of a whole step is at most `step` times its loss at its start.
    """
    if weight == 1:
        return _loss(noise, t)
    steps = -(-weight // step)
    before = np.arange(int(t[0]) + 1 - steps * step, int(t[0]) + 1, step)
    starts = np.concatenate((before, t[:-1] + 1))
    return np.convolve(step * _loss(noise, starts), np.ones(steps), "valid")


def _loss(noise: Distribution, t: Counts) -> Floats:
    """Return log F(t) / F(t - 1), by the probability between them, or by tails where that is most of F(t)."""
    log_fail = np.asarray(noise.log_tail(1 - t))
    between = np.exp(np.asarray(noise.log_pmf(t - 1)) - log_fail)
    with np.errstate(divide="ignore", invalid="ignore"):
        near = -np.log1p(-between)
    return np.where(between < 0.5, near, log_fail - np.asarray(noise.log_tail(2 - t)))


def _least_value(bound: Callable[[float], float]) -> float:
    """Return the minimum of a quasiconvex function over slopes exp(-30) .. exp(30), by golden section."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = -30.0, 30.0
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [bound(math.exp(place)) for place in inner]
    for _ in range(_SEARCH):
        if values[0] <= values[1]:
            high = inner[1]
            inner = [high - ratio * (high - low), inner[0]]
            values = [bound(math.exp(inner[0])), values[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + ratio * (high - low)]
            values = [values[1], bound(math.exp(inner[1]))]
    return min(values)


def _rounded_up(scale: float) -> Fraction:
    """Return the smallest rational of few bits that is not below a scale."""
    unit = Fraction(2) ** (math.frexp(scale)[1] - 1 - _BITS)
    return math.ceil(Fraction(scale) / unit) * unit
