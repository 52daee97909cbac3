"""Confidence bounds for how far two probabilities differ, from how often events were seen in many runs.

The probability p of an event is tested by the exact binomial tail P[X >= seen], q of another by P[Y <= seen]
(Clopper and Pearson 1934). Both p-values are independent, and the product of two such is at most t with
probability at most t (1 - log t), so all (p, q) for which it is smaller are excluded at once.
"""

from __future__ import annotations

import math

import numpy as np

from hushcount.compiled.arrays import Floats

GRID = 4000  # values of q that are looked at; between two of them both bounds are taken at the worse end


def product_level(failure: float) -> float:
    """Return the t at which t (1 - log t) is `failure`, from below.

    >>> t = product_level(1e-6)
    >>> 0.999e-6 < t * (1 - math.log(t)) <= 1e-6
    True
    """
    level = failure
    for _ in range(60):
        level = failure / (1 - math.log(level))
    return level * (1 - 1e-12)


def excess_at_least(seen: tuple[int, int], runs: int, ratio: float, failure: float) -> float:
    """Return a bound below p - ratio q, at least 0, too high with probability at most `failure`."""
    above, p = _excluded(seen, runs, failure)
    return max(float((p - ratio * above).min()), 0.0)


def ratio_at_least(seen: tuple[int, int], runs: int, delta: float, failure: float) -> float:
    """Return a bound below (p - delta) / q, at least 1, too high with probability at most `failure`."""
    above, p = _excluded(seen, runs, failure)
    return max(float(((p - delta) / above).min()), 1.0)


def _excluded(seen: tuple[int, int], runs: int, failure: float) -> tuple[Floats, Floats]:
    """Return the upper ends of small intervals of q, and for each the smallest p that is not excluded."""
    from scipy.special import betaincinv

    level = product_level(failure)
    largest = float(betaincinv(seen[1] + 1, runs - seen[1], 1 - level)) if seen[1] < runs else 1.0
    ends = np.linspace(0.0, largest, GRID + 1)
    if not seen[0]:
        return ends[1:], np.zeros(GRID)
    left = level / _at_most(seen[1], runs, ends[:-1])  # what the tail of p must reach
    smallest = betaincinv(seen[0], runs - seen[0] + 1, np.minimum(left, 1.0))
    return ends[1:], np.asarray(smallest)


def _at_most(seen: int, runs: int, q: Floats) -> Floats:
    """Return P[Y <= seen] for a binomial Y of this many runs."""
    from scipy.special import betainc

    if seen >= runs:
        return np.ones_like(q)
    return np.asarray(np.maximum(betainc(runs - seen, seen + 1, 1 - q), 1e-300))
