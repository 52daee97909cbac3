"""Binomial distributions in floating point: probabilities near the mean, and upper tails."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hushcount.compiled.arrays import Floats

OUTSIDE = 1e-30  # most mass that a window leaves out on both sides together (Bernstein's inequality)


class BinomialMasses(NamedTuple):
    """The values of a binomial variable that matter, and their probabilities, which sum to 1."""

    values: Floats
    masses: Floats


def window(trials: int, probability: float) -> BinomialMasses:
    """Return the values within 12 standard deviations and 60 of the mean; what is left out is below OUTSIDE.

    Neighbouring probabilities have simple ratios, so each is a product of ratios from the mode on. Their
    logarithms are summed, and the whole is scaled to 1, which is exact to about 1e-12 of each.

    >>> [round(mass, 4) for mass in window(2, 0.25).masses.tolist()]
    [0.5625, 0.375, 0.0625]
    """
    if probability >= 1:
        return BinomialMasses(np.array([float(trials)]), np.ones(1))
    mean = trials * probability
    reach = 12 * math.sqrt(mean * (1 - probability)) + 60
    values = np.arange(max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), trials) + 1.0)
    before = values[:-1]
    steps = np.log((trials - before) / (before + 1)) + math.log(probability / (1 - probability))
    logarithms = np.concatenate(([0.0], np.cumsum(steps)))
    masses = np.exp(logarithms - logarithms.max())
    return BinomialMasses(values, np.asarray(masses / masses.sum(), np.float64))


def upper(least: Floats, trials: Floats) -> Floats:
    """Return the probability that so many fair coins show at least `least` heads.

    >>> upper(np.array([0.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])).tolist()
    [1.0, 0.25, 0.0]
    """
    from scipy.special import betainc

    inside = (least > 0) & (least <= trials)
    tails = betainc(np.where(inside, least, 1.0), np.where(inside, trials - least + 1, 1.0), 0.5)
    return np.asarray(np.where(inside, tails, least <= 0), np.float64)
