"""Exact counts of users: output distributions enumerated, reference values, and twins that are refuted."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from hushcount.audit import laws as hs
from hushcount.audit.moved import many_keys_divergence
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram, sparse_histogram
from hushcount.mechanisms.histograms.geometric_noise import TruncatedGeometricNoise
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.users import best_for_exact, exact_routes
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.privacy import USER, Budget
from hushcount.shapes import ExactCounts, Public

VECTORS = json.loads(Path("tests/vectors/users.json").read_text())


def row(masses: list[int], count: int) -> dict[int, int]:
    """What a count leaves: the masses of 0 (not published), 1, 2, ..."""
    found: dict[int, int] = {}
    for value, mass in enumerate(masses):
        found[max(count - value, 0)] = found.get(max(count - value, 0), 0) + mass
    return found if count else {0: sum(masses)}


def masses_of(noise: TruncatedGeometricNoise) -> list[int]:
    return [high - low for low, high in pairwise(noise.masses)]


def integral_masses(epsilon: float, delta: float) -> tuple[int, list[int]]:
    """The truncated geometric with an integral L: exp(epsilon min(k, 2 L - k)), as large as delta allows."""
    growth, length = math.exp(epsilon), 1
    while (growth - 1) / (growth**length * (growth + 1) - 2) > delta:
        length += 1
    weights = [growth ** min(k, 2 * length - k) for k in range(2 * length + 1)]
    return length, [round(weight / sum(weights) * (1 << 60)) for weight in weights]


def losses(masses: list[int], count: int, step: int) -> list[tuple[float, float]]:
    """Pairs of probabilities of each output, for a count and its neighbour."""
    p, q, whole = row(masses, count + step), row(masses, count + 1 - step), sum(masses)
    return [(p.get(value, 0) / whole, q.get(value, 0) / whole) for value in p.keys() | q.keys()]


def divergence(pairs: list[list[tuple[float, float]]], epsilon: float) -> float:
    """The hockey-stick divergence of independent outputs."""
    growth = math.exp(epsilon)
    total = 0.0
    for outputs in product(*pairs):
        p, q = (math.prod(each[side] for each in outputs) for side in (0, 1))
        total += max(p - growth * q, 0.0)
    return total


def worst(masses: list[int], keys: int, epsilon: float, counts: range) -> float:
    grid = [sorted(each) for each in product(counts, repeat=keys)]
    unique = {tuple(each) for each in grid}
    return max(
        divergence([losses(masses, count, step) for count in each], epsilon)
        for each in unique
        for step in (0, 1)
    )


@pytest.mark.parametrize("case", VECTORS["truncated_geometric_enumerated"]["cases"][:2], ids=str)
def test_two_keys_with_integral_noise_spend_what_the_reference_says(case):
    keys, epsilon, delta = case["max_keys"], case["epsilon"], case["delta"]
    length, masses = integral_masses(epsilon / keys, delta / keys)
    assert length == case["L"]
    spent = worst(masses, keys, epsilon, range(len(masses) + 1))
    assert spent / delta == pytest.approx(case["worst_over_delta"], rel=1e-3)


@pytest.mark.parametrize(("keys", "delta"), [(2, 1e-2), (2, 1e-3)])
def test_keys_of_one_user_together_keep_the_budget_and_attain_it_at_new_keys(keys, delta):
    found = TruncatedGeometric(Budget(1.0, delta), Public(moved=keys))
    masses = masses_of(found.noise)
    spent = worst(masses, keys, 1.0, range(len(masses) + 1))
    assert spent <= delta
    new = 1 - (1 - delta / keys) ** keys
    assert spent == pytest.approx(new, rel=1e-6)


def test_three_keys_keep_the_budget():
    found = TruncatedGeometric(Budget(1.0, 1e-2), Public(moved=3))
    masses = masses_of(found.noise)
    counts = range(0, len(masses) + 2, 4)
    assert worst(masses, 3, 1.0, counts) <= 1e-2
    new = divergence([losses(masses, 0, 1)] * 3, 1.0)
    assert new == pytest.approx(1 - (1 - 1e-2 / 3) ** 3, rel=1e-6)


def test_the_twin_that_gives_each_of_two_keys_the_whole_budget_is_refuted():
    integral = integral_masses(1.0, 1e-6)[1]
    optimal = masses_of(TruncatedGeometric(Budget(1.0, 1e-6)).noise)
    for masses, spent in ((integral, 0.338), (optimal, 0.310)):
        assert divergence([losses(masses, len(masses), 1)] * 2, 1.0) == pytest.approx(spent, abs=1e-3)


def thresholded(law: DiscreteGaussian, count: int, threshold: int, last: int):
    values = np.arange(threshold, last + 1)
    if count == 0:
        return np.concatenate(([1.0], np.zeros(len(values))))
    return np.concatenate(([1 - float(law.tail(threshold - count))], np.asarray(law.pmf(values - count))))


@pytest.mark.parametrize("case", VECTORS["gshm_enumerated"]["cases"], ids=str)
def test_gaussian_noise_for_two_keys_attains_the_formula(case):
    law, threshold, epsilon = DiscreteGaussian(case["sigma"]), case["threshold"], case["epsilon"]
    last = threshold + 12 + law.two_sided(1e-14)
    rows = [thresholded(law, count, threshold, last) for count in range(threshold + 13)]
    spent = 0.0
    for a, b in product(range(threshold + 12), repeat=2):
        if a > b:
            continue
        sides = [np.outer(rows[a + step], rows[b + step]).ravel() for step in (0, 1)]
        for p, q in (sides, sides[::-1]):
            spent = max(spent, hs.hockey_stick((p, q), epsilon))
    assert spent / case["delta"] == pytest.approx(case["worst_over_delta"], rel=1e-5)
    formula = many_keys_divergence(law, threshold, epsilon, 2)
    assert spent == pytest.approx(formula, rel=1e-6)


@pytest.mark.parametrize(
    "case", VECTORS["exact_counts"], ids=lambda case: f"{case['max_keys']}-{case['delta']}"
)
def test_reliable_counts_are_those_of_the_reference(case):
    budget, keys = Budget(case["epsilon"], case["delta"]), case["max_keys"]
    near = max(1, case["reliable"] // 1000)
    routes = {route.mechanism: route for route in exact_routes(budget, keys)}
    assert abs(routes["gaussian"].reliable - case["reliable"]) <= near
    if "truncated-geometric" in routes:
        assert abs(routes["truncated-geometric"].reliable - case["truncated_geometric_reliable"]) <= 1
    better = min(case["reliable"], case["truncated_geometric_reliable"])
    assert abs(best_for_exact(budget, keys).reliable - better) <= near


def test_the_mechanism_changes_after_three_keys():
    chosen = [best_for_exact(Budget(1.0, 1e-6), keys) for keys in (1, 2, 3, 4, 8, 100)]
    assert [route.mechanism for route in chosen] == ["truncated-geometric"] * 3 + ["gaussian"] * 3
    assert [route.reliable for route in chosen] == [16, 32, 47, 58, 84, 309]


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_a_threshold_one_lower_is_refuted(keys):
    found = sparse_histogram(1.0, 1e-6, keys)
    assert many_keys_divergence(found.noise, found.threshold, 1.0, keys) <= 1e-6
    assert many_keys_divergence(found.noise, found.threshold - 1, 1.0, keys) > 1e-6


def test_the_continuous_sigma_is_refuted():
    assert many_keys_divergence(DiscreteGaussian(4.2247), 60, 1.0, 1) == pytest.approx(1.02e-6, rel=2e-3)


@pytest.mark.parametrize("least", [1, 2, 5])
def test_a_minimum_of_users_keeps_the_budget_at_every_count(least):
    """Counts below the minimum give nothing; the others give what counts above it less give."""
    public = Public(unit=USER, moved=2, shape=ExactCounts, min_users=least)
    geometric = TruncatedGeometric(Budget(1.0, 1e-2), public)
    assert geometric.floor == least - 1
    masses = masses_of(geometric.noise)

    def left(count: int, step: int):
        above = [max(each - geometric.floor, 0) for each in (count + step, count + 1 - step)]
        p, q = (row(masses, each) for each in above)
        whole = sum(masses)
        return [(p.get(value, 0) / whole, q.get(value, 0) / whole) for value in p.keys() | q.keys()]

    pairs = [(a, b) for a, b in product(range(0, len(masses) + least, 2), repeat=2) if a <= b]
    for step in (0, 1):
        for pair in pairs:
            assert divergence([left(count, step) for count in pair], 1.0) <= 1e-2
    gaussian = GaussianSparseHistogram(Budget(1.0, 1e-6), public)
    assert gaussian.threshold == sparse_histogram(1.0, 1e-6, 2).threshold + least - 1
    assert gaussian.least_value == least


def test_a_minimum_without_a_higher_threshold_is_refuted():
    """The twin: keys below K left out, and the threshold of K = 1 for the others."""
    found, least = sparse_histogram(1.0, 1e-6, 1), 30
    shown = float(found.noise.tail(found.threshold - least))  # a key of K users, beside one of K - 1: nothing
    assert shown > 0.9
    assert float(found.noise.tail(found.threshold + least - 1 - least)) <= 1e-6


@pytest.mark.parametrize("keys", [1, 2, 3, 7])
def test_shares_of_the_budget_are_rounded_down(keys):
    each = TruncatedGeometric(Budget(0.7, 3e-7), Public(moved=keys)).each
    assert keys * Fraction(each.epsilon) <= Fraction(0.7)
    assert keys * Fraction(each.delta) <= Fraction(3e-7)
