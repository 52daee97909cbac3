"""Levels with fewer possible nodes than counters: no noisy floor, and what that spends, enumerated."""

from __future__ import annotations

import math
from functools import reduce
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.mechanisms.hierarchy.levels import above_zero, calibrated_levels
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.noise.gaussian import Distribution
from hushcount.privacy import Budget
from hushcount.shapes import Public

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]  # the law of one part of the output, in the larger and in the smaller data
BUDGETS = [(1.0, 1e-4, 1), (2.0, 1e-3, 2), (1.0, 1e-6, 2), (4.0, 1e-3, 3)]


def moved(law: Distribution) -> Pair:
    """A number that is always published and changes by 1: the root, or a count far above its threshold."""
    reach = law.two_sided(1e-12)
    values = np.arange(-reach, reach + 2)
    return np.asarray(law.pmf(values - 1)), np.asarray(law.pmf(values))


def node(law: Distribution, threshold: int, count: int) -> Pair:
    """A node of this count, and of one less: published from the threshold on if it occurs at all."""
    values = np.arange(threshold, max(threshold, count) + law.two_sided(1e-12))
    rows = []
    for own in (count, count - 1):
        shown = np.asarray(law.pmf(values - own)) if own else np.zeros(len(values))
        rows.append(np.append(shown, 1 - shown.sum()))
    return rows[0], rows[1]


def isolated(published: float) -> Pair:
    """Whether an isolated node of a level with a noisy floor is published."""
    return np.array([published, 1 - published]), np.array([0.0, 1.0])


def divergence(parts: list[Pair], epsilon: float) -> float:
    """The larger HS of independent parts together; outputs of equal ratio of a part are taken together."""
    p, q = reduce(_product, map(_merged, parts))
    bound = math.exp(epsilon)
    return max(float(np.maximum(p - bound * q, 0).sum()), float(np.maximum(q - bound * p, 0).sum()))


def _merged(pair: Pair) -> Pair:
    p, q = (side[(pair[0] > 1e-13) | (pair[1] > 1e-13)] for side in pair)
    ratio = np.round(np.log((p + 1e-300) / (q + 1e-300)), 9)
    _, where = np.unique(ratio, return_inverse=True)
    return np.bincount(where, p), np.bincount(where, q)


def _product(one: Pair, other: Pair) -> Pair:
    return _merged((np.outer(one[0], other[0]).ravel(), np.outer(one[1], other[1]).ravel()))


@pytest.mark.parametrize(("epsilon", "delta", "height"), BUDGETS)
def test_every_mixture_of_exact_levels_keeps_delta(epsilon: float, delta: float, height: int) -> None:
    found = calibrated_levels(epsilon, delta, height)
    law, least = found.noise.distribution, above_zero(found)
    assert 1 < least <= found.threshold
    states = [node(law, least, count) for count in (1, 2, least - 1, least, least + 1, 4 * least)]
    states.append(isolated(float(found.noise.isolated_tail(found.threshold))))  # a level with a noisy floor
    spent = [
        divergence([moved(law), *levels], epsilon) for levels in combinations_with_replacement(states, height)
    ]
    assert 0 < max(spent) <= delta
    assert float(law.tail(least - 1)) <= found.noise.difference_tail(found.threshold - 1)


@pytest.mark.parametrize(("epsilon", "delta", "height"), BUDGETS)
def test_without_a_threshold_an_exact_level_is_refuted(epsilon: float, delta: float, height: int) -> None:
    """A public floor is no public set of nodes that occur: one that occurs once shows with more than 1/2."""
    law = calibrated_levels(epsilon, delta, height).noise.distribution
    assert divergence([moved(law), node(law, 1, 1)], epsilon) > 0.5


def test_as_many_nodes_as_counters_are_refuted() -> None:
    """Then the sketch may be full: a node on one side alone can have a count far above any threshold."""
    stream = ["a"] * 200 + ["b"] * 200
    more, less = hc.SpaceSaving(counters=2), hc.SpaceSaving(counters=2)
    more.update([*stream, "c"])
    less.update(stream)
    sides = [
        dict(zip(s.shape().keys.to_pylist(), s.shape().counts.tolist(), strict=True)) for s in (more, less)
    ]
    alone = {key: count for key, count in sides[0].items() if key not in sides[1]}
    found = calibrated_levels(1.0, 1e-6, 1)
    shown = float(found.noise.distribution.tail(above_zero(found) - max(alone.values(), default=0)))
    assert shown > 0.99


def test_which_levels_are_exact_is_public() -> None:
    for counters, exact in ((256, 0), (257, 1), (70_000, 2)):
        sketch = hc.HierarchySketch("ipv4/8", counters)
        assert sketch.exact_levels == sketch.shape().exact == exact
        sketch.update(np.arange(1000) << 8)
        assert sketch.shape().exact == exact
    assert hc.HierarchySketch("path/3", 100_000).exact_levels == 0


def test_exact_levels_have_no_noisy_floor_and_closer_bounds() -> None:
    budget = Budget(1.0, 1e-6)
    keys = np.repeat(np.array([10 << 24, 11 << 24]), (9000, 5000))
    few, many = (hc.HierarchySketch("ipv4/8", counters) for counters in (200, 300))
    for sketch in (few, many):
        sketch.update(keys)
    mechanism = LevelFloorRelease(budget, Public(height=4), 500)
    floors = [mechanism.noisy_levels(sketch.shape(), SeededBits(5)).floors for sketch in (few, many)]
    assert floors[0][1] != 0
    assert floors[1][1] == 0
    wide, close = (mechanism.release(sketch.shape(), SeededBits(5)) for sketch in (few, many))
    assert close.notes[0] == (
        "Level 1 has fewer possible nodes than counters, so no sketch overcounts a node there."
    )
    assert not wide.notes
    width = [tree.error._margins(0.025)[tree.error.exact == 0] for tree in (wide, close)]
    assert width[1] < width[0]


def test_a_release_with_exact_levels_verifies(tmp_path) -> None:
    path = tmp_path / "tree.json"
    asked = {"hierarchy": "ipv4/8", "threshold": 500, "method": "streaming", "epsilon": 1.0, "delta": 1e-6}
    made = hc.tree(["10.0.0.1"] * 3000, output=path, **asked)
    assert made.error.exact == 1
    assert hc.verify(path).holds
    assert hc.read_release(path).table == made.table
