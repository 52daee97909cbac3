"""Exact trees of addresses, and the walk from the leaves up that finds hierarchical heavy hitters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.hierarchies.addresses import Ipv4

Nodes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Published = dict[tuple[int, int], float]  # (level, lowest address) and the estimate of the total
BITS = 32


@dataclass(frozen=True)
class Level:
    """The nodes of one level that have events, with what is counted of them."""

    level: int
    nodes: Nodes
    counts: Floats


@dataclass(frozen=True)
class Tree:
    """The levels of a hierarchy of addresses, the leaves first; the root is left out, as in the paper."""

    levels: Sequence[Level]
    step: int

    @property
    def height(self) -> int:
        """The number of levels below the root."""
        return len(self.levels)

    @property
    def events(self) -> float:
        """The number of events."""
        return float(self.levels[0].counts.sum())

    @classmethod
    def of(cls, addresses: npt.NDArray[np.uint32], step: int) -> Tree:
        """Count the nodes of all levels, which are `step` bits apart."""
        leaves, counts = np.unique(addresses, return_counts=True)
        nodes, totals = leaves.astype(np.uint64), counts.astype(float)
        levels = []
        for level in range(BITS // step, 0, -1):
            levels.append(Level(level, nodes, totals))
            parents = parents_of(nodes, level, step)
            first = starts(parents)
            nodes, totals = parents[first], np.add.reduceat(totals, first)
        return cls(levels, step)

    def hierarchy(self) -> Ipv4:
        """Return the hierarchy as the mechanisms of hushcount know it."""
        return Ipv4(self.step)

    def with_counts(self, counts: Sequence[Floats]) -> Tree:
        """Return the same nodes with other counts."""
        return Tree(
            [Level(one.level, one.nodes, values) for one, values in zip(self.levels, counts, strict=True)],
            self.step,
        )

    def totals(self, published: Published) -> Floats:
        """Return the exact totals of published nodes."""
        known = {one.level: one for one in self.levels}
        found = []
        for level, node in published:
            place = np.searchsorted(known[level].nodes, np.uint64(node))
            found.append(known[level].counts[place])
        return np.array(found)


def parents_of(nodes: Nodes, level: int, step: int) -> Nodes:
    """Return the nodes one level up, of which a node is named by its lowest address."""
    shift = np.uint64(BITS - step * (level - 1))
    return nodes >> shift << shift


def starts(nodes: Nodes) -> npt.NDArray[np.int64]:
    """Return where each run of equal sorted nodes begins."""
    return np.flatnonzero(np.concatenate(([True], nodes[1:] != nodes[:-1])))


def residual_walk(tree: Tree, test: Callable[[Floats], tuple[npt.NDArray[np.bool_], Floats]]) -> Published:
    """Publish, from the leaves up, the nodes whose exact residual passes a test, with a noisy residual.

    The total of a published node is the sum of the noisy residuals at and below it.
    """
    residuals = tree.levels[0].counts
    below = np.zeros(len(residuals))  # noisy residuals that were published below each node
    published: Published = {}
    for one in tree.levels:
        passed, noisy = test(residuals)
        passed &= residuals > 0
        totals = below + np.where(passed, noisy, 0.0)
        _add(published, one, passed, totals)
        residuals = np.where(passed, 0.0, residuals)
        first = starts(parents_of(one.nodes, one.level, tree.step))
        residuals, below = np.add.reduceat(residuals, first), np.add.reduceat(totals, first)
    return published


def total_walk(tree: Tree, threshold: float, lowest: float = 0.0) -> Published:
    """Publish, from the leaves up, nodes whose count, less what is published below, reaches a threshold.

    Counts up to `lowest` are 0: no node is published for them.
    """
    published: Published = {}
    nodes, covered = np.empty(0, np.uint64), np.empty(0)
    for one in tree.levels:
        below = np.zeros(len(one.nodes))
        if len(nodes):
            parents = parents_of(nodes, one.level + 1, tree.step)
            first = starts(parents)
            places = np.searchsorted(one.nodes, parents[first])
            known = (places < len(one.nodes)) & (
                one.nodes[np.minimum(places, len(one.nodes) - 1)] == parents[first]
            )
            below[places[known]] = np.add.reduceat(covered, first)[known]
        passed = (one.counts > lowest) & (one.counts - below >= threshold)
        _add(published, one, passed, one.counts)
        totals = np.where(passed, one.counts, below)
        kept = totals > 0
        nodes, covered = one.nodes[kept], totals[kept]
    return published


def exact(tree: Tree, threshold: float) -> Published:
    """Return the exact hierarchical heavy hitters with their totals."""
    return residual_walk(tree, lambda residuals: (residuals >= threshold, residuals))


def largest_missed(tree: Tree, published: Published) -> float:
    """Return the largest exact residual, given what is published, of a node that is not."""
    residuals, largest = tree.levels[0].counts, 0.0
    for one in tree.levels:
        here = np.array(sorted(node for level, node in published if level == one.level), np.uint64)
        residuals = np.where(np.isin(one.nodes, here), 0.0, residuals)
        largest = max(largest, float(residuals.max()))
        residuals = np.add.reduceat(residuals, starts(parents_of(one.nodes, one.level, tree.step)))
    return largest


def _add(published: Published, one: Level, passed: npt.NDArray[np.bool_], totals: Floats) -> None:
    for node, total in zip(one.nodes[passed].tolist(), totals[passed].tolist(), strict=True):
        published[one.level, node] = total


def keys(addresses: npt.NDArray[np.uint32]) -> pa.Array:
    """Return addresses as the hierarchies of hushcount read them."""
    return pa.array(addresses)
