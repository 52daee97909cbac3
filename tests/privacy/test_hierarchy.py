"""The offline release of a hierarchy: exact divergences of neighbouring trees, and twins to be refuted."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.privacy.hierarchy_laws import (
    NodeTest,
    Tree,
    both_ways,
    chain,
    failures,
    worst_product,
)
from tests.privacy.twins.papers import SharedNoise, on_integers

from hushcount.audit.moved import path_divergence
from hushcount.mechanisms.hierarchy.chains import Failures, calibrate, chain_delta, chains, laplace
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Public

LAWS: list[tuple[Distribution, int]] = [
    (DiscreteLaplace(0.5), 12),
    (DiscreteLaplace(1.0), 8),
    (DiscreteGaussian(2.5), 9),
    (DiscreteGaussian(1.0), 4),
]
BUDGETS = [Budget(1.0, 1e-6), Budget(0.1, 1e-6), Budget(1.0, 1e-9), Budget(4.0, 1e-4)]
EPSILON = 1.0


def path(counts: tuple[int, ...]) -> Tree:
    """A path whose leaf has the first count; beside each node below the root a leaf with the next one."""
    tree: Tree = counts[0]
    for depth, beside in enumerate(counts[1:]):
        sibling: Tree = beside
        for _ in range(depth):
            sibling = (sibling,)
        tree = (tree, sibling) if beside else (tree,)
    return tree


@pytest.mark.parametrize(("law", "threshold"), LAWS, ids=str)
@pytest.mark.parametrize("tests", [2, 3, 4])
def test_one_leaf_keeps_the_bound_and_attains_it(law: Distribution, threshold: int, tests: int) -> None:
    bound = chain_delta(law, threshold, tests, EPSILON)
    tester = NodeTest(law, threshold, threshold + 6)
    alone = (0,) * (tests - 1)
    found = [
        both_ways(tester, path((count + 1, *alone)), path((count, *alone)), EPSILON)
        for count in range(threshold + 5)
    ]
    assert max(found) <= bound
    assert max(found) >= 0.8 * bound


@pytest.mark.parametrize(("law", "threshold"), LAWS, ids=str)
def test_trees_with_tested_neighbours_keep_the_bound(law: Distribution, threshold: int) -> None:
    """Everything is enumerated, off the path too: what other nodes publish, or pass up, does not help."""
    bound = chain_delta(law, threshold, 3, EPSILON)
    tester = NodeTest(law, threshold, threshold + 1)
    levels = (0, 1, threshold // 2, threshold, threshold + 2)
    for count, low, high in product((0, 1, threshold // 2, threshold - 1, threshold + 1), levels, levels):
        more, less = path((count + 1, low, high)), path((count, low, high))
        assert both_ways(tester, more, less, EPSILON) <= bound


@pytest.mark.parametrize(("law", "threshold"), LAWS, ids=str)
@pytest.mark.parametrize("tests", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_recursion_products_and_bound_agree(
    law: Distribution, threshold: int, tests: int, epsilon: float
) -> None:
    """V and W, every multiset of tests one by one, and the closed bound: the same number three times."""
    recursion = max(chain(law, threshold, tests, epsilon))
    exact = worst_product(failures(law, threshold, -8), tests, epsilon)
    bound = chain_delta(law, threshold, tests, epsilon)
    assert exact <= bound
    assert exact <= recursion * (1 + 1e-9) + 1e-12
    assert recursion <= exact * (1 + 1e-3) + 1e-6
    assert bound <= exact * 1.25 + 1e-9  # mixtures of tests that do not exist, on noise so coarse


@pytest.mark.parametrize(("kind", "tests"), [(laplace, 16), (DiscreteGaussian, 8), (DiscreteGaussian, 16)])
def test_recursion_and_bound_agree_on_long_paths(kind: type, tests: int) -> None:
    found = chains(kind, tests, Budget(1.0, 1e-6))[0]
    failing = Failures.of(found.noise, found.threshold)
    smaller_first, larger_first = chain(found.noise, found.threshold, tests, 1.0)
    assert failing.all_fail(tests, 1.0) == pytest.approx(smaller_first, rel=5e-3, abs=1e-12)
    assert failing.some_succeeds(tests, 1.0) == pytest.approx(larger_first, rel=1e-6)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("tests", [2, 5, 9, 33, 129])
def test_one_lower_threshold_and_less_noise_are_refuted(budget: Budget, tests: int) -> None:
    """By data whose divergence is known exactly."""
    found = calibrate(tests, budget)
    law, epsilon, delta = found.noise, budget.epsilon, budget.delta
    assert path_divergence(law, found.threshold, tests, epsilon) <= delta
    assert path_divergence(law, found.threshold - 1, tests, epsilon) > delta
    assert path_divergence(_scaled(law, Fraction(9, 10)), found.threshold, tests, epsilon) > delta


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("tests", [9, 33])
def test_a_high_threshold_does_not_pay_for_less_noise(budget: Budget, tests: int) -> None:
    for kind in (laplace, DiscreteGaussian):
        found = chains(kind, tests, budget)[0]
        less = _scaled(found.noise, Fraction(9, 10))
        assert path_divergence(less, 10 * found.threshold, tests, budget.epsilon) > budget.delta


def test_printed_algorithm_1_is_refuted() -> None:
    """Unrelated leaves at the threshold reveal the shared noise; then every failed test costs by itself."""
    places = np.linspace(-80, 80, 8001)
    weights = np.exp(-np.abs(places) / 2) / 4 * (places[1] - places[0])
    printed = SharedNoise(places, weights, _laplace_below(4.0))
    assert math.fsum(weights) == pytest.approx(1, abs=1e-4)
    assert printed.attack(0, 100, 5, EPSILON) > 1.8e-3
    assert printed.attack(-6, 1000, 32, EPSILON) > 1.2e-3
    assert printed.attack(0, 0, 5, EPSILON) < 1e-6  # the same path without the unrelated leaves


def test_printed_algorithm_1_on_the_integers_is_refuted() -> None:
    assert on_integers(DiscreteLaplace(0.5), DiscreteLaplace(0.25)).attack(0, 100, 5, EPSILON) > 2e-3
    assert on_integers(DiscreteLaplace(0.5), DiscreteLaplace(0.25)).attack(-6, 1000, 32, EPSILON) > 1.2e-3


@pytest.mark.parametrize(("tests", "nodes"), [(5, 100), (32, 1000)])
def test_the_attack_on_ours_stays_below_delta(tests: int, nodes: int) -> None:
    budget = Budget(1.0, 1e-6)
    mechanism = HierarchyRelease(budget, Public(height=tests - 1))
    ours = SharedNoise(np.zeros(1), np.ones(1), lambda t: np.asarray(mechanism.noise.tail(1 - _whole(t))))
    found = [ours.attack(residual, nodes, tests, budget.epsilon) for residual in range(-80, 80)]
    assert 0.8 * budget.delta <= max(found) <= budget.delta


def _whole(t: np.ndarray) -> np.ndarray:
    return np.asarray(t).astype(np.int64)


def _laplace_below(scale: float):
    def below(t):
        tail = 0.5 * np.exp(-np.abs(t) / scale)
        return np.where(t < 0, tail, 1 - tail)

    return below


def _scaled(law: Distribution, factor: Fraction) -> Distribution:
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.exact_epsilon / factor)
    return DiscreteGaussian(law.exact_sigma * factor)
