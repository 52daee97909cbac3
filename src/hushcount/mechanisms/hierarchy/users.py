"""The users of every node of a hierarchy, each counted once per node, with Gaussian noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
import pyarrow as pa

from hushcount.accounting.charges import Charge
from hushcount.compiled.arrays import Counts, Mask
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim, ShapeT
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.mechanisms.hierarchy.residuals import BY_LEVEL, NoisyLevel, NoisyLevels, conservative_tree
from hushcount.mechanisms.hierarchy.together import MOST_EVENTS, Comparisons, Together, together
from hushcount.mechanisms.hierarchy.totals import LACKING, NEAR, at_once, picked, selected_below
from hushcount.mechanisms.hierarchy.tree import TreeMechanism
from hushcount.mechanisms.histograms.gaussian import gaussian_charge, histogram_for
from hushcount.noise.bits import Bits
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.privacy import LARGEST_COUNT, Budget
from hushcount.releases.tree import TreeRelease
from hushcount.releases.trees.nodes import AllNodes, Tops, TreeError, TreeRows
from hushcount.shapes import NodeCounts, Public

if TYPE_CHECKING:
    from hushcount.hierarchies.base import UserLeafBatch

TREE = "tree"


class EveryNode(TreeMechanism[ShapeT]):
    """A mechanism with noise on the count of every node; what is published becomes a tree or a table.

    Residuals are a function of what is published. What changes together with one unit is counted in `moved`.
    """

    needs: ClassVar[tuple[str, ...]] = ("height", "moved")
    noise: Distribution

    def __init__(
        self, budget: Budget, public: Public, threshold: int | None = None, by_level: bool = False
    ) -> None:
        self.by_level = by_level
        super().__init__(budget, public, threshold)

    @property
    def row(self) -> Budget:
        """The whole budget: what changes together with one user is counted in `moved`."""
        return self.budget

    @abstractmethod
    def noisy_levels(self, shape: ShapeT, bits: Bits) -> NoisyLevels:
        """Return what is published of all levels, with the floor `self.floor`."""

    @abstractmethod
    def error(self) -> TreeError:
        """Return how far totals may lie from the truth."""

    @property
    def floor(self) -> int:
        """What is taken from counts for lower estimates: in a table by level no node takes from another."""
        return LARGEST_COUNT if self.by_level else 0

    def parameters(self) -> dict[str, int | float | str]:
        """Return the noise, how many numbers change together, and which table is made."""
        known: dict[str, int | float | str] = {"noise": noise_words(self.noise)}
        if self.public.unit.rows > 1:
            known["max_keys"] = self.public.unit.rows
        if self.budget.rho is not None:
            known["rho"] = self.budget.rho
        return {**known, "moved": self.needed("moved"), "table": BY_LEVEL if self.by_level else TREE}

    def forecast(self) -> KeyForecast:
        """Return which counts will reach the threshold, the same at all levels."""
        return KeyForecast(self.threshold, self.noise.tail, self.noise.tail)

    def draw(self, shape: ShapeT, bits: Bits) -> TreeRelease:
        """Publish the numbers that reach the threshold."""
        counted = cast("NodeCounts", shape)
        rows = conservative_tree(counted.hierarchy, self.noisy_levels(shape, bits), self.threshold)
        return self.tree(rows, counted.hierarchy, counted.unit, self.error())


class NodeRelease(EveryNode[NodeCounts]):
    """Noisy numbers of users of all nodes that reach the threshold; of them a tree, or a table by level.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one user (or one event, if each is a user of its own).
    Assumes: one user changes at most `moved` numbers by 1, all in the same direction.
    Parameters: Z discrete Gaussian(sigma) on each number, histograms.gaussian.histogram_for; a public
        threshold, not below the smallest private one. Residuals are post-processing.
    Proof: docs/proofs/hierarchy/users.md, section 2. Checked by: tests/privacy/test_hierarchy_users.py
    """

    noise: DiscreteGaussian
    name = "hierarchy-users"
    gaussian = True
    accepts = (NodeCounts,)
    sketch = "leaves"
    way_out = "give the data to hc.tree with user and max_keys"
    claim = Claim(
        "Gaussian noise on the count of every node",
        "Each user, or event, counts once per node; one Gaussian threshold over all nodes is"
        " (epsilon, delta)-DP.",
        "docs/proofs/hierarchy/users.md",
        (
            "one unit changes at most as many counts as stated, each by 1 and all in the same direction",
            "the leaf of a row is a function of its key",
        ),
    )

    def calibrate(self) -> None:
        """Set the noise, and the threshold: not below the smallest private one."""
        moved = self.needed("moved")
        found = histogram_for(self.budget, moved)
        self.noise, self.threshold = found.noise, self.asked or found.threshold
        if self.threshold < found.threshold:
            raise ParameterError(
                f"threshold must be at least {found.threshold} if one user changes {moved} numbers at"
                f" ({self.budget.epsilon:g}, {self.budget.delta:g}), got {self.asked}."
            )

    def finer_charge(self) -> Charge:
        """Return the curve of the noise, and the probability that an isolated node is published."""
        return gaussian_charge(self.noise, self.needed("moved"), self.threshold - 1)

    def error(self) -> NodeError:
        """Return how far totals may lie from the truth."""
        return NodeError(self.noise, self.threshold, self.by_level, self.height, self.public.max_events)

    def noisy_levels(self, shape: NodeCounts, bits: Bits) -> NoisyLevels:
        """Return the noisy numbers that reach the threshold; memory grows with these only."""
        hierarchy, height = shape.hierarchy, self.height
        nodes: list[list[pa.Array]] = [[pa.array([], hierarchy.leaf_type)] for _ in range(height + 1)]
        counts: list[list[Counts]] = [[np.zeros(0, np.int64)] for _ in range(height + 1)]
        for level, leaves, users in NodeSums(height).complete(shape.batches()):
            noisy = users + self.noise.sample(len(users), bits)
            published = noisy >= self.threshold
            nodes[level].append(hierarchy.nodes(leaves.filter(pa.array(published)), level))
            counts[level].append(noisy[published])
        below = zip(map(pa.concat_arrays, nodes[1:]), map(np.concatenate, counts[1:]), strict=True)
        total = int(np.concatenate(counts[0]).sum())
        return NoisyLevels(total, tuple(NoisyLevel(*level, self.floor) for level in below))


@dataclass(slots=True)
class NodeSums:
    """Numbers of users of the nodes that sorted leaves walk through, complete once their last leaf is past.

    `last` is the leaf before the next batch, and `waiting` are the numbers of the nodes above it so far.
    """

    height: int
    waiting: Counts = field(init=False)
    last: pa.Array | None = None

    def __post_init__(self) -> None:
        self.waiting = np.zeros(self.height + 1, np.int64)

    def complete(self, batches: Iterator[UserLeafBatch]) -> Iterator[tuple[int, pa.Array, Counts]]:
        """Yield levels, leaves that each stand for the node above them at this level, and its users."""
        for batch in batches:
            for level in range(self.height + 1):
                yield from self._through(batch, level)
            self.last = batch.leaves[-1:]
        if self.last is not None:
            for level in range(self.height + 1):
                yield level, self.last, self.waiting[level : level + 1]

    def _through(self, batch: UserLeafBatch, level: int) -> Iterator[tuple[int, pa.Array, Counts]]:
        """Yield the nodes of one level that end in a batch; the number of the last one goes on waiting."""
        begins = np.flatnonzero(batch.shared < level)
        sums = np.concatenate(([0], np.cumsum(np.where(batch.known < level, batch.counts, 0))))
        edges = sums[np.concatenate((begins, [len(batch.counts)]))]
        if not len(begins):
            self.waiting[level] += sums[-1]
            return
        first = self.waiting[level] + edges[0]
        if self.last is not None:
            yield level, self.last, np.array([first])
        yield level, batch.leaves.take(pa.array(begins[:-1])), np.diff(edges)[:-1]
        self.waiting[level] = edges[-1] - edges[-2]


@dataclass(frozen=True, slots=True)
class NodeError:
    """A total is the true number of users plus one noise; `by_level` says that residuals are totals.

    `height`, `max_events`, the public bound on the number of rows, and `nodes`, how many nodes exist, say how
    many nodes were tested.
    """

    noise: Distribution
    threshold: int
    by_level: bool
    height: int | None = None
    max_events: int | None = None
    nodes: int | None = None

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Counts, Counts]:
        """Return the bounds for one node chosen before seeing the result."""
        width = self.noise.two_sided(1 - confidence)
        return rows.totals - width, rows.totals + width

    def near(self, rows: TreeRows, confidence: float) -> Mask:
        """Return the rows whose residual may have reached the threshold by its noise."""
        return np.asarray(rows.residuals < self.threshold + selected_below(self.noise, 1, 1 - confidence))

    def all_nodes(self, confidence: float) -> AllNodes | None:
        """Return the error of every total, and the most that a node which is not in the table can have."""
        if self.height is None:
            return None
        found = self._together(confidence)
        missing = self.threshold + found.margin - 1
        return AllNodes(found.error, found.error, (missing,) * (self.height + 1))

    def unpublished(self, level: int, tops: Tops, confidence: float) -> tuple[int, int, int]:
        """Return the largest total below a node, and bounds of its own: a user may be below several."""
        failure, noise, estimate = 1 - confidence, 0, 0
        if len(tops.totals):
            failure = failure / 2
            noise, estimate = self._together(1 - failure).error, int(tops.totals.max())
        least = max(self.noise.least_tail(failure) - 1, 0)
        taken = 0 if self.by_level else int(tops.totals.sum())
        return estimate, max(estimate - noise, 0), self.threshold - 1 + least + taken

    def _together(self, confidence: float) -> Together:
        """Return what holds for all nodes at once."""
        if self.height is None:
            raise ParameterError(LACKING)
        events, levels = self.max_events or MOST_EVENTS, self.height + 1
        tests = Comparisons(self.noise, self.threshold, levels, events, stopping=False, nodes=self.nodes)
        return together(tests, confidence)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of, and what holds for all nodes at once."""
        width = self.noise.two_sided(1 - confidence)
        residual = "residual is the total: no node takes anything from another."
        if not self.by_level:
            residual = (
                "residual is the total without the totals of the nearest published descendants; whoever is"
                " below two of them is subtracted twice, so it is too small rather than too large."
            )
        return (
            f"{picked(confidence)} its true total lies within {width} of its total. Each user counts once per"
            " node.",
            residual,
            NEAR,
            *self._all_sentences(self.all_nodes(confidence), confidence),
        )

    def _all_sentences(self, known: AllNodes | None, confidence: float) -> tuple[str, ...]:
        """Say what holds for all nodes at once."""
        if known is None:
            return ()
        missing = known.unpublished[0]
        taken = "" if self.by_level else ", beyond the totals of its nearest published descendants"
        bound = self.max_events if self.nodes is None else self.nodes
        return (
            f"{at_once(confidence, bound)} every total is within {known.above:,} of the truth, and a node"
            f" that is not in the table has at most {missing:,}{taken}.",
        )
