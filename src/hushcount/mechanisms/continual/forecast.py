"""What a watch will publish, by the mechanism's own distribution: no data are read for it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.mechanisms.continual.gate import Gate
from hushcount.mechanisms.continual.thresholds import SUMMED
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.releases.accuracy import RELIABLE

FINE = 0.05  # counts and secrets whose probabilities differ by this share at most are taken together
BLOCK = 64  # counts that are looked at together, with all values of the secret


def ever(gate: Gate, counts: Counts) -> float:
    """Return the probability that a key is published that has these counts at the ends of periods.

    >>> from fractions import Fraction
    >>> round(ever(Gate(Fraction(1), 26), np.arange(1, 366) * 27 // 365), 6)
    0.974427
    """
    rate = float(gate.epsilon)
    step = max(1, math.floor(FINE / rate))
    z = np.arange(0, math.ceil(SUMMED / rate) + 1, step)
    tested = counts[counts >= gate.least]
    values, times = np.unique(tested // step * step + step // 2, return_counts=True)
    stays = np.zeros(len(z))
    with np.errstate(divide="ignore"):
        for start in range(0, len(values), BLOCK):
            deficits = gate.tau + z[:, None] + step // 2 - values[start : start + BLOCK]
            chances = np.where(deficits > 0, -np.expm1(-rate * np.maximum(deficits, 0)), 0)
            stays += np.log(chances) @ times[start : start + BLOCK]
    return 1 - float(np.sum(-math.expm1(-rate * step) * np.exp(stays - rate * z)))


def spread(events: int, periods: int) -> Counts:
    """Return the counts at the ends of all periods of a key whose events come evenly.

    >>> spread(3, 6).tolist()
    [0, 1, 1, 2, 2, 3]
    """
    return np.arange(1, periods + 1) * events // periods


def burst(gate: Gate) -> int:
    """Return the smallest count that is published with 95% if all its events are in one period."""
    return gate.tau + DiscreteLaplace(gate.epsilon).least_tail(1 - RELIABLE) - 1


def steady(gate: Gate, periods: int) -> int:
    """Return the smallest count that is published with 95% if its events come evenly in all periods.

    >>> from fractions import Fraction
    >>> [steady(Gate(Fraction(1), tau), T) for tau, T in ((23, 24), (26, 365))]
    [25, 27]
    """
    return _first(lambda events: ever(gate, spread(events, periods)) >= RELIABLE, burst(gate))


def waits(gate: Gate, rate: float, periods: int) -> int | None:
    """Return after how many periods a key of this rate is published with 95%, None if it is not."""
    counts = np.floor(np.arange(1, periods + 1) * rate).astype(np.int64)
    if ever(gate, counts) < RELIABLE:
        return None
    return _first(lambda ended: ever(gate, counts[:ended]) >= RELIABLE, periods)


def _first(holds: Callable[[int], bool], most: int) -> int:
    """Return the smallest number from 1 to `most` for which something holds that holds from there on."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
