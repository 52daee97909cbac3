"""Events of a weight: output laws of all counts that differ by up to W, and noise for one event refuted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, product

import pyarrow as pa
import pytest
from tests.privacy.hierarchy_laws import NodeTest, Tree, both_ways, worst_product

from hushcount.audit import laws
from hushcount.audit.cases import noisy
from hushcount.audit.moved import path_divergence
from hushcount.errors import NotProvedError
from hushcount.keys.weights import WeightColumn
from hushcount.mechanisms.base import Mechanism
from hushcount.mechanisms.counters.floor import FloorRelease
from hushcount.mechanisms.hierarchy.chains import calibrate, chain_delta
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram
from hushcount.mechanisms.histograms.laplace import LaplaceManyKeys, LaplaceThreshold
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import Ppswor
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import EVENT, Budget
from hushcount.shapes import ExactCounts, Public
from hushcount.sources.duckdb.counted import counted_keys
from hushcount.sources.open import open_source
from hushcount.sources.wrapped import WeighedSource

WEIGHTS = (2, 3, 5)
BUDGETS = [Budget(1.0, 1e-4), Budget(0.5, 1e-6)]
TREES: list[tuple[Distribution, int]] = [
    (DiscreteLaplace(0.25), 24),
    (DiscreteLaplace(0.5), 12),
    (DiscreteGaussian(4.0), 15),
    (DiscreteGaussian(2.5), 9),
]


def of_weight(weight: int, public: Public = Public()) -> Public:  # noqa: B008
    return replace(public, unit=replace(EVENT, weight=weight))


def geometric_row(mechanism: TruncatedGeometric, count: int) -> dict[int, int]:
    """What is published of a count, in integers; 0 is nothing."""
    row: dict[int, int] = {}
    for value, (low, high) in enumerate(pairwise(mechanism.noise.masses)):
        left = max(count - value, 0)
        row[left] = row.get(left, 0) + high - low
    return row


def excess(p: Mapping[int, float], q: Mapping[int, float], epsilon: float) -> float:
    return math.fsum(max(mass - math.exp(epsilon) * q.get(value, 0), 0.0) for value, mass in p.items())


def worst_geometric(mechanism: TruncatedGeometric, weight: int, epsilon: float) -> float:
    whole, last = 1 << mechanism.noise.width, mechanism.noise.largest + weight + 2
    rows = [geometric_row(mechanism, count) for count in range(last)]
    pairs = [(i, i - v) for i in range(1, last) for v in range(1, min(weight, i) + 1)]
    both = ((rows[i], rows[j]) for one in pairs for i, j in (one, one[::-1]))
    return max(excess(p, q, epsilon) for p, q in both) / whole


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_truncated_geometric_keeps_delta_and_spends_it(budget: Budget, weight: int) -> None:
    mechanism = TruncatedGeometric(budget, of_weight(weight))
    spent = worst_geometric(mechanism, weight, budget.epsilon)
    assert 0.999 * budget.delta <= spent <= budget.delta * (1 + 1e-9)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_truncated_geometric_for_one_event_is_refuted(weight: int) -> None:
    """For a weight of 2 it spends e + 1 times its delta: a new key is published as often."""
    mechanism = TruncatedGeometric(BUDGETS[0])
    assert worst_geometric(mechanism, weight, 1.0) > 3.5 * BUDGETS[0].delta
    assert worst_geometric(TruncatedGeometric(BUDGETS[0], of_weight(weight)), weight + 1, 1.0) > 1e-4


@pytest.mark.parametrize("kind", [LaplaceThreshold, LaplaceManyKeys])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_laplace_threshold_keeps_delta_and_one_lower_is_refuted(
    budget: Budget, weight: int, kind: type[LaplaceThreshold]
) -> None:
    mechanism = kind(budget, of_weight(weight, Public(moved=1)))
    tight = replace(noisy(mechanism), delta=float(mechanism.noise.tail(mechanism.threshold - weight)))
    assert tight.delta <= budget.delta
    found = []
    for count, step in product(range(1, mechanism.threshold + 4), range(1, weight + 1)):
        more, less = {"x": count}, {"x": count - step} if count > step else {}
        found += [laws.independent(tight, sides)[0] for sides in ((more, less), (less, more))]
    assert 0.999 * tight.delta <= max(found) <= tight.delta * (1 + 1e-9)
    lower = replace(tight, threshold=tight.threshold - 1)
    assert laws.independent(lower, ({"x": weight}, {}))[0] > tight.delta * 1.05
    one = noisy(kind(budget, of_weight(1, Public(moved=1))))
    high = one.threshold + 9
    assert laws.independent(one, ({"x": high + weight}, {"x": high}))[0] > 0.1  # noise for one event


@pytest.mark.parametrize("weight", [2, 3])
def test_samples_keep_delta(weight: int) -> None:
    budget = Budget(1.0, 1e-3)
    mechanism = PrivateSample(budget, of_weight(weight), Ppswor(0.2))
    last = mechanism.rows.warm_up + weight + 2
    listed = [_sampled(mechanism, count) for count in range(last)]
    found = [
        max(excess(listed[i], listed[j], 1.0), excess(listed[j], listed[i], 1.0))
        for i in range(last)
        for j in range(max(0, i - weight), i)
    ]
    assert 0.9 * budget.delta <= max(found) <= budget.delta * (1 + 1e-9)


def _sampled(mechanism: PrivateSample, count: int) -> dict[int, float]:
    values, chances = mechanism.distribution().row(count)
    found = {int(value): float(chance) for value, chance in zip(values, chances, strict=True)}
    return found | {0: 1 - math.fsum(chance for value, chance in found.items() if value)}


def path(counts: tuple[int, ...]) -> Tree:
    """A path whose leaf has the first count; beside each node below the root a leaf with the next one."""
    tree: Tree = counts[0]
    for depth, beside in enumerate(counts[1:]):
        sibling: Tree = beside
        for _ in range(depth):
            sibling = (sibling,)
        tree = (tree, sibling) if beside else (tree,)
    return tree


@pytest.mark.parametrize(("law", "threshold"), TREES, ids=str)
@pytest.mark.parametrize("weight", [2, 3])
def test_trees_keep_the_bound_and_attain_it(law: Distribution, threshold: int, weight: int) -> None:
    """All outputs of small trees, with tested neighbours, for every weight up to W."""
    bound = chain_delta(law, threshold, 3, 1.0, weight)
    tester = NodeTest(law, threshold, threshold + 1)
    levels = (0, 1, threshold - 1)
    counts = (0, 1, threshold // 2, threshold - weight, threshold - 1, threshold + 2)
    found = [
        both_ways(tester, path((count + step, low, high)), path((count, low, high)), 1.0)
        for count, low, high, step in product(counts, levels, levels, range(1, weight + 1))
    ]
    assert max(found) <= bound
    tester = NodeTest(law, threshold, threshold + 6)
    alone = [
        both_ways(tester, path((count + weight, 0, 0)), path((count, 0, 0)), 1.0)
        for count in range(threshold + 5)
    ]
    assert 0.8 * bound <= max(alone) <= bound
    assert max(alone) > chain_delta(law, threshold, 3, 1.0)  # the bound for one event is refuted


@pytest.mark.parametrize(("law", "threshold"), TREES, ids=str)
@pytest.mark.parametrize("weight", [2, 5])
def test_every_product_of_tests_keeps_the_bound(law: Distribution, threshold: int, weight: int) -> None:
    pairs = [(law.tail(1 - t), law.tail(1 + weight - t)) for t in range(-8, threshold)]
    exact = worst_product([(1.0, 1 - law.tail(threshold - weight)), *pairs], 3, 1.0)
    bound = chain_delta(law, threshold, 3, 1.0, weight)
    assert exact <= bound <= exact * 1.25 + 1e-9


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.1, 1e-9)], ids=str)
@pytest.mark.parametrize(("tests", "weight"), [(2, 2), (5, 10), (9, 100), (33, 7)])
def test_less_noise_or_threshold_for_a_tree_is_refuted(budget: Budget, tests: int, weight: int) -> None:
    found = calibrate(tests, budget, weight=weight)
    law, epsilon, delta = found.noise, budget.epsilon, budget.delta
    assert 0.85 * delta <= path_divergence(law, found.threshold, tests, epsilon, weight) <= delta
    assert path_divergence(law, found.threshold - weight, tests, epsilon, weight) > delta
    one = calibrate(tests, budget)
    assert path_divergence(one.noise, one.threshold, tests, epsilon, weight) > 2 * delta


def test_steps_of_a_wide_noise_are_an_upper_bound() -> None:
    """Above a deviation of 1024 losses are taken in blocks: more than the exact sum, by less than 2%."""
    law = DiscreteGaussian(2048.5)
    blocks, exact = (
        chain_delta(law, 11_000, 5, 1.0, 250),
        path_divergence(law, 11_000, 5, 1.0, 250),
    )
    assert exact <= blocks <= 1.25 * exact


ROWS = [("a", "2"), ("b", "-1"), ("a", "9"), ("b", "3"), ("c", "-2"), ("a", "-1"), ("c", "1.5"), (None, "2")]


def histogram(rows: list[tuple[str | None, str]], most: int) -> dict[str, int]:
    keys, weights = zip(*rows, strict=True) if rows else ((), ())
    table = pa.table({"key": pa.array(keys, pa.string()), "n": pa.array(weights, pa.string())})
    weight = WeightColumn("n", most)
    source = WeighedSource(open_source(table, column="key", weight=weight, ordered=False), weight)
    found: dict[str, int] = {}
    for names, counts in counted_keys(source):
        found |= dict(zip(names.to_pylist(), counts.tolist(), strict=True))
    return found


@pytest.mark.parametrize("most", [1, 3, 20])
def test_one_row_changes_one_count_by_at_most_the_bound(most: int) -> None:
    whole = histogram(ROWS, most)
    assert all(count >= 1 for count in whole.values())
    for index in range(len(ROWS)):
        less = histogram(ROWS[:index] + ROWS[index + 1 :], most)
        moved = {key: abs(whole.get(key, 0) - less.get(key, 0)) for key in whole.keys() | less.keys()}
        assert sum(amount > 0 for amount in moved.values()) <= 1
        assert max(moved.values(), default=0) <= most
    assert histogram(ROWS, 3) == {"a": 4, "b": 2}


@pytest.mark.parametrize(
    ("kind", "public"),
    [
        (FloorRelease, Public(candidates=4, parts=5)),
        (GaussianSparseHistogram, Public(moved=2, shape=ExactCounts)),
        (LevelFloorRelease, Public(candidates=4, parts=5, height=2)),
    ],
)
def test_what_is_proved_for_single_events_refuses_weights(kind: type[Mechanism], public: Public) -> None:
    with pytest.raises(NotProvedError, match="is proved for events that count 1 each; weights are proved"):
        kind(Budget(1.0, 1e-6), of_weight(2, public))
