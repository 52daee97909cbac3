"""The streaming release of a hierarchy: noisy levels of one pass, then a tree made of what they publish."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hushcount.accounting.charges import Charge, probability_above
from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim, keep
from hushcount.mechanisms.counters.floor import ONE_STREAM
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.hierarchy.level_error import LevelError
from hushcount.mechanisms.hierarchy.levels import above_zero, levels_for
from hushcount.mechanisms.hierarchy.residuals import BY_LEVEL, NoisyLevel, NoisyLevels, conservative_tree
from hushcount.mechanisms.hierarchy.tree import TreeMechanism
from hushcount.noise.bits import Bits
from hushcount.privacy import Budget
from hushcount.releases.tree import TreeRelease
from hushcount.shapes import FloorCounters, LevelCounters, Public

NEGLIGIBLE = 1e-12  # noise beyond this probability is not looked at


@dataclass(frozen=True, slots=True)
class LevelForecast(KeyForecast):
    """A forecast for nodes whose noisy count must reach the threshold and clear the noisy floor of its level.

    Both conditions share the noise of the count: `drawn` are its values, `chances` their probabilities. Nodes
    must lie at least `above` higher than the noisy floor.
    """

    drawn: Counts = field(kw_only=True)
    chances: Floats = field(kw_only=True)
    above: int = field(kw_only=True)

    def published(self, counts: Floats, floor: float) -> Floats:
        """Return the probabilities with which leaves, or residuals, of these counts are published.

        Parameters
        ----------
        counts : array
            True counts; fractions are rounded.
        floor : float
            The floor that the sketch of the level is expected to reach.
        """
        noisy = np.rint(counts).astype(np.int64)[:, None] + self.drawn
        floors_allow = 1 - self.deciding((noisy - round(floor) - self.above + 1).ravel()).reshape(noisy.shape)
        return np.asarray(np.where(noisy >= self.threshold, floors_allow, 0.0) @ self.chances)


def exact_note(exact: int) -> tuple[str, ...]:
    """Say which levels have no noisy floor: a function of the hierarchy and the number of counters."""
    if not exact:
        return ()
    levels = "Level 1 has" if exact == 1 else f"Levels 1 to {exact} have"
    return (f"{levels} fewer possible nodes than counters, so no sketch overcounts a node there.",)


class LevelFloorRelease(TreeMechanism[LevelCounters]):
    """At every level noisy counts of the tracked nodes that clear the noisy floor; a tree of the heavy ones.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event, or one user with all rows that are kept.
    Assumes: the node of an event at a level is a function of its key; every event counts 1, in the order of
        the stream, the same at all levels; of the nodes with the smallest count, the one updated last is
        evicted.
    Parameters: noise z on the number of events, on every floor that is not publicly 0 and on every candidate;
        G above the noisy floor, or G0 above 0, levels.levels_for. `threshold` is public: the tree is
        post-processing.
    Proof: docs/proofs/hierarchy/streaming.md. Checked by: tests/privacy/test_hierarchy_streaming.py
    """

    name = "hierarchy-streaming"
    gaussian = True
    accepts = (LevelCounters,)
    sketch = "hierarchy"
    way_out = "count with HierarchySketch"
    claim = Claim(
        "floor release of every level",
        "Floor releases of all levels, composed, are (epsilon, delta)-DP.",
        "docs/proofs/hierarchy/streaming.md",
        (*ONE_STREAM, "the node of an event at a level is a function of its key"),
    )

    def __init__(
        self, budget: Budget, public: Public, threshold: int | None = None, by_level: bool = False
    ) -> None:
        self.by_level = by_level
        super().__init__(budget, public, threshold)

    def calibrate(self) -> None:
        """Set the noise of the levels, and the threshold: not below the smallest height above a floor."""
        budget = self.row
        self.levels = levels_for(budget, self.height)
        self.threshold = self.asked or self.levels.threshold
        if self.threshold < self.levels.threshold:
            raise ParameterError(
                f"threshold must be at least {self.levels.threshold} for a streaming release of height"
                f" {self.height} at ({budget.epsilon:g}, {budget.delta:g}), got {self.asked}."
            )
        self.above_zero = above_zero(self.levels)

    def finer_charge(self) -> Charge | None:
        """Return the curve of all levels and the root, and the probability that an isolated node shows.

        It is that of one row, so there is none for a unit of several.
        """
        if self.public.unit.rows > 1:
            return None
        noise = self.levels.noise
        isolated = self.height * noise.isolated_tail(self.levels.threshold)
        return Charge(probability_above(isolated), (noise.curve(self.height + 1),))

    def parameters(self) -> dict[str, int | float | str]:
        """Return the height above a noisy floor that hides a node, and the noise in words."""
        stated: dict[str, int | float | str] = {} if self.budget.rho is None else {"rho": self.budget.rho}
        if self.by_level:
            stated["table"] = BY_LEVEL
        return {"above_floor": self.levels.threshold, "noise": self.levels.noise.words, **stated}

    def forecast(self) -> KeyForecast:
        """Return which nodes will clear the noisy floor of their level and reach the threshold."""
        noise = self.levels.noise.distribution
        largest = noise.least_tail(NEGLIGIBLE)
        drawn = np.arange(-largest, largest + 1)
        chances, above = np.asarray(noise.pmf(drawn)), self.levels.threshold
        return LevelForecast(
            self.threshold, noise.tail, noise.tail, True, drawn=drawn, chances=chances, above=above
        )

    def draw(self, shape: LevelCounters, bits: Bits) -> TreeRelease:
        """Publish the noisy levels, and of them the tree of nodes whose residual reaches the threshold."""
        noisy = self.noisy_levels(shape, bits)
        taken = noisy.taking_nothing() if self.by_level else noisy
        rows = conservative_tree(shape.hierarchy, taken, self.threshold)
        error = LevelError(
            self.levels.noise,
            noisy.floors,
            shape.levels[0].candidates,
            self.levels.threshold,
            self.threshold,
            shape.exact,
            self.by_level,
        )
        notes = (*exact_note(shape.exact), *self._notes(noisy))
        return self.tree(rows, shape.hierarchy, shape.unit, error).with_notes(*notes)

    def noisy_levels(self, shape: LevelCounters, bits: Bits) -> NoisyLevels:
        """Return what is published of the levels; all that follows is a function of it."""
        total = shape.total + int(self.levels.noise.distribution.sample(1, bits)[0])
        exact = [self._exact_level(level, bits) for level in shape.levels[: shape.exact]]
        return NoisyLevels(
            total, (*exact, *(self._noisy_level(level, bits) for level in shape.levels[shape.exact :]))
        )

    def _exact_level(self, level: FloorCounters, bits: Bits) -> NoisyLevel:
        """Add noise to the counts of a level whose floor is publicly 0; keep those far enough above it."""
        if level.floor:
            raise ParameterError("A level with fewer possible nodes than counters has a floor above 0.")
        counts = level.counts + self.levels.noise.distribution.sample(len(level.counts), bits)
        published = counts >= self.above_zero
        return NoisyLevel(keep(level.keys, published), counts[published], 0)

    def _noisy_level(self, level: FloorCounters, bits: Bits) -> NoisyLevel:
        """Add noise to the floor and the counts of one level; keep nodes far enough above the floor."""
        noise = self.levels.noise.distribution.sample(1 + len(level.counts), bits)
        floor = level.floor + int(noise[0])
        counts = level.counts + noise[1:]
        published = counts - floor >= self.levels.threshold
        return NoisyLevel(keep(level.keys, published), counts[published], floor)

    def _notes(self, noisy: NoisyLevels) -> tuple[str, ...]:
        """Return which levels show less than the threshold promises: public, as the noisy floors are."""
        smallest = [floor + self.levels.threshold for floor in noisy.floors]
        blind = [depth for depth in range(1, len(smallest)) if smallest[depth] > self.threshold]
        if not blind:
            return ()
        shown = ", ".join(f"level {depth} (at least {smallest[depth]})" for depth in blind)
        return (
            f"At some levels the sketch shows only nodes larger than the threshold {self.threshold}: {shown};"
            " more counters show more.",
        )
