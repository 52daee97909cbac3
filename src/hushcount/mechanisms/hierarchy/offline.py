"""The offline release of a hierarchy: independent noise for every node, from the leaves up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.hierarchies.base import LeafBatch
from hushcount.mechanisms.base import Claim
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.hierarchy._kernels.walk import LEAF, ROWS, Leaves, Path, walk
from hushcount.mechanisms.hierarchy.chains import calibrate
from hushcount.mechanisms.hierarchy.totals import TotalError
from hushcount.mechanisms.hierarchy.tree import TreeMechanism
from hushcount.noise.bits import Bits
from hushcount.noise.gaussian import Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.releases.tree import TreeRelease
from hushcount.releases.trees.nodes import TreeRows
from hushcount.shapes import LeafCounts

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Hierarchy


BLOCK = 1 << 15  # noises drawn together


class HierarchyRelease(TreeMechanism[LeafCounts]):
    """Nodes whose noisy residual reaches the threshold, from the leaves up, with the noisy residual itself.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event, or one user with all rows that are kept.
    Assumes: the leaf of an event is a function of its key; all paths of the hierarchy have the same length;
        one event has a weight of at most W, 1 unless the unit says more.
    Parameters: independent noise w on the residual of every node with residual >= 1, discrete Laplace or
        Gaussian; a public threshold, not below the smallest private one, chains.calibrate.
    Proof: docs/proofs/hierarchy/offline.md, section 5 for weights. Checked by:
        tests/privacy/test_hierarchy.py, tests/privacy/test_weights.py
    """

    name = "hierarchy-offline"
    accepts = (LeafCounts,)
    sketch = "leaves"
    weighted = True
    way_out = "give the data to hc.tree, or count with HierarchySketch"
    claim = Claim(
        "noisy residuals of a hierarchy",
        "Independent noise on the residuals of all nodes, calibrated for the tests of one path, is"
        " (epsilon, delta)-DP.",
        "docs/proofs/hierarchy/offline.md",
        ("the leaf of an event is a function of its key",),
    )

    def calibrate(self) -> None:
        """Set the noise for the threshold that was asked for, or for the smallest private one."""
        chain = calibrate(self.height + 1, self.row, self.asked, self.public.unit.weight)
        self.noise, self.threshold = chain.noise, self.asked or chain.threshold

    def parameters(self) -> dict[str, int | float | str]:
        """Return the noise and its scale."""
        if isinstance(self.noise, DiscreteLaplace):
            return {"noise": "discrete Laplace", "scale": float(1 / self.noise.exact_epsilon)}
        return {"noise": "discrete Gaussian", "sigma": float(self.noise.sigma)}

    def forecast(self) -> KeyForecast:
        """Return which residuals will reach the threshold, the same at all levels."""
        return KeyForecast(self.threshold, self.noise.tail, self.noise.tail)

    def draw(self, shape: LeafCounts, bits: Bits) -> TreeRelease:
        """Publish the heavy nodes; memory grows with what is published only."""
        rows = tree_rows(shape.hierarchy, _Walk(self.noise, self.threshold, bits).published(shape))
        error = TotalError(self.noise, self.threshold, self.height, self.public.max_events)
        return self.tree(rows, shape.hierarchy, shape.unit, error)


@dataclass(frozen=True, slots=True)
class PublishedNodes:
    """Published nodes, all of a subtree before its top; `sizes` counts the rows of a subtree with its top.

    A node is named by one of its leaves and its level.
    """

    leaves: pa.Array
    levels: Counts
    residuals: Counts
    sizes: Counts


@dataclass(slots=True)
class _Walk:
    """One pass over sorted leaves; the noise is drawn in blocks and used up value by value."""

    noise: Distribution
    threshold: int
    bits: Bits
    drawn: Counts = field(default_factory=lambda: np.empty(0, np.int64))

    def published(self, shape: LeafCounts) -> Iterator[PublishedNodes]:
        """Yield what is published while the leaves go by, and when the path of the last one is closed."""
        path = Path.of(shape.hierarchy.height)
        before = pa.array([], shape.hierarchy.leaf_type)
        for batch in shape.batches():
            yield from self._through(batch, before, path)
            before = batch.leaves[-1:]
        end = LeafBatch(before[:0], np.zeros(1, np.int64), np.full(1, -1, np.int16))
        yield from self._through(end, before, path)

    def _through(self, batch: LeafBatch, before: pa.Array, path: Path) -> Iterator[PublishedNodes]:
        """Walk through one batch of leaves and yield what is published."""
        rows = np.empty((BLOCK, 4), np.int64)
        path.cursor[LEAF] = 0
        while path.cursor[LEAF] < len(batch.counts):
            start = path.cursor[ROWS]
            used = walk(Leaves(batch.counts, batch.shared), path, self.drawn, self.threshold, rows)
            self.drawn = self.drawn[used:]
            found = rows[: path.cursor[ROWS] - start]
            if len(found):
                yield _published(found, batch.leaves, before)
            if not len(self.drawn):
                self.drawn = self.noise.sample(BLOCK, self.bits)


def _published(rows: Counts, leaves: pa.Array, before: pa.Array) -> PublishedNodes:
    """Return the rows of the kernel with their leaves: -1 is the last leaf of the batch before."""
    place, level, value, size = rows.T.copy()
    earlier = int(np.count_nonzero(place < 0))
    named = [before.take(pa.array(np.zeros(earlier, np.int64))), leaves.take(pa.array(place[earlier:]))]
    return PublishedNodes(pa.concat_arrays(named), level, value, size)


def tree_rows(hierarchy: Hierarchy, published: Iterable[PublishedNodes]) -> TreeRows:
    """Return the rows of a release.

    Totals are sums over subtrees, parents the nearest published ancestors.
    """
    none = np.empty(0, np.int64)
    parts = [PublishedNodes(pa.array([], hierarchy.leaf_type), none, none, none), *published]
    levels = np.concatenate([part.levels for part in parts])
    residuals = np.concatenate([part.residuals for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    leaves = pa.concat_arrays([part.leaves for part in parts])
    sums = np.concatenate(([0], np.cumsum(residuals)))
    after = np.arange(1, len(levels) + 1)
    totals = sums[after] - sums[after - sizes]
    labels = hierarchy.labels(leaves, levels.astype(np.int16))
    return TreeRows(labels, levels, _parents(sizes), residuals, totals)


def _parents(sizes: Counts) -> Counts:
    """Return the row of the nearest published ancestor, or -1, from subtrees that stand before their tops."""
    parents = np.full(len(sizes), -1, dtype=np.int64)
    tops: list[int] = []
    for row, size in enumerate(sizes.tolist()):
        while tops and tops[-1] > row - size:
            parents[tops.pop()] = row
        tops.append(row)
    return parents
