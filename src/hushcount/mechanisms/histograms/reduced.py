"""Reduced counts of one sketch, or summed over several, without a domain; small ones are rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import NotProvedError
from hushcount.keys.arrays import sum_by_key
from hushcount.mechanisms.base import UNIT_UPDATES, Block, Claim, Mechanism, keep
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.mechanisms.histograms.pure import PureError, reduced, reduced_noise
from hushcount.mechanisms.intervals import EstimateError, Selection
from hushcount.noise.bits import Bits
from hushcount.noise.extremes import uniforms
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.tails import smallest
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.shapes import FloorCounters, Shape, Shards


class ReducedRelease(Mechanism[FloorCounters | Shards, Release]):
    """Noisy sums of the reduced counts of one or several sketches, above a threshold.

    Theorem: (epsilon, delta)-DP, whatever the number of sketches.
    Neighbours: add or remove one event.
    Assumes: every event counts 1, in the order of the stream; keys are evicted as for the floor release; the
        sketch of an event is a function of the event alone; all sketches have the same number of candidates.
    Parameters: y as for `pure`, summed over the sketches of k candidates each; a sum below k becomes k with
        probability y / k, and otherwise 0; DLap(epsilon / (2k - 1)) on what is not 0; `least_noisy`.
    Proof: docs/proofs/histograms/reduced.md. Checked by: tests/privacy/test_reduced.py
    """

    name = "reduced"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters, Shards)
    sketch = "misra-gries"
    way_out = "release one SpaceSaving or MisraGries sketch, or a list of them"
    claim = Claim(
        "release of reduced counts",
        "Sums over sketches of reduced counters, rounded at random where they are small (Lebeda and Tětek"
        " 2023, Sections 6 and 7), with noise and a threshold are (epsilon, delta)-DP.",
        "docs/proofs/histograms/reduced.md",
        (UNIT_UPDATES, "the sketch of an event is a function of the event alone"),
    )
    noise: DiscreteLaplace
    units: int
    threshold: int

    def calibrate(self) -> None:
        """Set the noise of each sum, the unit in which sums are whole, and the threshold, or raise."""
        candidates = self.public.candidates
        if candidates is None:
            raise NotProvedError(
                f"{self.name} is proved for sketches with the same number of counters; count every part with"
                " as many counters."
            )
        self.noise, self.units = reduced_noise(self.budget, candidates)
        hidden = smallest(lambda m: float(self.noise.log_tail(m)), shown(self.budget, candidates), start=1)
        self.threshold = 1 + int(nearest(self.level + hidden - 1, self.units))

    @property
    def level(self) -> int:
        """What smaller sums are rounded to, or to 0: the most that one event changes a sum by."""
        return self.units - 1

    @property
    def least_noisy(self) -> int:
        """The smallest noisy sum that is published: rounded to whole counts it is the threshold."""
        return first_of(self.threshold, self.units)

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise, in units of 1 / `units` of a count, and the threshold in counts."""
        sizes = {"candidates": self.public.candidates, "max_events": self.public.max_events}
        own = {"units": self.units, "threshold": self.threshold}
        return {"noise": noise_words(self.noise), **own, **sizes}

    def forecast(self) -> KeyForecast:
        """Return what will reach the threshold; the reduction lowers every count by about a floor."""
        units, threshold, least = self.units, self.threshold, self.least_noisy

        def deciding(m: Counts) -> Floats:
            return self.noise.tail(least - units * (threshold - m))

        def added(m: Counts) -> Floats:
            return self.noise.tail(units * m - units // 2)

        return KeyForecast(threshold, deciding, added, above_floor=True, lowered=True)

    def draw(self, shape: FloorCounters | Shards, bits: Bits) -> Release:
        """Publish each key whose noisy sum reaches the threshold, as the nearest whole count."""
        parts = shape.parts if isinstance(shape, Shards) else (shape,)
        keys, sums = self.sums(parts)
        raised = self.rounded(sums, bits)
        noisy = raised + self.noise.sample(len(raised), bits)
        published = (raised > 0) & (noisy >= self.least_noisy)
        counts = nearest(noisy[published], self.units)
        longest, sizes = self.public.max_events, {"candidates": self.units - 1, "shards": len(parts)}
        stated = {"threshold": self.threshold, "max_events": longest, "units": self.units}
        guarantee = self.guarantee(shape.unit, **stated, **sizes)
        most, left_out = len(parts) * self.level, self.public.largest_floor
        error = ReducedError(self.noise, most, left_out, threshold=self.threshold, units=self.units)
        return Release.of(keep(keys, published), counts, guarantee, error)

    def sums(self, parts: tuple[FloorCounters, ...]) -> Block:
        """Return the sums of the reduced counts: each sketch is reduced by itself."""
        return sum_by_key([part.keys for part in parts], [reduced(part) for part in parts])

    def rounded(self, sums: Counts, bits: Bits) -> Counts:
        """Return the sums; of those below the level a share becomes the level, and the others 0."""
        found: Counts = sums.copy()
        small = sums < self.level
        drawn = uniforms(self.level, int(small.sum()), bits).astype(np.int64)
        found[small] = np.where(drawn < sums[small], self.level, 0)
        return found


def shown(budget: Budget, candidates: int) -> float:
    """Return the largest allowed probability that a sum at the level is published, delta in nearly all cases.

    For so large a delta that raising a sum costs a part of it too, it is smaller.
    """
    share = candidates / (2 * candidates - 1)
    likely = budget.delta / (1 - budget.delta) > budget.epsilon * share
    return budget.delta * (share if likely else 1.0)


def nearest(noisy: Counts | int, units: int) -> Counts:
    """Return noisy sums in units of 1 / `units` as the nearest whole counts."""
    return (2 * noisy + units) // (2 * units)  # type: ignore[return-value]


def first_of(count: int, units: int) -> int:
    """Return the smallest noisy sum that is rounded to a count."""
    return -(-(2 * count - 1) * units // 2)


@dataclass(frozen=True, slots=True)
class ReducedError(PureError):
    """The count is r / `units` + noise, rounded, and r / units <= true <= r / units + `left_out`.

    r is the sum of reduced counts, or the level `units` - 1 that a smaller one was raised to. Counts of at
    least `threshold` are published.
    """

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts | None]:
        """Return the ends of published rows, the lower ones given that they were published."""
        _, above = self.interval(confidence)
        noisy = -(-(2 * counts - 1) * self.units // 2)  # the first that is rounded to each count
        ends = noisy - self._width(confidence)
        lower = self._selection().lower(noisy, ends, self._failure(confidence), max(self.units - 1, 1))
        return -(-lower // self.units), None if above is None else counts + above

    def full_from(self, confidence: float) -> int:
        """Return the smallest count from which on the lower end is that of a key chosen beforehand."""
        noisy = self._selection().steady(self._width(confidence), self._failure(confidence))
        return -(-(2 * noisy + self.units) // (2 * self.units))

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        return EstimateError.sentences(self, confidence)

    def _width(self, confidence: float) -> int:
        """Return how far noise raises a sum but for the failure of the lower end."""
        failure = 1 - confidence
        return self._one_sided(failure, 1) if self.left_out is None else self._two_sided(failure, 1)

    def _selection(self) -> Selection:
        """Return which noisy sums are published."""
        return Selection(self.log_tail, first_of(self.threshold or 1, self.units))
