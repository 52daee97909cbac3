"""Releases of one summary for each disjoint part of the data: a private floor each, then one histogram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.keys.arrays import sum_by_key
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import Claim, Mechanism, keep
from hushcount.mechanisms.counters.floor import ONE_STREAM
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.mechanisms.histograms.geometric_noise import TruncatedGeometricNoise
from hushcount.mechanisms.intervals import interval_sentences
from hushcount.mechanisms.sampling.rows import values_grid
from hushcount.noise import tails
from hushcount.noise.bits import Bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget, share_of
from hushcount.releases.release import Release
from hushcount.shapes import Histogram, KeyShards, Shards


class ShardRelease(Mechanism[Shards, Release]):
    """Sums over shards of what the counts have above noisy floors, less a truncated geometric.

    Theorem: (epsilon, delta)-DP, whatever the number of shards.
    Neighbours: add or remove one event.
    Assumes: as the floor release, in each shard; the shard of an event is a function of the event alone.
    Parameters: floors f + DLap(epsilon) + A, A = thresholds.shard_margin; K, TruncatedGeometricNoise at
        (epsilon, delta - P[DLap(epsilon) > A]).
    Proof: docs/proofs/counters/shards.md. Checked by: tests/privacy/test_shards.py
    """

    name = "shards"
    accepts = (Shards,)
    sketch = "space-saving"
    way_out = "give a list of SpaceSaving or MisraGries sketches"
    claim = Claim(
        "shard release",
        "Shard release: noisy floors and a noisy histogram of what lies above them are (epsilon, delta)-DP"
        " together.",
        "docs/proofs/counters/shards.md",
        (*ONE_STREAM, "the shard of an event is a function of the event alone"),
    )

    def calibrate(self) -> None:
        """Set the noise of each floor, what is added to it, and the noise of the histogram."""
        self.floor_noise = DiscreteLaplace(self.budget.epsilon)
        self.margin = thresholds.shard_margin(self.budget.epsilon, self.budget.delta)
        self.noise = TruncatedGeometricNoise.of(values_grid(histogram_budget(self.budget)))

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise of the floors, what is added to them, and the noise of the histogram."""
        return {"noise": noise_words(self.floor_noise), "margin": self.margin, **self.noise.parameters()}

    def forecast(self) -> KeyForecast:
        """Return what will be left of a key that one shard holds, above its noisy floor."""
        below, centre, margin = self.noise.cumulative(), self.noise.centre, self.margin
        chances = np.diff(below)  # P[K = 0], P[K = 1], ...
        taken = np.arange(len(chances))

        def added(m: Counts) -> Floats:
            """Return P[centre - K - z - margin >= m] for the noise z of the floor, which is symmetric."""
            least = m[:, None] - centre + margin + taken
            return np.asarray(self.floor_noise.tail(least) @ chances)

        return KeyForecast(1 + centre, added, added, above_floor=True, lowered=True)

    def draw(self, shape: Shards, bits: Bits) -> Release:
        """Publish the noisy floors, and each key that keeps at least 1."""
        noise = self.floor_noise.sample(len(shape.parts), bits)
        floors = tuple(part.floor + int(z) + self.margin for part, z in zip(shape.parts, noise, strict=True))
        histogram = above_floors(shape, floors)
        keys, counts = self.noise.publish(histogram.keys, histogram.counts, bits)
        sizes = {"shards": len(floors), "margin": self.margin}
        guarantee = self.guarantee(shape.unit, **sizes, **self.noise.parameters())
        apart = isinstance(shape, KeyShards)
        error = ShardError(self.budget, floors, apart)
        return Release.of(keys, counts, guarantee, error, max(floors) if apart else sum(floors))


def histogram_budget(budget: Budget) -> Budget:
    """Return the budget left for the histogram: a key isolated below its floor may have spent the rest."""
    margin = thresholds.shard_margin(budget.epsilon, budget.delta)
    spent = float(DiscreteLaplace(budget.epsilon).tail(margin + 1)) * (1 + tails.SAFETY)
    return share_of(budget.epsilon, budget.delta - spent)


def above_floors(shape: Shards, floors: tuple[int, ...]) -> Histogram:
    """Return sums over shards of max(count - floor, 0), without keys that have nothing above any floor."""
    keys, heights = [], []
    for part, floor in zip(shape.parts, floors, strict=True):
        above: Counts = part.counts - floor
        keys.append(keep(part.keys, above >= 1))
        heights.append(above[above >= 1])
    return Histogram(*sum_by_key(keys, heights))


@dataclass(frozen=True, slots=True)
class ShardError:
    """The count is H - K + median(K) and H - u <= true <= H + sum of floors + u.

    u is 0 unless a noisy floor f + z + margin is below its floor f; `floors` are published. Where keys are
    `apart`, each in one shard, the largest floor stands in for their sum, and u is that of one floor.
    """

    budget: Budget
    floors: tuple[int, ...]
    apart: bool = False

    @property
    def noise(self) -> TruncatedGeometricNoise:
        """The distribution of K."""
        return TruncatedGeometricNoise.of(values_grid(histogram_budget(self.budget)))

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key chosen before seeing the result.

        If a key is in one shard only, which one does not depend on the noise.
        """
        each, missed = self._too_low(1 - confidence, 1 if self.apart else len(self.floors))
        low, high = self.noise.quantiles(1 - confidence - missed)
        return self.noise.centre - low + each, high - self.noise.centre + self._lost + each

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts]:
        """Return the ends of published rows, the lower ones given that at least 1 was left of them."""
        each, low, failure = self._below(confidence)
        left = counts - self.noise.centre
        lower = self.noise.selection().lower(left, left + low, failure, 1) - each
        return np.maximum(lower, 0), counts + self.interval(confidence)[1]

    def full_from(self, confidence: float) -> int:
        """Return the smallest count from which on the lower end is that of a key chosen beforehand."""
        _, low, failure = self._below(confidence)
        return self.noise.selection().steady(-low, failure) + self.noise.centre

    def _below(self, confidence: float) -> tuple[int, int, float]:
        """Return u, the least K that is believed, and the failure that is left for it."""
        each, missed = self._too_low(1 - confidence, 1 if self.apart else len(self.floors))
        left = 1 - confidence - missed
        return each, self.noise.quantiles(left)[0], left / 2

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the widths for all keys at once.

        Noise is bounded, and no noisy floor is too low by more than u.
        """
        each, _ = self._too_low(1 - confidence, len(self.floors))
        return self.noise.centre + each, self.noise.largest - self.noise.centre + self._lost + each

    def _too_low(self, failure: float, shards: int) -> tuple[int, float]:
        """Return (u, p): so many floors are together more than u too low with probability at most p."""
        noise = DiscreteLaplace(self.budget.epsilon)
        margin = thresholds.shard_margin(self.budget.epsilon, self.budget.delta)
        one = max(noise.least_tail(failure / (2 * shards)) - margin - 1, 0)
        missed = shards * float(noise.tail(margin + 1 + one))
        return one if self.apart else shards * one, missed

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        where = "floor of its shard," if self.apart else f"floors of {len(self.floors)} shards, in all"
        return (
            *interval_sentences(confidence, below, above, self.full_from(confidence)),
            f"count leaves out what lies below the noisy {where} up to {self._lost}.",
        )

    @property
    def _lost(self) -> int:
        """Return the most that noisy floors left out of the count of a key."""
        above = [max(floor, 0) for floor in self.floors]
        return max(above) if self.apart else sum(above)
