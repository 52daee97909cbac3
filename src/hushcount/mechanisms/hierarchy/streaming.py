"""The streaming release of a hierarchy: noisy levels of one pass, then a tree made of what they publish."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim, check_calibrated, check_shape, keep, needed
from hushcount.mechanisms.counters.floor import ONE_STREAM
from hushcount.mechanisms.hierarchy.levels import CalibratedLevels, LevelNoise, calibrated_levels
from hushcount.mechanisms.hierarchy.residuals import NoisyLevel, NoisyLevels, conservative_tree
from hushcount.noise import lattice
from hushcount.privacy import EVENT, LARGEST_COUNT, Budget, Guarantee, PrivacyUnit, check_count
from hushcount.releases.tree import TreeRelease
from hushcount.shapes import FloorCounters, LevelCounters, Public, Shape

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Hierarchy
    from hushcount.noise.bits import Bits
    from hushcount.releases.tree import TreeRows


@dataclass(frozen=True, slots=True)
class LevelFloorRelease:
    """At every level noisy counts of the tracked nodes that clear the noisy floor; a tree of the heavy ones.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: the node of an event at a level is a function of its key; unit updates in stream order, the same
        at all levels; ties evict the most recently updated node.
    Parameters: noise z on the number of events, on every floor and on every candidate; G above the
        noisy floor, levels.calibrated_levels. `threshold` is public: the tree is post-processing.
    Proof: docs/proofs/hierarchy/streaming.md. Checked by: tests/privacy/test_hierarchy_streaming.py
    """

    budget: Budget
    public: Public
    threshold: int | None = None  # None takes the smallest possible one
    levels: CalibratedLevels = field(init=False)

    name: ClassVar[str] = "hierarchy-streaming"
    accepts: ClassVar[tuple[type[Shape], ...]] = (LevelCounters,)
    sketch: ClassVar[str] = "hierarchy"
    way_out: ClassVar[str] = "count with HierarchySketch"
    claim: ClassVar[Claim] = Claim(
        "floor release of every level",
        "Floor releases of all levels, composed, are (epsilon, delta)-DP.",
        "docs/proofs/hierarchy/streaming.md",
        (*ONE_STREAM, "the node of an event at a level is a function of its key"),
    )

    def __post_init__(self) -> None:
        found = calibrated_levels(self.budget.epsilon, self.budget.delta, self.height)
        object.__setattr__(self, "levels", found)
        if self.threshold is None:
            object.__setattr__(self, "threshold", found.threshold)
        elif check_count("threshold", self.threshold, most=LARGEST_COUNT) < found.threshold:
            raise ParameterError(
                f"threshold must be at least {found.threshold} for a streaming release of height"
                f" {self.height} at ({self.budget.epsilon:g}, {self.budget.delta:g}), got {self.threshold}."
            )

    @property
    def height(self) -> int:
        """The number of levels below the root."""
        return needed(self.name, "height", self.public.height)

    def release(self, shape: LevelCounters, bits: Bits) -> TreeRelease:
        """Publish the noisy levels, and of them the tree of nodes whose residual reaches the threshold."""
        check_shape(self, shape)
        check_calibrated("height", len(shape.levels), self.height)
        noisy = self.noisy_levels(shape, bits)
        least = needed(self.name, "threshold", self.threshold)
        rows = conservative_tree(shape.hierarchy, noisy, least)
        error = LevelError(self.levels.noise, noisy.floors)
        tree = TreeRelease(
            rows, self.guarantee(shape.hierarchy, shape.unit), error, least, shape.hierarchy.name, self.height
        )
        return tree.with_notes(*self._notes(noisy, least))

    def noisy_levels(self, shape: LevelCounters, bits: Bits) -> NoisyLevels:
        """Return what is published of the levels; all that follows is a function of it."""
        total = shape.total + int(self.levels.noise.law.sample(1, bits)[0])
        return NoisyLevels(total, tuple(self._noisy_level(level, bits) for level in shape.levels))

    def guarantee(self, hierarchy: Hierarchy, unit: PrivacyUnit = EVENT) -> Guarantee:
        """Return the guarantee of a release of this hierarchy."""
        parameters: dict[str, int | float | str] = {
            "hierarchy": hierarchy.name,
            "threshold": needed(self.name, "threshold", self.threshold),
            "height": self.height,
            "above_floor": self.levels.threshold,
            "noise": self.levels.noise.words,
        }
        return self.claim.guarantee(self.budget, unit, parameters)

    def _noisy_level(self, level: FloorCounters, bits: Bits) -> NoisyLevel:
        """Add noise to the floor and the counts of one level; keep nodes far enough above the floor."""
        noise = self.levels.noise.law.sample(1 + len(level.counts), bits)
        floor = level.floor + int(noise[0])
        counts = level.counts + noise[1:]
        published = counts - floor >= self.levels.threshold
        return NoisyLevel(keep(level.keys, published), counts[published], floor)

    def _notes(self, noisy: NoisyLevels, threshold: int) -> tuple[str, ...]:
        """Return which levels show less than the threshold promises: public, as the noisy floors are."""
        smallest = [floor + self.levels.threshold for floor in noisy.floors]
        blind = [depth for depth in range(1, len(smallest)) if smallest[depth] > threshold]
        if not blind:
            return ()
        shown = ", ".join(f"level {depth} (at least {smallest[depth]})" for depth in blind)
        return (
            f"At some levels the sketch shows only nodes larger than the threshold {threshold}: {shown};"
            " more counters show more.",
        )


@dataclass(frozen=True, slots=True)
class LevelError:
    """A total is c + z, the floor of its level f + z0, and c - f <= true <= c; the root has f = 0."""

    noise: LevelNoise
    floors: tuple[int, ...]

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Counts, Counts]:
        """Return the bounds for one node chosen before seeing the result.

        Half of the failure above, half below.
        """
        above, below = self._margins(confidence)
        floors = np.maximum(np.array(self.floors), 0)
        margin = np.where(rows.levels == 0, above, below)
        return rows.totals - floors[rows.levels] - margin, rows.totals + above

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        above, _ = self._margins(confidence)
        return (
            f"With confidence {confidence:g} the true total of a node chosen before seeing the result lies"
            f" between lower and upper = total + {above}.",
            "total is an upper estimate with noise: the sketch of a node's level may overcount it by about"
            " the noisy floor of that level, which the interval includes.",
            "residual is conservative: the total without the lower estimates (total - noisy floor) of the"
            " nearest published descendants.",
        )

    def _margins(self, confidence: float) -> tuple[int, int]:
        """Return (above, below): above fails if z < -above, below if z - z0 > below."""
        half = (1 - confidence) / 2
        above = max(self.noise.law.least_tail(half) - 1, 0)
        return above, lattice._least(lambda m: m >= 1 and self.noise.difference_tail(m) <= half) - 1
