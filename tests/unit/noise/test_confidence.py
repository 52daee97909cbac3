"""Bounds from runs: they hold, and they are not much too low."""

import math

import numpy as np
import pytest
from scipy import stats

from hushcount.noise.confidence import excess_at_least, product_level, ratio_at_least

FAILURE = 1e-6


@pytest.mark.parametrize("seen", [(0, 0), (30, 0), (300, 20), (1000, 1000), (900, 1), (5, 400)])
def test_no_pair_of_probabilities_that_fits_lies_below_the_bound(seen):
    """Every (p, q) of a grid that the two binomial tails, combined, do not exclude."""
    runs, ratio = 1000, math.e
    bound = excess_at_least(seen, runs, ratio, FAILURE)
    odds = ratio_at_least(seen, runs, 0.01, FAILURE)
    p, q = np.meshgrid(np.linspace(0, 1, 1001), np.linspace(0, 1, 1001), indexing="ij")
    product = stats.binom.sf(seen[0] - 1, runs, p) * stats.binom.cdf(seen[1], runs, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        fits = product * (1 - np.log(product)) > FAILURE
    assert fits.any()
    assert bound == 0 or (p - ratio * q)[fits].min() >= bound
    assert odds == 1 or (p - 0.01 - odds * q)[fits].min() >= 0


def test_bounds_come_close_to_what_was_seen():
    assert 0.2 < excess_at_least((300_000, 0), 1_000_000, math.e, FAILURE) + 0.1 < 0.4
    assert excess_at_least((13_400, 0), 1_000_000, math.e, FAILURE) == pytest.approx(0.0134, rel=0.06)
    assert ratio_at_least((750_000, 250_000), 1_000_000, 0.0, FAILURE) == pytest.approx(3, rel=0.02)


def test_together_they_need_fewer_runs_than_two_separate_bounds():
    runs, seen = 6000, (80, 0)
    apart = stats.beta.ppf(FAILURE / 2, 80, runs - 79) - math.e * stats.beta.ppf(1 - FAILURE / 2, 1, runs)
    assert excess_at_least(seen, runs, math.e, FAILURE) > apart + 0.002


def test_the_level_of_a_product():
    level = product_level(0.05)
    assert level * (1 - math.log(level)) == pytest.approx(0.05, rel=1e-9)
    products = np.random.default_rng(3).random((2, 400_000)).prod(axis=0)
    assert (products <= level).mean() == pytest.approx(0.05, rel=0.03)
