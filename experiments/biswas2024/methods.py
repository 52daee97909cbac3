"""Private trees: those of Biswas et al. 2024 as printed and as repaired, what they compare with, and ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from experiments.biswas2024.trees import Floats, Level, Published, Tree, residual_walk, total_walk
from experiments.hierarchy.compare import published_nodes

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.noise.bits import system_bits
from hushcount.privacy import Budget
from hushcount.shapes import LeafCounts, LevelCounters
from hushcount.sketches.leaves import count_leaves
from hushcount.sketches.levels import HierarchySketch

OFFLINE, STREAMING = "offline (ours)", "streaming (ours)"
LAPLACE = "Laplace h/epsilon on every node"
STABILITY = "stability histogram for each level"
COUNTING = "counting over trees (Ghazi et al. 2022)"
PRINTED = "Algorithm 1 as printed (not private)"
REPAIRED = "fresh gamma for each node (as announced in 2026)"
PRINTED_STREAMING = "Algorithms 3 and 4 as printed (not private)"
METHODS = (OFFLINE, PRINTED, REPAIRED, LAPLACE, STABILITY, COUNTING, STREAMING, PRINTED_STREAMING)
SUMS_OF_RESIDUALS = (OFFLINE, PRINTED, REPAIRED)


@dataclass(frozen=True)
class Setting:
    """What a release may spend, what is heavy, and the counters of each level of a stream."""

    epsilon: float
    delta: float
    threshold: int
    counters: int


@dataclass(frozen=True)
class Data:
    """The same flows as an exact tree and as sketches of each level."""

    addresses: npt.NDArray[np.uint32]
    step: int
    counters: int

    @cached_property
    def tree(self) -> Tree:
        """The exact tree."""
        return Tree.of(self.addresses, self.step)

    @cached_property
    def leaves(self) -> LeafCounts:
        """What the offline release reads."""
        return count_leaves(self.tree.hierarchy(), pa.array(self.addresses))

    @cached_property
    def levels(self) -> LevelCounters:
        """What the streaming release reads."""
        sketch = HierarchySketch(self.tree.hierarchy(), self.counters)
        sketch.update(pa.array(self.addresses))
        return sketch.shape()

    @cached_property
    def misra_gries(self) -> Tree:
        """A Misra-Gries sketch of each level, without its zeros: what Algorithm 3 reads."""
        levels = []
        for level in range(self.tree.height, 0, -1):
            shift = np.uint64(32 - self.step * level)
            sketch = hc.MisraGries(self.counters)
            sketch.update((self.addresses.astype(np.uint64) >> shift << shift).astype(np.int64))
            shape = sketch.shape()
            nodes, heights = shape.keys.to_numpy(zero_copy_only=False), shape.counts - shape.floor
            order = np.argsort(nodes)
            order = order[heights[order] > 0]
            levels.append(Level(level, nodes[order].astype(np.uint64), heights[order].astype(float)))
        return Tree(levels, self.step)


def draws(data: Data, setting: Setting) -> dict[str, Callable[[], Published]]:
    """Return what each method publishes, drawn anew at each call."""
    epsilon, tree, height = setting.epsilon, data.tree, data.tree.height
    random = np.random.default_rng()
    tau = setting.threshold
    least = 8 / epsilon * math.log(2 * height / setting.delta) + 1  # Algorithm 1, line 1

    def printed() -> Published:
        shared = random.laplace(0, 2 / epsilon)
        return {} if tau < least else residual_walk(tree, lambda found: _tested(found, shared, setting))

    def repaired() -> Published:
        def test(found: Floats) -> tuple[npt.NDArray[np.bool_], Floats]:
            most = 2 / epsilon * math.log(height / setting.delta)
            return _tested(found, np.clip(random.laplace(0, 2 / epsilon, len(found)), -most, most), setting)

        return {} if tau < least else residual_walk(tree, test)

    def laplace(lowest: float) -> Published:
        return total_walk(noisy(tree, height / epsilon), tau, lowest)

    stable = 1 + height / epsilon * math.log(height / (2 * setting.delta))
    return {
        OFFLINE: lambda: ours(HierarchyRelease, data.leaves, setting, tree),
        PRINTED: printed,
        REPAIRED: repaired,
        LAPLACE: lambda: laplace(0.0),
        STABILITY: lambda: laplace(stable),
        COUNTING: lambda: counting_over_trees(tree, setting),
        STREAMING: lambda: ours(LevelFloorRelease, data.levels, setting, tree),
        PRINTED_STREAMING: lambda: algorithm_3(data.misra_gries, setting),
    }


def _tested(residuals: Floats, gamma: Any, setting: Setting) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Biswas et al. 2024, Algorithm 1, lines 9 to 12: a noisy test, then a residual with other noise."""
    random, scale = np.random.default_rng(), 4 / setting.epsilon
    passed = residuals + random.laplace(0, scale, len(residuals)) + gamma >= setting.threshold
    return passed, residuals + random.laplace(0, scale, len(residuals))


def noisy(tree: Tree, scale: float) -> Tree:
    """Return a tree with Laplace noise of one scale on every node that has events."""
    random = np.random.default_rng()
    return tree.with_counts([one.counts + random.laplace(0, scale, len(one.counts)) for one in tree.levels])


def counting_over_trees(tree: Tree, setting: Setting) -> Published:
    """Ghazi et al. 2022 as Biswas et al. 2024 describe it: noisy maxima choose levels, each gets a
    histogram.

    At most c = n / threshold nodes are heavy, so at most min(c, h) levels are chosen, half of the budget
    for the choice and half for the counts.
    """
    random, epsilon = np.random.default_rng(), setting.epsilon / 2
    most = min(tree.height, max(1, int(tree.events // setting.threshold)))
    chosen, gamma = [], random.laplace(0, 2 * most / epsilon)
    for one in tree.levels:
        heavy = one.counts.max() + random.laplace(0, 4 * most / epsilon) + gamma >= setting.threshold
        chosen.append(heavy and sum(chosen) < most)
        if chosen[-1]:
            gamma = random.laplace(0, 2 * most / epsilon)
    counted = noisy(tree, most / epsilon)
    left = [
        one.counts if keep else np.zeros(len(one.counts))
        for one, keep in zip(counted.levels, chosen, strict=True)
    ]
    stable = 1 + most / epsilon * math.log(most / (2 * setting.delta))
    return total_walk(tree.with_counts(left), setting.threshold, stable)


def algorithm_3(sketches: Tree, setting: Setting) -> Published:
    """Biswas et al. 2024, Algorithm 3, then nodes whose noisy residual reaches the threshold."""
    random, height = np.random.default_rng(), sketches.height
    scale = height / setting.epsilon
    least = 1 + 6 * scale * math.log(3 * height / setting.delta)
    counts = []
    for one in sketches.levels:
        test = one.counts + random.laplace(0, 2 * scale) + random.laplace(0, 4 * scale, len(one.counts))
        kept = one.counts + random.laplace(0, 4 * scale, len(one.counts))
        counts.append(np.where(test > least, kept, 0.0))
    return total_walk(sketches.with_counts(counts), setting.threshold)


def ours(kind: type[Any], shape: Any, setting: Setting, tree: Tree) -> Published:
    """Return what a mechanism of hushcount publishes, without the root."""
    budget = Budget(setting.epsilon, setting.delta)
    try:
        mechanism = kind(budget, shape.public(), setting.threshold)
    except ParameterError:  # the threshold is lower than any that is private
        return {}
    release = mechanism.release(shape, system_bits())
    nodes = published_nodes(release, tree.hierarchy())
    totals = release.totals.to_pylist()
    return {node: float(total) for node, total in zip(nodes, totals, strict=True) if node[0] > 0}
