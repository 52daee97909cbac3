"""How close a private tree comes to the exact one: the three demands of Biswas et al. 2024's Problem 1,
and consistency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hushcount.hierarchies.addresses import Ipv4
from hushcount.releases.tree import TreeRelease
from hushcount.shapes import LeafCounts
from hushcount.sketches.leaves import hierarchical_heavy_hitters


@dataclass(frozen=True, slots=True)
class Truth:
    """All leaves with their counts, and the exact hierarchical heavy hitters."""

    hierarchy: Ipv4
    leaves: np.ndarray
    counts: np.ndarray
    exact: set[tuple[int, int]]  # (level, node)

    @classmethod
    def of(cls, shape: LeafCounts, threshold: int) -> Truth:
        """What a private tree of these leaves is compared with."""
        batches = list(shape.batches())
        leaves = np.concatenate([batch.leaves.to_numpy() for batch in batches])
        counts = np.concatenate([batch.counts for batch in batches])
        heavy = hierarchical_heavy_hitters(shape, threshold)
        exact = set(zip(heavy.levels.tolist(), heavy.nodes.to_pylist(), strict=True))
        return cls(shape.hierarchy, leaves, counts, exact)

    def totals(self, nodes: list[tuple[int, int]]) -> np.ndarray:
        """The exact counts below nodes."""
        sums = np.concatenate(([0], np.cumsum(self.counts)))
        levels, starts = (np.array(column, np.uint64) for column in zip(*nodes, strict=True))
        ends = starts + (np.uint64(1) << self.hierarchy.shifts[levels.astype(np.int64)])
        return sums[np.searchsorted(self.leaves, ends)] - sums[np.searchsorted(self.leaves, starts)]

    def largest_missed(self, published: set[tuple[int, int]]) -> int:
        """The largest residual, given what is published, of a node that is not."""
        nodes, residuals, largest = self.leaves, self.counts, 0
        for level in range(self.hierarchy.height, -1, -1):
            shift = self.hierarchy.shifts[level]
            nodes = (nodes >> shift) << shift
            first = np.flatnonzero(np.concatenate(([True], nodes[1:] != nodes[:-1])))
            nodes, residuals = nodes[first], np.add.reduceat(residuals, first)
            here = np.array(sorted(node for depth, node in published if depth == level), np.uint64)
            residuals = np.where(np.isin(nodes, here), 0, residuals)
            largest = max(largest, int(residuals.max()))
        return largest


def compare(release: TreeRelease, truth: Truth) -> dict[str, Any]:
    """Figures of one release."""
    nodes = published_nodes(release, truth.hierarchy)
    table = release.table
    totals, lower, upper = (table[name].to_numpy() for name in ("total", "lower", "upper"))
    true = truth.totals(nodes)
    hits = len(set(nodes) & truth.exact)
    error = np.abs(totals - true) / true
    return {
        "published": len(nodes),
        "exact": len(truth.exact),
        "precision": hits / len(nodes),
        "recall": hits / len(truth.exact),
        "f1": 2 * hits / (len(nodes) + len(truth.exact)),
        "largest_relative_error": float(error.max()),
        "mean_relative_error": float(error.mean()),
        "missed_over_threshold": truth.largest_missed(set(nodes)) - release.threshold,
        "true_total_in_interval": float(((lower <= true) & (true <= upper)).mean()),
        "consistent": consistency(release),
    }


def published_nodes(release: TreeRelease, hierarchy: Ipv4) -> list[tuple[int, int]]:
    """(level, lowest address) of the published nodes, from their labels."""
    addresses = [label.partition("/")[0] for label in release.nodes.to_pylist()]
    octets = [[0] * 4 if label == "*" else [int(part) for part in label.split(".")] for label in addresses]
    numbers = [int.from_bytes(bytes(each), "big") for each in octets]
    return list(zip(release.levels.to_pylist(), numbers, strict=True))


def consistency(release: TreeRelease) -> float:
    """The share of nodes whose residual and children add up to their total, within the intervals of all."""
    rows, table = release.rows, release.table
    residuals, lower, upper = (table[name].to_numpy() for name in ("residual", "lower", "upper"))
    least, most = residuals.copy(), residuals.copy()
    children = np.flatnonzero(rows.parents >= 0)
    np.add.at(least, rows.parents[children], lower[children])
    np.add.at(most, rows.parents[children], upper[children])
    return float(((least <= upper) & (lower <= most)).mean())
