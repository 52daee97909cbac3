"""Bounds for all nodes at once, against the smallest numbers for which their formulas hold."""

import itertools

import numpy as np
import pytest

from hushcount.mechanisms.hierarchy.together import Comparisons, Together, largest_share, together
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace

NOISES = [DiscreteGaussian(12.5), DiscreteLaplace(0.2), DiscreteLaplace(2.0)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("threshold", [1, 2, 30, 84, 5000])
def test_the_largest_share_is_that_of_the_worst_value(noise, threshold):
    for error in (0, 1, 20, 83, 200):
        values = np.arange(1, threshold + 2)
        shares = noise.tail(np.maximum(error + 1, threshold - values)) / values
        assert largest_share(noise, threshold, error) == pytest.approx(shares.max(), rel=1e-12)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("stopping", [True, False])
@pytest.mark.parametrize("nodes", [None, 50])
def test_bounds_are_the_smallest_that_hold(noise, stopping, nodes):
    tests = Comparisons(noise, 84, 5, 10_000, stopping, nodes)
    found = together(tests, 0.9)
    half = 0.05

    def missing(margin):
        heavy = 10_000 // (84 + margin) * (1 if stopping else 5)
        return min(heavy, nodes or heavy) * noise.tail(margin + 1)

    def high(error):
        bound = 5 * 10_000 * largest_share(noise, 84, error)
        return bound if nodes is None else min(bound, nodes * noise.tail(error + 1))

    margin = next(m for m in itertools.count() if missing(m) <= half)
    error = next(m for m in itertools.count() if high(m) <= half)
    assert found == Together(max(error, margin), margin)


def test_more_events_and_more_confidence_need_wider_bounds():
    noise = DiscreteGaussian(15)
    widths = [
        together(Comparisons(noise, 84, 5, events, stopping=True), confidence)
        for events, confidence in [(10**4, 0.9), (10**4, 0.99), (10**8, 0.99), (10**12, 0.99)]
    ]
    assert [width.error for width in widths] == sorted({width.error for width in widths})
    assert [width.margin for width in widths] == sorted({width.margin for width in widths})
