"""Divergences of counts that change together: many keys, cells, the tests of a path, the largest of a domain.

Each is that of data which exist, so it is a lower bound of what a mechanism spends; those of many keys and of
cells are exact.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from hushcount.compiled.arrays import Floats
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace


def _sums(law: DiscreteGaussian, count: int) -> tuple[Floats, int]:
    """Return the distribution of the sum of `count` noises on -span..span, but for a mass below 1e-25."""
    span = law.two_sided(1e-25) + 1
    pmf = np.asarray(law.pmf(np.arange(-span, span + 1)))
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, pmf)
    return total, count * span


def gaussian_divergence(law: DiscreteGaussian, moved: int, epsilon: float) -> float:
    """Return the divergence of `moved` noisy values that all change by 1: the loss depends on their sum."""
    if moved == 0:
        return max(-math.expm1(epsilon), 0.0)
    probabilities, span = _sums(law, moved)
    loss = (2 * np.arange(-span, span + 1) + moved) / (2 * float(law.sigma) ** 2)
    return math.fsum(probabilities * -np.expm1(np.minimum(epsilon - loss, 0.0)))


def many_keys_divergence(law: DiscreteGaussian, threshold: int, epsilon: float, moved: int) -> float:
    """Return the largest divergence over all numbers of common keys, the others isolated, both ways."""
    hidden = 1 - float(law.tail(threshold - 1))
    found = []
    for common in range(moved + 1):
        suppressed = hidden ** (moved - common)
        gamma = math.log(suppressed)
        found.append(1 - suppressed + suppressed * gaussian_divergence(law, common, epsilon - gamma))
        found.append(gaussian_divergence(law, common, epsilon + gamma))
    return max(found)


def path_divergence(law: Distribution, threshold: int, tests: int, epsilon: float) -> float:
    """Return the largest divergence of two kinds of data of a hierarchy with this many tests on a path.

    One leaf with `residual` events, so that every node on its path has that residual; or a new leaf, whose
    first nodes only the larger data tests, until `residual` single events of other leaves come up to a node.
    """
    residuals = np.arange(0, threshold + 20 * int(math.sqrt(law.variance) + 1))
    untested = math.log1p(-law.tail(threshold - 1))
    fails = np.asarray(law.log_tail(1 + np.append(residuals, len(residuals)) - threshold))
    fails[0] = 0.0  # not tested
    worst = 0.0
    for alone in range(tests):
        smaller = (tests - alone) * fails[:-1]
        larger = alone * untested + (tests - alone) * fails[1:]
        others = residuals * (tests * untested if alone else 0.0)  # single events that are not published
        all_fail = np.exp(others + smaller) - np.exp(others + epsilon + larger)
        some = np.exp(others) * (-np.expm1(larger) + math.exp(epsilon) * np.expm1(smaller))
        worst = max(worst, float(all_fail.max()), float(some.max()))
    return worst


def largest_of(y: tuple[int, ...], law: DiscreteLaplace) -> dict[tuple[int, int], float]:
    """Return P[(place, value) is the largest noisy count], ties uniform, by summing over all noise."""
    span = law.two_sided(1e-25)
    values = np.arange(-span, 2 * span)  # the same for all small y, so that outputs can be compared
    pmf = np.stack([np.asarray(law.pmf(values - one)) for one in y])
    less = np.stack([1 - np.asarray(law.tail(values - one)) for one in y])
    found: dict[tuple[int, int], float] = {}
    for place in range(len(y)):
        others = [index for index in range(len(y)) if index != place]
        total = np.zeros(len(values))
        for tied in product((False, True), repeat=len(others)):
            parts = [pmf[o] if t else less[o] for o, t in zip(others, tied, strict=True)]
            total += np.prod(parts, axis=0) / (1 + sum(tied))
        for value, probability in zip(values.tolist(), (total * pmf[place]).tolist(), strict=True):
            found[place, value] = probability
    return found
