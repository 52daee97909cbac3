"""The output laws of the Gaussian sparse histogram and of its Laplace sibling, computed exactly."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

from hushcount.audit import laws as hs
from hushcount.audit.moved import gaussian_divergence, many_keys_divergence
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram, log_hockey_stick
from hushcount.mechanisms.histograms.laplace import LaplaceManyKeys
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.privacy import Budget
from hushcount.shapes import Public

Floats = npt.NDArray[np.float64]

BUDGETS = [Budget(1.0, 1e-6), Budget(0.5, 1e-9), Budget(4.0, 1e-4), Budget(0.1, 1e-3), Budget(10.0, 1e-6)]


def mechanism(budget: Budget, moved: int) -> GaussianSparseHistogram:
    return GaussianSparseHistogram(budget, Public(moved=moved))


@pytest.mark.parametrize("moved", [1, 2, 3])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_exact_divergence_is_at_most_delta_and_close_to_it(budget: Budget, moved: int) -> None:
    found = mechanism(budget, moved)
    spent = many_keys_divergence(found.noise, found.threshold, budget.epsilon, moved)
    assert spent <= budget.delta
    if budget.epsilon <= 1:  # else sigma is so small that one step of the lattice is a large one
        assert spent >= 0.9 * budget.delta


@pytest.mark.parametrize("moved", [1, 2, 3])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_one_lower_threshold_and_less_noise_are_refuted(budget: Budget, moved: int) -> None:
    found = mechanism(budget, moved)
    assert many_keys_divergence(found.noise, found.threshold - 1, budget.epsilon, moved) > budget.delta
    less = DiscreteGaussian(0.98 * float(found.noise.sigma))
    assert many_keys_divergence(less, found.threshold, budget.epsilon, moved) > budget.delta


def test_the_continuous_calibration_exceeds_delta_on_the_integers() -> None:
    def continuous(sigma: float) -> float:  # Balle and Wang 2018, Theorem 8
        above, below = 1 / (2 * sigma) - sigma, -1 / (2 * sigma) - sigma
        return float(ndtr(above) - math.e * ndtr(below))

    assert continuous(4.22467) > 1e-6 > continuous(4.22468)
    assert gaussian_divergence(DiscreteGaussian(4.2247), 1, 1.0) == pytest.approx(1.0196e-6, rel=1e-5)
    assert gaussian_divergence(DiscreteGaussian(4.225), 1, 1.0) == pytest.approx(1.01867e-6, rel=1e-5)
    assert gaussian_divergence(DiscreteGaussian(4.231), 1, 1.0) == pytest.approx(9.9925e-7, rel=1e-5)


def test_the_divergence_is_not_monotone_in_sigma() -> None:
    values = [gaussian_divergence(DiscreteGaussian(sigma), 1, 3.0) for sigma in np.linspace(0.9, 1.3, 200)]
    assert any(later > earlier for earlier, later in pairwise(values))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("sigma", [0.4, 0.7, 1.0, 1.7, 2.9, 3.0, 6.5])
@pytest.mark.parametrize("common", [1, 2, 3, 10, 40])
def test_the_bound_is_above_the_exact_divergence_and_close(common: int, sigma: float, epsilon: float) -> None:
    exact = gaussian_divergence(DiscreteGaussian(sigma), common, epsilon)
    bound = math.exp(log_hockey_stick(np.array([float(common)]), epsilon, sigma)[0])
    if exact > 1e-18:
        assert bound >= exact * (1 - 1e-10)
    if sigma >= 1.7 and sigma**2 * epsilon > common / 2 and exact > 1e-18:
        assert bound <= exact * (1 + 1e-5)


@pytest.mark.parametrize("moved", [10, 100])
def test_many_keys_keep_their_budget_exactly_too(moved: int) -> None:
    """Where the proved bound decides, the exact convolution agrees."""
    budget = Budget(1.0, 1e-6)
    found = mechanism(budget, moved)
    spent = [gaussian_divergence(found.noise, common, 1.0) for common in (moved // 2, moved - 1, moved)]
    hidden = float(found.noise.tail(found.threshold - 1))
    totals = [
        hs_j + isolated * hidden for hs_j, isolated in zip(spent, (moved - moved // 2, 1, 0), strict=True)
    ]
    assert max(totals) <= budget.delta
    assert max(totals) >= 0.98 * budget.delta


def thresholded(law: DiscreteGaussian, count: int, threshold: int, last: int) -> Floats:
    """P[suppressed], then P[count + Z = threshold + i]; count 0 is not there."""
    values = np.arange(threshold, last + 1)
    if count == 0:
        return np.concatenate(([1.0], np.zeros(len(values))))
    suppressed = 1 - float(law.tail(threshold - count))
    return np.concatenate(([suppressed], np.asarray(law.pmf(values - count))))


@pytest.mark.parametrize("counts", list(product((0, 1, 5, 12), repeat=2)))
def test_outputs_enumerated_one_by_one_keep_the_budget(counts: tuple[int, int]) -> None:
    """Nothing assumed: every pair of published values, before and after both counts rise by one."""
    budget = Budget(2.0, 1e-3)
    found = mechanism(budget, 2)
    last = 14 + found.noise.two_sided(1e-14)
    laws = [
        np.outer(*(thresholded(found.noise, count + step, found.threshold, last) for count in counts))
        for step in (0, 1)
    ]
    for p, q in (laws, laws[::-1]):
        assert hs.hockey_stick((p.ravel(), q.ravel()), budget.epsilon) <= budget.delta


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(3.0, 1e-4)], ids=str)
def test_laplace_keeps_its_budget_and_one_lower_is_refuted(budget: Budget) -> None:
    found = LaplaceManyKeys(budget, Public(moved=2))
    for counts in product((0, 1, found.threshold, found.threshold + 3), repeat=2):
        sides = [{f"k{i}": count + step for i, count in enumerate(counts) if count + step} for step in (0, 1)]
        law = hs.NoisyThreshold(found.noise, found.threshold, budget.epsilon, budget.delta)
        for pair in (sides, sides[::-1]):
            assert hs.independent(law, (pair[0], pair[1]))[1] <= budget.delta
    tight = Budget(budget.epsilon, (1 - (1 - float(found.noise.tail(found.threshold - 1))) ** 2) * (1 + 1e-9))
    again = LaplaceManyKeys(tight, Public(moved=2))
    lower = hs.NoisyThreshold(again.noise, again.threshold - 1, tight.epsilon, tight.delta)
    assert hs.independent(lower, ({"k0": 1, "k1": 1}, {}))[0] > tight.delta
