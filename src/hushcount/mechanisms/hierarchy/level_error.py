"""How far the totals of a streaming tree may lie from the truth, and what may be missing in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.compiled.arrays import Counts, Mask
from hushcount.errors import ParameterError
from hushcount.mechanisms.hierarchy.levels import LevelNoise
from hushcount.mechanisms.hierarchy.totals import LACKING, NEAR, at_once, picked
from hushcount.noise.lattice import smallest_integer
from hushcount.releases.trees.nodes import AllNodes, Tops, TreeRows


@dataclass(frozen=True, slots=True)
class LevelError:
    """What is known of the error, from the noisy floors and public numbers.

    A published total is c + z and the noisy floor of its level is f + z0, where c and f are the count and the
    floor in the sketch, and z and z0 are noise. The true total lies between c - f and c; the root has f = 0.

    At the levels up to `exact` the floor is publicly 0, without noise. Each level has at most `candidates`
    candidates, of which those at least `above_floor` above the noisy floor can reach the `threshold`.
    """

    noise: LevelNoise
    floors: tuple[int, ...]
    candidates: int | None = None
    above_floor: int | None = None
    threshold: int | None = None
    exact: int | None = None
    by_level: bool | None = None

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Counts, Counts]:
        """Return the bounds for one node chosen before seeing the result.

        Half of the failure probability is for each side.
        """
        above, below = self._margins((1 - confidence) / 2)
        margin = np.where(rows.levels <= (self.exact or 0), above, below)
        return rows.totals - self._floors[rows.levels] - margin, rows.totals + above

    def near(self, rows: TreeRows, confidence: float) -> Mask | None:
        """Return the rows whose noise may have been selected by the noisy floor or by the threshold."""
        if self.threshold is None or self.above_floor is None:
            return None
        above, below = self._margins((1 - confidence) / 2)
        floor = (
            np.where(rows.levels <= (self.exact or 0), 2 * above, 2 * below)
            + np.array(self.floors)[rows.levels]
        )
        hidden = (rows.totals < self.above_floor + floor) & (rows.levels > 0)
        return np.asarray(hidden | (rows.residuals < self.threshold + 2 * above))

    def all_nodes(self, confidence: float) -> AllNodes | None:
        """Return how far totals may be off, and what a node that is not in the tree has at each level."""
        if self.threshold is None or self.above_floor is None or self.candidates is None:
            return None
        above, below = self._margins_of_all((1 - confidence) / 2)
        floors = np.array(self.floors) + np.where(np.arange(len(self.floors)) > 0, self.above_floor, 0)
        missing = np.maximum(floors, self.threshold) - 1 + above
        return AllNodes(below, above, tuple(missing.tolist()))

    def unpublished(self, level: int, tops: Tops, confidence: float) -> tuple[int, int, int]:
        """Return what is surely below a node that is not in the tree, and bounds of its total."""
        if self.threshold is None or self.above_floor is None or self.candidates is None:
            raise ParameterError(LACKING)
        failure, none = 1 - confidence, not len(tops.totals)
        lower = np.maximum(tops.totals - self._floors[tops.levels], 0)
        above = max(self.noise.distribution.least_tail(failure if none else failure / 2) - 1, 0)
        noise = 0 if none else self._margins_of_all(failure / 2)[1]
        estimate, least = int(lower.sum()), int(np.maximum(lower - noise, 0).sum())
        hidden = self.floors[level] + self.above_floor if level else 0
        taken = 0 if self.by_level else estimate
        return estimate, least, max(hidden, self.threshold + taken) - 1 + above

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of, and what holds for all nodes at once."""
        above, _ = self._margins((1 - confidence) / 2)
        residual = "residual is the total: no node takes anything from another."
        if not self.by_level:
            residual = (
                "residual is conservative: the total without the lower estimates (total - noisy floor) of the"
                " nearest published descendants."
            )
        return (
            f"{picked(confidence)} its true total lies between lower and upper = total + {above}.",
            "total is an upper estimate with noise: the sketch of a node's level may overcount it by about"
            " the noisy floor of that level, which the interval includes.",
            residual,
            *self._all_sentences(self.all_nodes(confidence), confidence),
        )

    def _all_sentences(self, known: AllNodes | None, confidence: float) -> tuple[str, ...]:
        """Say what holds for all nodes at once (Biswas et al. 2024, Theorems 5.2 and 5.3, corrected)."""
        if known is None:
            return ()
        below = "" if self.by_level else ", beyond the lower estimates of its nearest published descendants"
        each = [f"{missing:,}" for missing in known.unpublished]
        most = each[0] if len(set(each)) == 1 else f"(by level, from the root on) {', '.join(each)}"
        return (
            NEAR,
            f"{at_once(confidence, 1)} every total is at most {known.above:,} too low, and at most"
            f" {known.below:,} and the noisy floor of its level too high; a node that is not in the table has"
            f" at most {most}{below}.",
        )

    @property
    def _floors(self) -> Counts:
        """The noisy floors, none below 0."""
        return np.maximum(np.array(self.floors, np.int64), 0)

    def _margins(self, half: float) -> tuple[int, int]:
        """Return (above, below): z < -above and z - z0 > below each have probability `half` at most."""
        above = max(self.noise.distribution.least_tail(half) - 1, 0)
        return above, smallest_integer(lambda m: m >= 1 and self.noise.difference_tail(m) <= half) - 1

    def _margins_of_all(self, half: float) -> tuple[int, int]:
        """Return the same for all candidates, floors and the root together."""
        height, exact, noise = len(self.floors) - 1, self.exact or 0, self.noise
        counts, tail = self.candidates or 0, noise.distribution.tail
        drawn = height * counts + height - exact + 1
        above = smallest_integer(lambda m: m >= 1 and drawn * float(tail(m)) <= half) - 1

        def too_high(m: int) -> float:
            floored = (height - exact) * counts * noise.difference_tail(m)
            return floored + (exact * counts + 1) * float(tail(m))

        return above, smallest_integer(lambda m: m >= 1 and too_high(m) <= half) - 1
