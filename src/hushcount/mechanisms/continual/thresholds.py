"""Thresholds of the gate, summed on the integers. Derivations: docs/proofs/continual/gate.md."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hushcount.errors import ParameterError
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.tails import smallest

LEAST = Fraction(1, 10_000)  # of a gate's epsilon: the sums below have 40 / epsilon terms
SUMMED = 40  # what is left out of a sum has a probability of exp(-SUMMED), and is bounded from above


def log_ever(epsilon: Fraction, distance: int, periods: int) -> float:
    """Return log P[max over t of (v_t - z) >= distance] for distance >= 0 and so many periods.

    It is 1 - E_z[(1 - a^(distance + z))^periods], an upper bound within 1e-17 of the sum.
    """
    rate = float(epsilon)
    z = np.arange(math.ceil(SUMMED / rate) + 1, dtype=np.float64)
    with np.errstate(divide="ignore"):
        passes = -np.expm1(periods * np.log1p(-np.exp(-rate * (distance + z))))
    total = float(np.sum(-math.expm1(-rate) * np.exp(-rate * z[:-1]) * passes[:-1]))
    return math.log(total + math.exp(-rate * z[-1]) * float(passes[-1]))


def threshold(epsilon: Fraction, delta: float, periods: int, least: int = 1) -> int:
    """Return the least tau at which a key of `least` events passes within so many periods with at most delta.

    >>> [threshold(Fraction(1), 1e-8, periods) for periods in (1, 24, 365, 8760)]
    [20, 23, 26, 29]
    """
    check_rate(epsilon)
    return least + smallest(lambda distance: log_ever(epsilon, distance, periods), delta, start=0)


def endless_threshold(epsilon: Fraction, delta: float, period: int, least: int = 1) -> int:
    """Return the threshold of one period, counted from 1, of a watch without an end.

    >>> [endless_threshold(Fraction(1), 1e-8, period) for period in (1, 24, 365, 8760)]
    [20, 26, 31, 38]
    """
    check_rate(epsilon)
    noise = DiscreteLaplace(epsilon)
    return least + smallest(noise.log_tail, delta / (period * (period + 1)), start=0)


def overshoot(epsilon: Fraction, failure: float, periods: int) -> int:
    """Return the least k such that an entry exceeds its count by more than k with at most `failure`.

    It counts all periods of the watch: the period in which an entry was published is no help.

    >>> [overshoot(Fraction(1), 0.025, periods) for periods in (1, 24, 365, 8760)]
    [3, 6, 9, 12]
    """
    return smallest(lambda distance: log_ever(epsilon, distance, periods), failure, start=0) - 1


def undershoot(epsilon: Fraction, failure: float) -> int:
    """Return the least k such that an entry is below its count by more than k with at most `failure`."""
    return DiscreteLaplace(epsilon).least_tail(failure) - 1


def check_rate(epsilon: Fraction) -> None:
    """Raise if the epsilon of a gate is so small that its threshold would not be found."""
    if epsilon < LEAST:
        raise ParameterError(f"epsilon must be at least {float(LEAST):g} for a gate, got {float(epsilon):g}.")
