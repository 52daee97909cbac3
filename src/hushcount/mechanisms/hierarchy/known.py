"""Trees with delta = 0: noise on the count of every node of a hierarchy that everybody knows, seen or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Mask, Words
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim
from hushcount.mechanisms.hierarchy.residuals import NoisyLevel, NoisyLevels
from hushcount.mechanisms.hierarchy.users import EveryNode, NodeSums
from hushcount.noise.bits import Bits
from hushcount.noise.extremes import TailCut, binomial, other_places
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.releases.trees.nodes import AllNodes, Tops, TreeRows
from hushcount.shapes.known import KnownNodeCounts

if TYPE_CHECKING:
    from hushcount.hierarchies.known import ListedNodes, NumberedNodes

MOST_BY_NOISE = 100_000  # nodes that noise alone may publish, on average
LISTED = 1 << 20  # levels of at most so many nodes have the noise of each drawn


class KnownNodeRelease(EveryNode[KnownNodeCounts]):
    """Noisy counts of all known nodes that reach the threshold; of them a tree, or a table by level.

    Theorem: epsilon-DP (delta = 0).
    Neighbours: add or remove one event, or one user with all keys that are kept.
    Assumes: the nodes of the hierarchy are public; one unit changes at most `moved` counts, each by at most
        its weight.
    Parameters: Z discrete Laplace(epsilon / (moved W)) on the count of every node, of those without any event
        too; W is the largest weight, 1 unless the unit says more; any public threshold.
    Proof: docs/proofs/hierarchy/known.md. Checked by: tests/privacy/test_hierarchy_known.py
    """

    name = "hierarchy-known"
    weighted = True
    accepts = (KnownNodeCounts,)
    sketch = "leaves"
    way_out = "give the data to hc.tree with delta=0 and a domain"
    needs: ClassVar[tuple[str, ...]] = ("height", "moved", "candidates")
    noise: DiscreteLaplace
    claim = Claim(
        "noise on the count of every node of a known hierarchy",
        "Discrete Laplace noise on the counts of all nodes, seen or not, is epsilon-DP.",
        "docs/proofs/hierarchy/known.md",
        (
            "the nodes of the hierarchy are public",
            "one unit changes at most as many counts as stated, each by 1",
            "the leaf of a row is a function of its key",
        ),
    )

    def calibrate(self) -> None:
        """Set the noise, and the threshold: not so low that noise alone fills the table."""
        shares = self.needed("moved") * self.public.unit.weight
        self.noise = DiscreteLaplace.shared(self.budget.epsilon, shares, "counts that one unit changes")
        nodes = self.needed("candidates")
        self.threshold = self.asked or max(self.noise.least_tail(min(1 / nodes, 0.5)), 1)
        if nodes * float(self.noise.tail(self.threshold)) > MOST_BY_NOISE:
            least = self.noise.least_tail(MOST_BY_NOISE / nodes)
            raise ParameterError(
                f"threshold must be at least {least}, or noise alone would publish more than"
                f" {MOST_BY_NOISE:,} of {nodes:,} nodes, got {self.threshold}."
            )

    def parameters(self) -> dict[str, int | float | str]:
        """Return the noise, how many numbers change together, which table is made, and how many nodes are."""
        return {**super().parameters(), "nodes": self.needed("candidates")}

    def error(self) -> KnownError:
        """Return how far totals may lie from the truth."""
        return KnownError(
            self.noise,
            self.threshold,
            self.by_level,
            self.height,
            self.needed("candidates"),
        )

    def noisy_levels(self, shape: KnownNodeCounts, bits: Bits) -> NoisyLevels:
        """Return what is published of all levels; memory grows with the nodes that data are below."""
        seen: list[list[tuple[pa.Array, Counts]]] = [[] for _ in range(self.height + 1)]
        for level, leaves, users in NodeSums(self.height).complete(shape.batches()):
            seen[level].append((shape.hierarchy.nodes(leaves, level), users))
        levels = []
        for nodes, counted in zip(shape.known.levels, seen, strict=False):
            places, noisy = self._reaching(nodes, counted, bits)
            levels.append(NoisyLevel(nodes.nodes(places), noisy, self.floor))
        if not levels:  # a rehearsal, in which there are no nodes
            empty = pa.array([], shape.hierarchy.leaf_type), np.zeros(0, np.int64)
            levels = [NoisyLevel(*empty, self.floor)] * (self.height + 1)
        return NoisyLevels(int(levels[0].counts.sum()), tuple(levels[1:]))

    def _reaching(
        self, nodes: ListedNodes | NumberedNodes, counted: list[tuple[pa.Array, Counts]], bits: Bits
    ) -> tuple[Words, Counts]:
        """Return the places and noisy counts of the nodes of a level that reach the threshold."""
        places = np.concatenate([np.zeros(0, np.uint64), *(nodes.places(some) for some, _ in counted)])
        counts = np.concatenate([np.zeros(0, np.int64), *(users for _, users in counted)])
        noisy = counts + self.noise.sample(len(counts), bits)
        reached = noisy >= self.threshold
        others, more = unseen(nodes.size, places, self.noise, self.threshold, bits)
        return np.concatenate((places[reached], others)), np.concatenate((noisy[reached], more))


def unseen(
    size: int, seen: Words, noise: DiscreteLaplace, threshold: int, bits: Bits
) -> tuple[Words, Counts]:
    """Return which of `size` places that are not seen have noise of at least the threshold, and their noise.

    Of many places the number that reaches it is drawn, which is binomial, then which they are.
    """
    left = size - len(seen)
    if size <= LISTED or 4 * left < size:
        others = np.setdiff1d(np.arange(size, dtype=np.uint64), seen)
        values = noise.sample(left, bits)
        reached = values >= threshold
        return others[reached], values[reached]
    cut = TailCut(noise.exact_epsilon, threshold, 0)
    found = binomial(left, cut.probability, bits)
    return other_places(size, seen, found, bits), cut.draws(found, bits)[0]


@dataclass(frozen=True, slots=True)
class KnownError:
    """A total is the true count plus one noise, for all `nodes` there are; bounds hold for all at once.

    So they also hold for nodes that noise alone has published: the lower end of these is 0.
    """

    noise: DiscreteLaplace
    threshold: int
    by_level: bool
    height: int
    nodes: int

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Counts, Counts]:
        """Return the bounds of all rows at once."""
        width = self._width(confidence)
        return rows.totals - width, rows.totals + width

    def near(self, rows: TreeRows, confidence: float) -> Mask:
        """Return no rows: the bounds hold for all nodes, whichever are published."""
        return np.zeros(len(rows), np.bool_)

    def all_nodes(self, confidence: float) -> AllNodes:
        """Return the error of every total, and the most that a node which is not in the table can have."""
        width = self._width(confidence)
        return AllNodes(width, width, (self.threshold + width - 1,) * (self.height + 1))

    def unpublished(self, level: int, tops: Tops, confidence: float) -> tuple[int, int, int]:
        """Return the largest total below a node, and bounds of its own: a user may be below several."""
        width, most = self._width(confidence), int(tops.totals.max(initial=0))
        taken = 0 if self.by_level else int(tops.totals.sum())
        return most, max(most - width, 0), self.threshold - 1 + width + taken

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of, and what noise alone has published."""
        width, alone = self._width(confidence), self.nodes * float(self.noise.tail(self.threshold))
        residual = "residual is the total: no node takes anything from another."
        taken = ""
        if not self.by_level:
            residual = "residual is the total without the totals of the nearest published descendants."
            taken = ", beyond the totals of its nearest published descendants"
        return (
            f"For all {self.nodes:,} nodes at once, with probability {confidence:g}, every total is within"
            f" {width:,} of the truth, and a node that is not in the table has at most"
            f" {self.threshold + width - 1:,}{taken}.",
            residual,
            f"Every node has noise, also one that nothing is below: of such nodes at most about {alone:.2g}"
            " are published on average, with 0 as their lower end.",
        )

    def _width(self, confidence: float) -> int:
        """Return how far the total of any node may lie from the truth."""
        return self.noise.two_sided((1 - confidence) / self.nodes)
