"""Releases of the absolute counts of one counter sketch: the floor release, and DPSS with a public length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import UNIT_UPDATES, Block, Claim, Mechanism, Thresholded, keep
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.mechanisms.intervals import EstimateError, KeyIntervals, Selection, interval_sentences
from hushcount.noise import tails
from hushcount.noise.bits import Bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.lattice import smallest_integer
from hushcount.releases.release import Release
from hushcount.shapes import FloorCounters, Public

FLOOR_SHAPE_WAY_OUT = 'release one SpaceSaving or MisraGries stream, or use mechanism="laplace-threshold"'

ONE_STREAM = (
    UNIT_UPDATES,
    "of the keys with the smallest count, the one updated last is evicted (SpaceSaving), or the first in a"
    " fixed order (Misra-Gries)",
)
BOUNDED_LENGTH = "the stream holds at most max_events events"


class FloorRelease(Mechanism[FloorCounters, Release]):
    """Noisy counts of the tracked keys that clear the noisy floor.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: every event counts 1, in the order of the stream; of the keys with the smallest count, the one
        updated last is evicted (SpaceSaving), or the first in a fixed order (Misra-Gries).
    Parameters: z ~ DLap(epsilon) on the floor and on each candidate; G, thresholds.floor_threshold.
    Proof: docs/proofs/counters/floor.md. Checked by: tests/privacy/test_space_saving.py
    """

    name = "floor"
    accepts = (FloorCounters,)
    sketch = "space-saving"
    way_out = FLOOR_SHAPE_WAY_OUT
    claim = Claim(
        "floor release",
        "Floor release: noisy counts that clear the noisy floor by G are (epsilon, delta)-DP.",
        "docs/proofs/counters/floor.md",
        ONE_STREAM,
    )

    def calibrate(self) -> None:
        """Set the noise of the floor and of each count, and the distance G from the noisy floor."""
        self.noise = DiscreteLaplace(self.budget.epsilon)
        self.threshold = thresholds.floor_threshold(self.budget.epsilon, self.budget.delta)

    def draw(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish the noisy floor, and each candidate whose noisy count is at least G above it."""
        noise = self.noise.sample(1 + len(shape.counts), bits)
        floor, (keys, counts) = above_noisy_floor(shape, noise, self.threshold)
        guarantee = self.guarantee(shape.unit, threshold=self.threshold, candidates=shape.candidates)
        error = FloorError(self.noise, floor, shape.candidates, self.threshold)
        return Release.of(keys, counts, guarantee, error, floor)

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise, and how far a count must lie above the noisy floor."""
        return {
            "noise": noise_words(self.noise),
            "threshold": self.threshold,
            "candidates": self.public.candidates,
        }

    def forecast(self) -> KeyForecast:
        """Return what will clear the noisy floor: two noises decide, one of them is in the count."""
        deciding = partial(tails.difference_tail, self.budget.epsilon)
        return KeyForecast(self.threshold, deciding, self.noise.tail, above_floor=True)


def above_noisy_floor(shape: FloorCounters, noise: Counts, threshold: int) -> tuple[int, Block]:
    """Return the noisy floor of a sketch, and the keys and noisy counts that lie `threshold` above it."""
    floor = shape.floor + int(noise[0])
    counts = shape.counts + noise[1:]
    published = counts - floor >= threshold
    return floor, (keep(shape.keys, published), counts[published])


@dataclass(frozen=True, slots=True)
class FloorError(KeyIntervals):
    """The count is an upper estimate c + z, the floor is f + z0, and c - f <= true <= c.

    Counts are published if they lie `threshold` above the noisy floor; None, in files of earlier versions, if
    that is not known.
    """

    noise: DiscreteLaplace
    floor: int
    candidates: int
    threshold: int | None = None

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key chosen before seeing the result."""
        return self.bounds(1 - confidence, 1)

    def bounds(self, failure: float, keys: int) -> tuple[int, int]:
        """Return the widths for `keys` keys at once: half of the failure above, the rest below."""
        # above fails if some z < -above, below only if some z - z0 > below - floor; no floor lies below 0
        above, left = self.split(failure, keys)
        noise = tails.largest_difference(float(self.noise.epsilon), left, keys) - 1
        return max(self.floor, 0) + noise, above

    def split(self, failure: float, keys: int) -> tuple[int, float]:
        """Return the width above for half of the failure, and how much of it is left for the width below."""
        above = max(self.noise.least_tail(tails.one_of(keys, failure / 2)) - 1, 0)
        return above, failure - tails.any_of(keys, float(self.noise.tail(above + 1)))

    def missing(self, failure: float, keys: int) -> int:
        """Return by how much the true count of an unpublished key may exceed the noisy counts left out.

        Either its own noise is as low as that, or its true count is at most the floor, which then lies as far
        above the noisy floor, and by the threshold more.
        """
        noise, apart = self.noise, self.threshold or 1

        def holds(width: int) -> bool:
            own = tails.any_of(keys, float(noise.tail(width + 1))) if width >= 0 else 1.0
            return own + float(noise.tail(apart + max(width, 0))) <= failure

        return smallest_integer(holds)

    def mean_squared_error(self, confidence: float) -> float | None:
        """Return a bound on the mean squared error of every key, by a floor that holds with `confidence`."""
        if self.threshold is None:
            return None
        deciding = partial(tails.difference_tail, float(self.noise.epsilon))
        floor = max(self.floor + self.noise.least_tail(1 - confidence) - 1, 0)
        known = KeyForecast(self.threshold, deciding, self.noise.tail, above_floor=True)
        return known.mean_squared_error(floor)

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts]:
        """Return the ends of published rows, the lower ones given that they lie above the noisy floor."""
        below, above = self.interval(confidence)
        lower = np.maximum(counts - below, 0)
        if self.threshold is not None:
            left = self.split(1 - confidence, 1)[1]
            lower = self._selection(self.threshold).lower(counts - self.floor, lower, left)
        return lower, np.maximum(counts + above, 0)

    def full_from(self, confidence: float) -> int | None:
        """Return the smallest count from which on the lower end is that of a key chosen beforehand."""
        if self.threshold is None:
            return None
        width, left = self.interval(confidence)[0] - self.floor, self.split(1 - confidence, 1)[1]
        return self._selection(self.threshold).steady(width, left) + self.floor

    def _selection(self, threshold: int) -> Selection:
        """Return which heights above the noisy floor are published: each has both noises."""
        return Selection(partial(tails.log_difference_tails, float(self.noise.epsilon)), threshold)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        full = self.full_from(confidence)
        return (
            *interval_sentences(confidence, *self.interval(confidence), full),
            overcounted(self.floor),
        )


def overcounted(floor: int) -> str:
    """Return what the noisy floor says about the counts, which are never too low but for noise."""
    if floor <= 0:
        return "What the sketch may overcount a key by is less than the noise."
    return (
        f"The sketch may overcount a key by about {floor:,}, which the interval includes; more counters lower"
        " this."
    )


class BoundedLengthRelease(Thresholded[FloorCounters]):
    """Noisy counts above what a key next to the floor can have in a stream of at most `max_events` events.

    Theorem: (epsilon, delta)-DP for streams of at most max_events events.
    Neighbours: add or remove one event.
    Assumes: a public length bound (the exact length in the threshold is not private: docs/errata.md); the
        rest as for the floor release.
    Parameters: z ~ DLap(epsilon) on each candidate; threshold floor(max_events / parts) + 1 + m,
        m = thresholds.dpss_margin.
    Proof: docs/proofs/counters/floor.md. Checked by: tests/privacy/test_space_saving.py
    """

    name = "dpss"
    accepts = (FloorCounters,)
    sketch = "space-saving"
    way_out = FLOOR_SHAPE_WAY_OUT
    needs = ("max_events", "parts")
    claim = Claim(
        "DPSS with a public length bound",
        "DPSS (Holland 2025, Algorithm 3, with a public length bound) is (epsilon, delta)-DP.",
        "docs/proofs/counters/floor.md",
        (*ONE_STREAM, BOUNDED_LENGTH),
    )

    def calibrate(self) -> None:
        """Set the noise, the largest floor that the public length allows, and the threshold above it."""
        self.noise = DiscreteLaplace(self.budget.epsilon)
        self.largest_floor = self.needed("largest_floor")
        margin = thresholds.dpss_margin(self.budget.epsilon, self.budget.delta)
        self.threshold = self.largest_floor + 1 + margin

    def parameters(self, sizes: Public) -> dict[str, int | float | str | None]:
        """Return the threshold and the public length."""
        return {"threshold": self.threshold, "max_events": self.public.max_events}

    def error(self, sizes: Public) -> EstimateError:
        """Return the error of counts that are too high by at most the largest floor."""
        return EstimateError(self.noise, sizes.candidates, added=self.largest_floor, threshold=self.threshold)

    def forecast(self) -> KeyForecast:
        """Return what will reach the threshold: counts are compared with it as they are."""
        return KeyForecast(self.threshold, self.tail, self.tail)
