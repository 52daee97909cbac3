"""From published levels to a tree: conservative residuals, a function of published values only.

Biswas et al. 2024, Algorithm 4, with the noisy floor of a level in place of the length divided by the
number of counters. From the count of a node (an upper estimate) the lower estimates of its nearest published
descendants are subtracted, so the residual is too large rather than too small. A node is published if its
residual reaches the threshold, from the leaves up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts
from hushcount.privacy import LARGEST_COUNT
from hushcount.releases.trees.nodes import TreeRows

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Hierarchy

ROOT = "*"
BY_LEVEL = "by level"


@dataclass(frozen=True, slots=True)
class NoisyLevel:
    """What is published of one level: nodes with their noisy counts, and the noisy floor."""

    nodes: pa.Array
    counts: Counts
    floor: int

    @property
    def lower(self) -> Counts:
        """Lower estimates of the counts, never below 0."""
        return np.maximum(self.counts - max(self.floor, 0), 0)


@dataclass(frozen=True, slots=True)
class NoisyLevels:
    """What is published of all levels: the noisy number of events, and level 1 to the leaves."""

    total: int
    below: tuple[NoisyLevel, ...]

    @property
    def floors(self) -> tuple[int, ...]:
        """The noisy floors, 0 for the root, which has none."""
        return (0, *(level.floor for level in self.below))

    def taking_nothing(self) -> NoisyLevels:
        """Return the same counts with lower estimates of 0, so that no node takes anything from another."""
        return replace(self, below=tuple(replace(level, floor=LARGEST_COUNT // 2) for level in self.below))


def conservative_tree(hierarchy: Hierarchy, levels: NoisyLevels, threshold: int) -> TreeRows:
    """Return the nodes whose residual reaches the threshold."""
    none = np.zeros(0, np.int64)
    rows = TreeRows(pa.array([], pa.string()), none, none, none, none)
    frontier = _Frontier(pa.array([], hierarchy.leaf_type), none, none)
    for depth, level in reversed(list(enumerate(levels.below, start=1))):
        places = frontier.places(hierarchy, level.nodes, depth)
        residuals = level.counts - _sums(places, frontier.lower, len(level.counts))
        chosen = np.flatnonzero(residuals >= threshold)
        nodes = level.nodes.take(pa.array(chosen))
        labels = hierarchy.labels(nodes, np.full(len(chosen), depth, np.int16))
        more = labels, depth, residuals[chosen], level.counts[chosen]
        first = len(rows.levels)
        parents = _rows_of(places, chosen, first)
        above = _Frontier(nodes, first + np.arange(len(chosen)), level.lower[chosen])
        rows = _joined(rows, more, frontier.rows, parents)
        frontier = frontier.moved_up(parents, above)
    residual = np.array([levels.total - int(frontier.lower.sum())])
    if residual[0] < threshold:
        return rows
    root = pa.array([ROOT]), 0, residual, np.array([levels.total])
    return _joined(rows, root, frontier.rows, np.full(len(frontier.rows), len(rows.levels)))


@dataclass(frozen=True, slots=True)
class _Frontier:
    """Published nodes without a published ancestor so far: rows, and lower estimates of their counts."""

    nodes: pa.Array
    rows: Counts
    lower: Counts

    def places(self, hierarchy: Hierarchy, nodes: pa.Array, depth: int) -> Counts:
        """Return where among the nodes of a level the ancestor of each is; -1 where it is not among them."""
        found = pc.index_in(hierarchy.nodes(self.nodes, depth), value_set=nodes)
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), np.int64)

    def moved_up(self, parents: Counts, above: _Frontier) -> _Frontier:
        """Return those without a parent still, and those of the level above."""
        left = parents < 0
        return _Frontier(
            pa.concat_arrays([self.nodes.filter(pa.array(left)), above.nodes]),
            np.concatenate((self.rows[left], above.rows)),
            np.concatenate((self.lower[left], above.lower)),
        )


def _sums(places: Counts, values: Counts, count: int) -> Counts:
    """Return the sum of the values at each of `count` places; -1 is no place."""
    sums = np.zeros(count + 1, np.int64)
    np.add.at(sums, places, values)
    return sums[:-1]


def _rows_of(places: Counts, chosen: Counts, first: int) -> Counts:
    """Return the row of what was chosen at each place, numbered from `first`; -1 if nothing was."""
    rows = np.full(int(max(places.max(initial=-1), chosen.max(initial=-1))) + 2, -1)
    rows[chosen] = first + np.arange(len(chosen))
    return rows[places]


def _joined(
    rows: TreeRows, more: tuple[pa.Array, int, Counts, Counts], children: Counts, parents: Counts
) -> TreeRows:
    """Return all rows, with the parents that children have found and `more` rows of one level without any.

    `more` are labels, depth, residuals and totals.
    """
    labels, depth, residuals, totals = more
    above = rows.parents.copy()
    above[children] = parents
    return TreeRows(
        pa.concat_arrays([rows.nodes, labels]),
        np.append(rows.levels, np.full(len(totals), depth)),
        np.append(above, np.full(len(totals), -1)),
        np.append(rows.residuals, residuals),
        np.append(rows.totals, totals),
    )
