"""The closed forms of the baselines against numerical integration."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from tests.reference.stability import (
    PrioritySampledStabilityHistogram,
    SampledStabilityHistogram,
    StabilityHistogram,
)

from hushcount.privacy import Budget

BUDGET = Budget(0.5, 1e-3)
COUNTS = [1.0, 5.0, 14.0, 15.0, 20.0, 60.0, 150.0]


def integral(weight, count: float, start: float, kinks: tuple[float, ...] = ()) -> float:
    epsilon = BUDGET.epsilon
    end = max(count, start) + 80 / epsilon
    points = sorted({start, end, *(p for p in (count, *kinks) if start < p < end)})
    total = 0.0
    for low, high in pairwise(points):
        density = lambda j: weight(j) * epsilon / 2 * math.exp(-epsilon * abs(j - count))  # noqa: E731
        total += quad(density, low, high, epsabs=1e-13, limit=200)[0]
    return total


@pytest.mark.parametrize("count", COUNTS)
def test_stability_histogram(count):
    histogram = StabilityHistogram(BUDGET)
    start = histogram.threshold
    assert start == pytest.approx(1 + 2 * math.log(1000))
    reported = integral(lambda j: 1.0, count, start)
    assert histogram.reporting([count])[0] == pytest.approx(reported, rel=1e-8)
    assert histogram.expectation([count])[0] == pytest.approx(integral(lambda j: j, count, start), rel=1e-8)
    square = integral(lambda j: (j - count) ** 2, count, start) + count**2 * (1 - reported)
    assert histogram.mean_square([count])[0] == pytest.approx(square, rel=1e-7)


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.003])  # 0.5 is the case epsilon = rate
@pytest.mark.parametrize("count", COUNTS)
def test_sampled_stability_histogram(rate, count):
    histogram, start = SampledStabilityHistogram(BUDGET, rate), StabilityHistogram(BUDGET).threshold
    keep = lambda j: -math.expm1(-rate * j)  # noqa: E731
    assert histogram.reporting([count])[0] == pytest.approx(integral(keep, count, start), rel=1e-8)
    square = integral(lambda j: keep(j) * (j / keep(j) - count) ** 2, count, start)
    square += count**2 * (1 - integral(keep, count, start))
    assert histogram.mean_square([count])[0] == pytest.approx(square, rel=1e-7)


@pytest.mark.parametrize("rate", [0.5, 0.05, 0.01])
@pytest.mark.parametrize("count", COUNTS)
def test_priority_sampled_stability_histogram(rate, count):
    histogram, start = PrioritySampledStabilityHistogram(BUDGET, rate), StabilityHistogram(BUDGET).threshold
    expected = integral(lambda j: min(1.0, rate * j), count, start, (1 / rate,))
    assert histogram.reporting([count])[0] == pytest.approx(expected, rel=1e-8)


def test_sampling_never_reports_more():
    counts = np.arange(1, 300)
    plain = StabilityHistogram(BUDGET).reporting(counts)
    for rate in (0.9, 0.01):
        assert (SampledStabilityHistogram(BUDGET, rate).reporting(counts) <= plain + 1e-12).all()
