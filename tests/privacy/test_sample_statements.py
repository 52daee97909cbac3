"""Two sentences of Cohen et al. 2021 about private samples and the stability histogram, computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.reference.stability import SampledStabilityHistogram, StabilityHistogram

from hushcount.compiled.arrays import Floats
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Ppswor
from hushcount.privacy import Budget
from hushcount.releases.estimators import MaximumLikelihood
from hushcount.releases.sums import identity, moments

COUNTS = np.arange(1, 401)


def ratio(epsilon: float, count: int) -> float:
    """pi*_i / phi_i for counts up to L: 2 (1 - exp(-epsilon i)) / (1 - exp(-epsilon))."""
    return 2 * math.expm1(-epsilon * count) / math.expm1(-epsilon)


@pytest.mark.parametrize(
    ("epsilon", "delta", "largest"), [(0.1, 1e-6, 21.0162), (0.5, 1e-6, 5.0830), (1.0, 1e-6, 3.1640)]
)
def test_the_gain_in_reporting_exceeds_2_over_epsilon(epsilon: float, delta: float, largest: float) -> None:
    length = math.log((math.expm1(epsilon) + 2 * delta) / (delta * (math.exp(epsilon) + 1))) / epsilon
    counts = range(1, math.floor(length) + 1)
    masses = [delta * math.expm1(epsilon * count) / math.expm1(epsilon) for count in counts]
    found = np.array(masses) / StabilityHistogram(Budget(epsilon, delta)).reporting(list(counts))
    assert found == pytest.approx([ratio(epsilon, count) for count in counts])
    assert found[0] == pytest.approx(2)
    assert (np.diff(found) > 0).all()
    assert found[-1] == pytest.approx(largest, rel=1e-4)
    assert 2 / epsilon < found[-1] < 2 * math.exp(epsilon) / math.expm1(epsilon)


def smallest(errors: Floats, level: float) -> int:
    """The smallest count from which on the relative error stays at most `level`."""
    return int(np.flatnonzero(errors > level)[-1]) + 2


def errors(delta: float, rate: float | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Bias and root mean squared error over count, of the maximum likelihood estimate and of the baseline."""
    budget = Budget(0.1, delta)
    law = SampleDistribution.of(budget, EVERY_KEY if rate is None else Ppswor(rate))
    ours = moments(law, MaximumLikelihood(law, identity), identity, COUNTS)
    histogram = StabilityHistogram(budget)
    sampled = histogram if rate is None else SampledStabilityHistogram(budget, rate)
    bias, square = histogram.expectation(COUNTS) - COUNTS, sampled.mean_square(COUNTS)
    found = np.abs(ours.bias), np.abs(bias), np.sqrt(ours.bias**2 + ours.variance), np.sqrt(square)
    return found[0] / COUNTS, found[1] / COUNTS, found[2] / COUNTS, found[3] / COUNTS


def times_lower(optimal: Floats, baseline: Floats, levels: tuple[float, ...]) -> list[float]:
    """How many times smaller the counts are that are estimated with a relative error of at most a level."""
    return [round(smallest(baseline, level) / smallest(optimal, level), 2) for level in levels]


@pytest.mark.parametrize(
    ("delta", "rate", "by_bias", "by_error"),
    [
        (1e-3, None, [1.92, 2.02, 1.5, 1.32], [1.53, 1.49]),
        (1e-3, 0.01, [2.42, 2.52, 2.65, 1.65], [1.01, 1.01]),
        (1e-3, 0.002, [8.33, 6.92, 6.92, 8.0], []),
        (1e-6, None, [1.33, 1.38, 1.26, 1.15], [1.23, 1.21]),
        (1e-6, 0.01, [1.34, 1.4, 1.4, 1.32], [1.04, 1.0]),
    ],
)
def test_how_much_lower_the_counts_are_that_are_estimated_as_well(
    delta: float, rate: float | None, by_bias: list[float], by_error: list[float]
) -> None:
    """The printed 2 to 8 times: reached by the bias at delta = .001 and low rates, never by the error."""
    found = errors(delta, rate)
    assert times_lower(found[0], found[1], (0.25, 0.1, 0.05, 0.01)) == by_bias
    assert times_lower(found[2], found[3], (0.5, 0.25) if by_error else ()) == by_error
    assert max(by_error, default=0) < 2
