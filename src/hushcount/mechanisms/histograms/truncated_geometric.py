"""The truncated geometric: the most keys that a private histogram can publish."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hushcount.compiled.arrays import Counts
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import UNIT_UPDATES, Block, Claim, Mechanism, ShapeT, joined, keep
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.groups import row_budget
from hushcount.mechanisms.histograms.geometric_noise import TruncatedGeometricNoise
from hushcount.mechanisms.histograms.laplace import TOGETHER
from hushcount.mechanisms.intervals import interval_sentences
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.rows import values_grid
from hushcount.noise.bits import Bits
from hushcount.privacy import USER, Budget, Guarantee, PrivacyUnit, check_count, unwarned
from hushcount.releases.release import Release
from hushcount.shapes import ExactCounts, FloorCounters, Histogram

if TYPE_CHECKING:
    import pyarrow as pa


class _Subtracting(Mechanism[ShapeT, Release]):
    """A mechanism that subtracts a truncated geometric noise from counts above a public floor."""

    floor = 0
    each: Budget

    def calibrate(self) -> None:
        """Set the noise."""
        self.each = self.budget
        self.noise = TruncatedGeometricNoise.of(values_grid(self.each))

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the largest noise, and what is added to what it leaves."""
        return {**self.noise.parameters(self.floor), "max_events": self.public.max_events}

    def forecast(self) -> KeyForecast:
        """Return which counts will keep at least 1."""
        tail = self.noise.tail
        return KeyForecast(1 + self.noise.centre + self.floor, tail, tail)

    def subtracted(self, above: Iterable[Block], unit: PrivacyUnit, bits: Bits) -> Release:
        """Publish each key that keeps at least 1 of what it has above the floor."""
        keys, counts = joined(self.noise.publish(keys, counts, bits, self.floor) for keys, counts in above)
        return Release.of(keys, counts, self.guarantee(unit, **self.calibration()), self.error())

    def error(self) -> TruncatedGeometricError:
        """Return how far counts may lie from the truth."""
        return TruncatedGeometricError(self.each, self.floor, self.public.max_events)


class TruncatedGeometric(_Subtracting[Histogram | ExactCounts]):
    """Counts minus a truncated geometric noise, published if at least 1 is left.

    Theorem: (epsilon, delta)-DP. For one count, no (epsilon, delta)-DP release publishes a key with higher
        probability.
    Neighbours: add or remove one unit: an event, or a user with at most m keys.
    Assumes: one unit changes at most m counts by 1, or one count by a weight of at most W; keys with a count
        of 0 are not in the histogram.
    Parameters: K, TruncatedGeometricNoise at (epsilon / m, delta / m), or at the budget of one of W events
        together; published count = count - K + median of K. With `min_users`, counts are taken above
        min_users - 1.
    Proof: docs/proofs/sampling/sample.md, section 3, docs/proofs/histograms/users.md,
        docs/proofs/histograms/weights.md. Checked by: tests/privacy/test_sample_integers.py,
        tests/privacy/test_users.py, tests/privacy/test_weights.py
    """

    name = "truncated-geometric"
    accepts = (Histogram, ExactCounts)
    sketch = "exact"
    weighted = True
    way_out = 'use mechanism="floor", count with Exact, or give max_events for "public-floor"'
    claim = Claim(
        "truncated geometric",
        "Truncated geometric: counts minus K, published if at least 1, are (epsilon, delta)-DP.",
        "docs/proofs/sampling/sample.md",
        ("one event changes one count by 1",),
    )

    def calibrate(self) -> None:
        """Set the noise of each of the counts that one unit can change."""
        self.each = row_budget(key_budget(self.budget, self.public.moved or 1), self.public.unit.weight)
        self.noise = TruncatedGeometricNoise.of(values_grid(self.each))
        self.floor = max((self.public.min_users or 0) - 1, 0)

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the largest noise, what is added to what it leaves, and how many counts change together."""
        together = {"moved": self.public.moved, "min_users": self.public.min_users}
        return {**super().calibration(), **(together if self.public.shape is ExactCounts else {})}

    def guarantee(self, unit: PrivacyUnit, **parameters: int | float | str | None) -> Guarantee:
        """Return the guarantee, which for several counts rests on composition."""
        own, moved = super().guarantee(unit, **parameters), self.public.moved or 1
        if moved == 1:
            return replace(own, assumptions=TOGETHER) if unit == USER else own
        return replace(
            own,
            mechanism=f"truncated geometric for {moved} keys of one user",
            theorem=f"{own.theorem} Keys of one user together: composition.",
            proof=f"{own.proof}, docs/proofs/histograms/users.md",
            assumptions=TOGETHER,
        )

    def draw(self, shape: Histogram | ExactCounts, bits: Bits) -> Release:
        """Publish each key that keeps at least 1."""
        blocks = shape.blocks if isinstance(shape, ExactCounts) else [(shape.keys, shape.counts)]
        return self.subtracted((self._above(*block) for block in blocks), shape.unit, bits)

    def _above(self, keys: pa.Array, counts: Counts) -> Block:
        """Return what keys have above the floor, if they have anything above it."""
        if not self.floor:
            return keys, counts
        above = counts > self.floor
        return keep(keys, above), counts[above] - self.floor

    def error(self) -> TruncatedGeometricError:
        """Return how far counts may lie from the truth: exact counts have no other error than noise."""
        kind = LiftedGeometricError if self.floor else TruncatedGeometricError
        return kind(self.each, self.floor, self.public.max_events)


def key_budget(budget: Budget, keys: int) -> Budget:
    """Return the budget of each of `keys` independent keys that together cost `budget`.

    >>> key_budget(Budget(1.0, 1e-6), 1)
    Budget(epsilon=1.0, delta=1e-06)
    """
    if keys == 1:
        return budget
    epsilon, delta = (math.nextafter(whole / keys, 0) for whole in (budget.epsilon, budget.delta))
    return unwarned(epsilon, delta)


class PublicFloorRelease(_Subtracting[FloorCounters]):
    """The truncated geometric on what the counters of one SpaceSaving stream have above a public floor.

    Theorem: (epsilon, delta)-DP for streams of at most max_events events.
    Neighbours: add or remove one event.
    Assumes: as the floor release, and a public bound max_events on the length.
    Parameters: floor max_events // parts + 1; K, TruncatedGeometricNoise.
    Proof: docs/proofs/sampling/sample.md, section 7. Checked by: tests/privacy/test_public_floor.py
    """

    name = "public-floor"
    accepts = (FloorCounters,)
    sketch = "space-saving"
    way_out = 'use mechanism="truncated-geometric"'
    needs = ("max_events", "parts")
    claim = Claim(
        "truncated geometric above a public floor",
        "Truncated geometric above a public floor is (epsilon, delta)-DP for at most max_events events.",
        "docs/proofs/sampling/sample.md",
        (UNIT_UPDATES, "the stream holds at most max_events events"),
    )

    def calibrate(self) -> None:
        """Set the noise and the public floor."""
        super().calibrate()
        self.floor = public_floor(self.needed("max_events"), self.needed("parts"))

    def draw(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish each candidate that keeps at least 1 above the public floor."""
        above = above_floor(shape, self.needed("max_events"))
        return self.subtracted([(above.keys, above.counts)], above.unit, bits)


def public_floor(max_events: int, parts: int) -> int:
    """Return the smallest public floor: the most that a key next to the floor can have in max_events events.

    >>> public_floor(1_000_000, 1024)
    977
    """
    return check_count("max_events", max_events) // check_count("parts", parts) + 1


def above_floor(shape: FloorCounters, max_events: int, floor: int | None = None) -> Histogram:
    """Return what the candidates have above a public floor; keys with nothing above it are left out.

    One event changes one count by 1, for streams of at most `max_events` events. A higher floor may be given.
    """
    least = public_floor(max_events, shape.parts)
    chosen = least if floor is None else check_count("floor", floor)
    if chosen < least:
        raise ParameterError(
            f"floor must be at least max_events // counters + 1 = {least} to be public, got {floor}."
        )
    above = shape.counts - chosen
    kept = above >= 1
    return Histogram(keep(shape.keys, kept), above[kept], shape.unit)


@dataclass(frozen=True, slots=True)
class TruncatedGeometricError:
    """The count is c - K + median(K) with a bounded K, and c - (offset - 1) <= true <= c.

    `offset` is the public floor, which was taken off every count before the noise; 0 if there was none.
    """

    budget: Budget
    offset: int = 0
    max_events: int | None = None

    @property
    def noise(self) -> TruncatedGeometricNoise:
        """The distribution of K."""
        return TruncatedGeometricNoise.of(values_grid(self.budget))

    @property
    def distribution(self) -> SampleDistribution:
        """How likely each value is for each count, for estimates."""
        return SampleDistribution.of(self.budget)

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key chosen before seeing the result."""
        low, high = self.noise.quantiles(1 - confidence)
        return self.noise.centre - low + self._sketch, high - self.noise.centre

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the widths that hold for all keys at once, with certainty: the noise is bounded."""
        return self.noise.centre + self._sketch, self.noise.largest - self.noise.centre

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts]:
        """Return the ends of published rows, the lower ones given that at least 1 was left of them."""
        low, _ = self.noise.quantiles(1 - confidence)
        left = self.values(counts)
        lower = self.noise.selection().lower(left, left + low, (1 - confidence) / 2, 1)
        return lower + (self.offset - self._sketch), counts + self.interval(confidence)[1]

    def mean_squared_error(self, confidence: float) -> float:
        """Return a bound on the mean squared error of every key; the noise is bounded."""
        tail = self.noise.tail
        known = KeyForecast(1 + self.noise.centre, tail, tail, above_floor=True)
        return known.mean_squared_error(self.offset)

    def full_from(self, confidence: float) -> int:
        """Return the smallest count from which on the lower end is that of a key chosen beforehand."""
        low, _ = self.noise.quantiles(1 - confidence)
        left = self.noise.selection().steady(-low, (1 - confidence) / 2)
        return left + self.noise.centre + self.offset

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        least, most = self.simultaneous(confidence)
        return (
            *interval_sentences(confidence, below, above, self.full_from(confidence)),
            f"The noise is bounded: every true count lies between count - {least} and count + {most}.",
        )

    def values(self, counts: Counts) -> Counts:
        """Return the sanitised values 1, 2, ... that published counts stand for."""
        return counts - (self.noise.centre + self.offset)

    @property
    def _sketch(self) -> int:
        """Return the most by which the sketch may overcount a published key."""
        return max(self.offset - 1, 0)


@dataclass(frozen=True, slots=True)
class LiftedGeometricError(TruncatedGeometricError):
    """The same for exact counts: keys of `offset` or fewer are never published, and all others are exact."""

    @property
    def _sketch(self) -> int:
        """Return nothing: the counts were exact."""
        return 0
