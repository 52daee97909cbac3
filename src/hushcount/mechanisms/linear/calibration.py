"""Noise for cells, and the error envelope: how far a noisy estimate can exceed the truth, on the integers.

Derivations: docs/proofs/linear/cells.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.accounting.zcdp import first_raised, zcdp_sigma
from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.keys.row_hash import COUNT_MIN, KEYED, LONGEST_KEY, at_least_half
from hushcount.mechanisms.base import NOT_GAUSSIAN
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.tails import SAFETY
from hushcount.privacy import Budget

LEAST_SIGMA = 1.0  # below, the distribution of the sum of noises is not close to a discrete Gaussian
LARGEST_SCALE = 1e7
LARGEST_WEIGHT = 1 << 16
LARGEST_WIDTH = 1 << 18
DEEPEST = 96
NEAR = 1.05  # a shallower sketch is taken if it reaches nearly as low: it is as much faster
LEAST_ROW = 1e-15
SPLITS = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)


def cell_noise(kind: str, depth: int, max_weight: int, epsilon: float, delta: float) -> Distribution:
    """Return the noise of each cell when one event changes `depth` cells by at most `max_weight`."""
    if kind == COUNT_MIN:
        return DiscreteLaplace.shared(epsilon, depth * max_weight, "units of the cells of one event")
    return DiscreteGaussian(gaussian_sigma(depth, epsilon, delta, max_weight))


def gaussian_divergence(depth: int, sigma: float, epsilon: float, weights: int = 1) -> float:
    """Return an upper bound on HS if `depth` cells with Gaussian noise change by 1, or by up to `weights`.

    The loss depends on the sum S of the noises only, and S is a discrete Gaussian of variance
    depth sigma^2 up to a factor `sum_ratio`: HS <= ratio (P[S >= m] - exp(epsilon) P[S >= m + d v]), m the
    least integer above epsilon sigma^2 / v - d v / 2.

    >>> round(1e6 * gaussian_divergence(1, 4.225, 1.0), 4), round(1e6 * gaussian_divergence(1, 4.231, 1.0), 4)
    (1.0187, 0.9993)
    """
    if weights > LARGEST_WEIGHT:
        raise ParameterError(f"max_weight must be at most {LARGEST_WEIGHT} for CountSketch, got {weights}.")
    total = DiscreteGaussian(sigma * math.sqrt(depth))
    square = Fraction(sigma) ** 2
    least = [
        math.floor(Fraction(epsilon) * square / v - Fraction(depth * v, 2)) + 1 for v in range(1, weights + 1)
    ]
    start = np.array(least, np.int64)
    change = depth * np.arange(1, weights + 1, dtype=np.int64)
    upper = np.asarray(total.tail(start))
    excess = upper * (1 + SAFETY) - math.exp(epsilon) * np.asarray(total.tail(start + change))
    return sum_ratio(depth, sigma) * float(excess.max())


def sum_ratio(draws: int, sigma: float) -> float:
    """Return the factor by which P[sum of draws = s] can differ from a discrete Gaussian of its variance."""
    q = math.exp(-((math.pi * sigma) ** 2))
    zeta = 2 * q / (1 - q)
    return math.exp((draws - 1) * (math.log1p(zeta) - math.log1p(-zeta)))


@lru_cache(maxsize=1024)
def gaussian_sigma(depth: int, epsilon: float, delta: float, max_weight: int = 1) -> float:
    """Return a sigma that is enough for `depth` cells, and within a few parts in ten thousand the smallest.

    >>> round(gaussian_sigma(1, 1.0, 1e-6), 2)
    4.23
    """
    low, high = LEAST_SIGMA, LEAST_SIGMA
    while gaussian_divergence(depth, high, epsilon, max_weight) > delta:
        low, high = high, 2 * high
        if high * math.sqrt(depth) > LARGEST_SCALE:
            raise ParameterError(f"epsilon must be larger for cells with Gaussian noise, got {epsilon:g}.")
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        enough = gaussian_divergence(depth, middle, epsilon, max_weight) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


def estimate_tail(kind: str, depth: int, cell: Distribution, m: Counts) -> Floats:
    """Return P[noise of an estimate >= m]: of the smallest of all cells of a key, or of their median."""
    row = cell.tail(m)
    if kind == COUNT_MIN:
        return np.asarray(row**depth)
    return np.array([at_least_half(depth, float(each)) for each in row])


@dataclass(frozen=True, slots=True)
class Envelope:
    """Size and threshold of an error-envelope release, from public numbers only.

    Outside an event of probability `beta`, no key that is not tracked is estimated above `threshold`.
    """

    kind: str
    depth: int
    width: int
    collisions: int  # what other keys add to a row, except with its share of the failure probability
    noise: int  # what noise adds to a row, except with its share of the failure probability
    threshold: int  # published are estimates above it
    beta: float
    distribution: Distribution
    max_weight: int | None = None  # of an event; 1 if nothing is said

    @property
    def weight(self) -> int:
        """The most that one event changes a count by."""
        return self.max_weight or 1

    @property
    def reach(self) -> int:
        """The smallest count that is published with probability about one half or more."""
        return self.threshold + 1 + self.centre

    @property
    def centre(self) -> int:
        """What noise takes from an estimate with probability one half: a public number to add again."""
        if self.kind == COUNT_MIN:  # all of `depth` noises are above -m with probability one half
            return self.distribution.least_tail(1 - 2 ** (-1 / self.depth)) - 1
        return 0


@lru_cache(maxsize=64)
def plan_envelope(kind: str, max_events: int, counters: int, budget: Budget, max_weight: int = 1) -> Envelope:
    """Return the shallowest size that publishes nearly as small counts as any, as wide as the counters.

    With weights of at most `max_weight`, `max_events` bounds the sum of all, whatever their signs.
    """
    width, plans = width_of(counters), []
    for depth in depths(kind):
        beta, cell = cells_of((kind, depth, max_weight), max_events, budget)
        if row_failure(kind, depth, beta / max_events) > LEAST_ROW:
            size = kind, depth, width
            plans.append(envelope_of(size, (max_events, counters), beta, cell, max_weight))
    least = min(plan.reach for plan in plans)
    return next(plan for plan in plans if plan.reach <= NEAR * least)


def width_of(counters: int) -> int:
    """Return the number of cells in a row: as many as counters, and a power of two."""
    return min(max(1 << (counters - 1).bit_length(), 256), LARGEST_WIDTH)


def cells_of(changed: tuple[str, int, int], max_events: int, budget: Budget) -> tuple[float, Distribution]:
    """Return beta, and the noise of a cell: Gaussian noise takes half of delta, or what its rho leaves.

    `changed` are the kind, the number of rows, and the most that one event changes a cell of each by.
    """
    kind, depth, weight = changed
    if budget.rho is None:
        spent = 0.0 if kind == COUNT_MIN else budget.delta / 2
        if kind == KEYED:  # the bound by the charge: docs/proofs/linear/measured.md, section 3
            beta = _above(budget.delta - spent - fingerprint_failure(max_events), max_events)
        else:
            beta = envelope_beta(max_events, budget.epsilon, budget.delta - spent)
        return beta, cell_noise(kind, depth, weight, budget.epsilon, spent)
    if kind == COUNT_MIN:
        raise ParameterError(NOT_GAUSSIAN.format("count-min-envelope"))

    def calibrated(sigma: float) -> tuple[float, Distribution] | None:
        left = budget.delta * (1 - SAFETY) - gaussian_divergence(depth, sigma, budget.epsilon, weight)
        return (left, DiscreteGaussian(sigma)) if left > 0 else None

    left, cell = first_raised(budget, max(zcdp_sigma(budget.rho, depth * weight**2), LEAST_SIGMA), calibrated)
    return _above(left - fingerprint_failure(max_events), max_events), cell


def envelope_of(
    size: tuple[str, int, int],
    stream: tuple[int, int],
    beta: float,
    cell: Distribution,
    max_weight: int = 1,
) -> Envelope:
    """Return the lowest threshold of one depth and width, over the ways to split the failure of a row."""
    max_events, counters = stream
    empty = Envelope(*size, 0, 0, 0, beta, cell, max_weight if max_weight > 1 else None)
    collisions, noise = envelope_bounds(empty, max_events, beta / max_events)
    threshold = max_events // counters + max_weight + collisions + noise
    return replace(empty, collisions=collisions, noise=noise, threshold=threshold)


def envelope_bounds(plan: Envelope, max_events: int, failure: float) -> tuple[int, int]:
    """Return (collisions, noise), whose sum bounds what estimates exceed the truth by, but for `failure`."""
    row = row_failure(plan.kind, plan.depth, failure)
    share = plan.width if plan.kind == COUNT_MIN else 2 * plan.width  # colliding keys must agree in sign too
    splits = [_bounds(max_events / share, row, split, plan.distribution) for split in SPLITS]
    collisions, noise = min(splits, key=sum)
    return min(collisions, max_events), noise


def envelope_beta(max_events: int, epsilon: float, delta: float) -> float:
    """Return the beta with phi + beta / N + (1 + exp(epsilon)) (phi + beta) = delta, N = max_events.

    phi bounds the probability that two of N byte strings have the same fingerprints.
    """
    phi = fingerprint_failure(max_events)
    beta = (delta - (2 + math.exp(epsilon)) * phi) / (1 + math.exp(epsilon) + 1 / max_events)
    return _above(beta, max_events)


def _above(beta: float, max_events: int) -> float:
    """Return a beta, a little smaller, or raise if fingerprints of so many keys leave nothing of it."""
    if beta <= 0:
        phi = fingerprint_failure(max_events)
        raise ParameterError(
            f"max_events must be smaller for an error envelope at this delta, got {max_events}: two of so"
            f" many keys may have equal fingerprints, with a probability of up to {phi:.2g}."
        )
    return beta * (1 - SAFETY)


def fingerprint_failure(keys: int) -> float:
    """Return the probability that two of `keys` byte strings agree in both fingerprints."""
    roots = LONGEST_KEY // 7 + 2  # of a polynomial of that degree, and one for the rounding of the point
    return keys * keys / 2 * (roots / 2.0**61) ** 2


def row_failure(kind: str, depth: int, failure: float) -> float:
    """Return the probability at which each row may err so that the estimate errs with at most `failure`."""
    if kind == COUNT_MIN:
        return math.exp(math.log(failure) / depth)
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at_least_half(depth, middle) <= failure else (low, middle)
    return low


def _bounds(mass: float, row: float, split: float, cell: Distribution) -> tuple[int, int]:
    """Return bounds on collisions and noise if collisions get the share `split` of the failure of a row."""
    colliding = split * row
    noisy = (row - colliding) / (1 - colliding)  # either or both: c + n - c n = row
    return math.ceil(mass / colliding) - 1, cell.least_tail(noisy * (1 - SAFETY)) - 1


def depths(kind: str) -> Iterator[int]:
    """Yield depths worth trying, dense where they are small; odd for a median."""
    depth = 1
    while depth <= DEEPEST:
        yield depth
        step = max(1, depth // 12)
        depth += step if kind == COUNT_MIN else 2 * step
