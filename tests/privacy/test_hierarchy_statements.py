"""What Biswas et al. 2024 state about coverage and error, computed for their Algorithms 1, 3 and 4."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests import reference

EPSILON, ETA, HEIGHT, COUNTERS = 1.0, 0.05, 4, 1000


def above(value: float, scale: float) -> float:
    """P[X + Y > value] for Laplace noise X of this scale and Y of twice the scale: a node's test."""
    if value < 0:
        return 1 - above(-value, scale)
    return (4 * math.exp(-value / (2 * scale)) - math.exp(-value / scale)) / 6


def bound(delta: float) -> float:  # Biswas et al. 2024, Theorem 3.2
    """Delta, the claimed bound of the noise of all nodes."""
    return 8 / EPSILON * (math.log(1 / delta) + math.log(2 * HEIGHT / ETA))


def least_threshold(delta: float) -> float:  # Biswas et al. 2024, Algorithm 1, line 1
    return 8 / EPSILON * math.log(2 * HEIGHT / delta) + 1


def published(residual: float, threshold: float) -> float:
    """The probability that Algorithm 1 publishes a node: noise of scales 2/epsilon and 4/epsilon."""
    return above(threshold - residual, 2 / EPSILON)


def test_the_closed_form_of_the_noise_is_a_distribution() -> None:
    """Against the convolution of the two densities, by the trapezium rule."""
    step, scale = 0.01, 2.0
    grid = np.arange(-8000, 8001) * step
    density = np.exp(-np.abs(grid) / scale) / (2 * scale)
    for value in (0.0, 3.0, 10.0):
        half = np.exp(-np.abs(grid - value) / (2 * scale)) / 2
        total = step * float(density @ np.where(grid > value, 1 - half, half))
        assert total == pytest.approx(above(value, scale), abs=1e-5)


def test_the_printed_coverage_of_theorem_3_2_fails() -> None:
    """A node with the count tau is missed with probability 1/2, one of tau - Delta + 1 nearly always."""
    delta, threshold = 1e-6, 1000.0
    assert bound(delta) == pytest.approx(151.1, abs=0.05)
    assert 1 - published(threshold, threshold) == 0.5 > ETA
    assert 1 - published(threshold - bound(delta) + 1, threshold) > 1 - 1e-15
    assert 1 - published(threshold + bound(delta), threshold) < 1e-16
    # At the smallest threshold that is allowed tau - Delta is negative: all nodes would have to be published.
    assert least_threshold(delta) == pytest.approx(128.16, abs=0.005)
    assert least_threshold(delta) < bound(delta)


def test_the_printed_relative_error_of_theorem_3_2_fails() -> None:
    """Delta / tau = .151 is claimed for all nodes; (16) has 1/c_p more, and no bound where c_p = 0."""
    delta, threshold = 1e-6, 1000.0
    noise = bound(delta)
    claimed = noise / threshold
    assert claimed == pytest.approx(0.151, abs=5e-4)
    # A leaf of one event alone: nothing is published, so its estimate is 0 and the relative error 1.
    assert published(1, threshold) < 1e-100
    # A leaf of 2000 events is published, one of 700 beside it is not, nor their parent, tested at 700.
    assert published(2000, threshold) == 1.0
    assert published(700, threshold) < 1e-30
    missing = 700 / 2700
    assert claimed < missing < 1 + claimed
    # With noise of at most D: missed residuals are below tau + D, published ones at least tau - D.
    assert missing <= (threshold + noise + noise) / (threshold - noise)


def suppression(delta: float) -> tuple[float, float, float]:
    """The threshold of Algorithm 3, the first term of Algorithm 4, and the term of the noise in both."""
    tested = 1 + 6 * HEIGHT / EPSILON * math.log(3 * HEIGHT / delta)
    used = 1 + 4 * HEIGHT / EPSILON * math.log(6 * HEIGHT / delta)
    return tested, used, 8 * HEIGHT / EPSILON * math.log(2 * COUNTERS * HEIGHT / ETA)


@pytest.mark.parametrize(
    ("delta", "tested", "used", "missed"),
    [(1e-6, 392.21, 272.90, (4e-8, 5e-8)), (1e-40, 2271.12, 1525.50, (1 - 1e-9, 1))],
)
def test_algorithm_4_assumes_a_lower_threshold_than_algorithm_3_has(
    delta: float, tested: float, used: float, missed: tuple[float, float]
) -> None:
    """A count above Algorithm 4's Delta_2, an exact one, can still be suppressed: then f > C + Delta."""
    found = suppression(delta)
    assert found[:2] == pytest.approx((tested, used), abs=0.005)
    count = math.floor(found[1] + found[2]) + 1
    assert missed[0] < 1 - above(found[0] - count, 2 * HEIGHT / EPSILON) < missed[1]


def test_theorem_5_3_needs_a_threshold_above_what_the_sketch_can_lose() -> None:
    """Eleven keys in turn, a hundred times each, in ten counters: every counter ends at 0.

    The key that is not stored is not published, whatever the noise, and it has n / (counters + 1) events.
    That is at most tau - Delta only if tau is at least Delta + n / (counters + 1), which is not assumed.
    """
    heights, decrements = reference.misra_gries(list(range(11)) * 100, 10)
    assert (len(heights), set(heights.values())) == (10, {0})
    assert decrements == 100 == 11 * 100 / (10 + 1)
