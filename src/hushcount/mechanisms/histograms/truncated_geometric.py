"""The truncated geometric: the most keys that a private histogram can publish."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Words
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import (
    Claim,
    calibrate,
    check_calibrated,
    check_shape,
    keep,
    lies_between,
    needed,
)
from hushcount.mechanisms.sampling.law import SampleLaw
from hushcount.mechanisms.sampling.rows import Grid, stationary_masses, values_grid
from hushcount.noise.bits import uniform_from
from hushcount.privacy import Budget, check_count
from hushcount.releases.release import Release
from hushcount.shapes import NOTHING_PUBLIC, FloorCounters, Histogram, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

WORD = 64


@dataclass(frozen=True, slots=True)
class TruncatedGeometricLaw:
    """K in 0..n-1 with P(K < k) = pi*_k: delta, E delta, E^2 delta, ... to the middle, then down again.

    `masses` are the integers pi*_0 .. pi*_n over 2^width. Drawn exactly: a uniform integer against them.
    """

    masses: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, grid: Grid) -> TruncatedGeometricLaw:
        """Return the distribution of a grid."""
        return cls(stationary_masses(grid), grid.width)

    @property
    def centre(self) -> int:
        """The median of K, subtracted so that published counts are centred on the truth."""
        return bisect_right(self.masses, 1 << (self.width - 1)) - 1

    @property
    def largest(self) -> int:
        """The largest value of K."""
        return len(self.masses) - 2

    def cumulative(self) -> Floats:
        """P(K < k) for k = 0..n as floats."""
        return np.array([mass / (1 << self.width) for mass in self.masses])

    def quantiles(self, failure: float) -> tuple[int, int]:
        """Return (low, high) with P(K < low) <= failure / 2 and P(K > high) <= failure / 2."""
        half = math.floor(failure / 2 * 2.0**53) << (self.width - 53)
        low = bisect_right(self.masses, half) - 1
        high = bisect_left(self.masses, (1 << self.width) - half) - 1
        return low, high

    def sample(self, size: int, bits: Bits) -> Counts:
        """Draw `size` independent values."""
        words = bits.words(size)
        heads = _heads(self)
        values = np.searchsorted(heads, words, side="left")
        ties = np.flatnonzero(heads[np.minimum(values, len(heads) - 1)] == words)
        for tie in ties.tolist():  # the first 64 bits leave it open: about one in 10^16
            values[tie] = bisect_right(self.masses, uniform_from(int(words[tie]), self.width, bits)) - 1
        return values.astype(np.int64)


@lru_cache(maxsize=32)
def _heads(law: TruncatedGeometricLaw) -> Words:
    """Return the first 64 bits of pi*_1 .. pi*_(n-1)."""
    return np.array([mass >> (law.width - WORD) for mass in law.masses[1:-1]], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class TruncatedGeometric:
    """Counts minus a truncated geometric noise, published if at least 1 is left.

    Theorem: (epsilon, delta)-DP, and no (epsilon, delta)-DP release publishes a key with higher probability.
    Neighbours: add or remove one event.
    Assumes: one event changes one count by 1; only keys with a count of at least 1 are in the histogram.
    Parameters: K, TruncatedGeometricLaw; published count = count - K + median of K.
    Proof: docs/proofs/sampling/sample.md, section 3. Checked by: tests/privacy/test_sample_integers.py
    """

    budget: Budget
    public: Public = NOTHING_PUBLIC
    law: TruncatedGeometricLaw = field(init=False)

    name: ClassVar[str] = "truncated-geometric"
    accepts: ClassVar[tuple[type[Shape], ...]] = (Histogram,)
    sketch: ClassVar[str] = "exact"
    way_out: ClassVar[str] = 'use mechanism="floor", count with Exact, or give max_events for "public-floor"'
    claim: ClassVar[Claim] = Claim(
        "truncated geometric",
        "Truncated geometric: counts minus K, published if at least 1, are (epsilon, delta)-DP.",
        "docs/proofs/sampling/sample.md",
        ("one event changes one count by 1",),
    )

    def __post_init__(self) -> None:
        calibrate(self, law=TruncatedGeometricLaw.of(values_grid(self.budget)))

    def release(self, shape: Histogram, bits: Bits) -> Release:
        """Publish each key that keeps at least 1."""
        check_shape(self, shape)
        return _release(self, shape, bits, 0)


@dataclass(frozen=True, slots=True)
class PublicFloorRelease:
    """The truncated geometric on what the counters of one SpaceSaving stream have above a public floor.

    Theorem: (epsilon, delta)-DP for streams of at most max_events events.
    Neighbours: add or remove one event.
    Assumes: as the floor release, and a public bound max_events on the length.
    Parameters: floor max_events // parts + 1; K, TruncatedGeometricLaw.
    Proof: docs/proofs/sampling/sample.md, section 7. Checked by: tests/privacy/test_public_floor.py
    """

    budget: Budget
    public: Public
    law: TruncatedGeometricLaw = field(init=False)
    floor: int = field(init=False)

    name: ClassVar[str] = "public-floor"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "space-saving"
    way_out: ClassVar[str] = 'use mechanism="truncated-geometric"'
    claim: ClassVar[Claim] = Claim(
        "truncated geometric above a public floor",
        "Truncated geometric above a public floor is (epsilon, delta)-DP for at most max_events events.",
        "docs/proofs/sampling/sample.md",
        ("unit updates in stream order", "the stream holds at most max_events events"),
    )

    def __post_init__(self) -> None:
        longest = needed(self.name, "max_events", self.public.max_events)
        parts = needed(self.name, "parts", self.public.parts)
        law = TruncatedGeometricLaw.of(values_grid(self.budget))
        calibrate(self, law=law, floor=public_floor(longest, parts))

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish each candidate that keeps at least 1 above the public floor."""
        check_shape(self, shape)
        check_calibrated("parts", shape.parts, needed(self.name, "parts", self.public.parts))
        longest = needed(self.name, "max_events", self.public.max_events)
        return _release(self, above_floor(shape, longest), bits, self.floor)


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


def _release(
    mechanism: TruncatedGeometric | PublicFloorRelease, shape: Histogram, bits: Bits, floor: int
) -> Release:
    """Subtract the noise and publish what is at least 1, raised by the floor and the median of the noise."""
    law = mechanism.law
    values = shape.counts - law.sample(len(shape.counts), bits)
    published = values >= 1
    counts = values[published] + (law.centre + floor)
    parameters: dict[str, int | float | str] = {"largest_noise": law.largest, "offset": law.centre + floor}
    if mechanism.public.max_events is not None:
        parameters["max_events"] = mechanism.public.max_events
    guarantee = mechanism.claim.guarantee(mechanism.budget, shape.unit, parameters)
    error = TruncatedGeometricError(law, mechanism.budget, floor, mechanism.public.max_events)
    return Release.of(keep(shape.keys, published), counts, guarantee, error)


@dataclass(frozen=True, slots=True)
class TruncatedGeometricError:
    """The count is c - K + median(K) with a bounded K, and c - (floor - 1) <= true <= c."""

    noise: TruncatedGeometricLaw
    budget: Budget
    floor: int = 0
    max_events: int | None = None

    @property
    def law(self) -> SampleLaw:
        """How likely each value is for each count, for estimates."""
        return SampleLaw.of(self.budget)

    @property
    def offset(self) -> int:
        """What the floor took off every count."""
        return self.floor

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key chosen before seeing the result."""
        low, high = self.noise.quantiles(1 - confidence)
        return self.noise.centre - low + self._sketch, high - self.noise.centre

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the widths that hold for all keys at once, with certainty: the noise is bounded."""
        return self.noise.centre + self._sketch, self.noise.largest - self.noise.centre

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        least, most = self.simultaneous(confidence)
        return (
            lies_between(confidence, below, above),
            f"The noise is bounded: every true count lies between count - {least} and count + {most}.",
        )

    def values(self, counts: Counts) -> Counts:
        """Return the sanitised values 1, 2, ... that published counts stand for."""
        return counts - (self.noise.centre + self.floor)

    @property
    def _sketch(self) -> int:
        """Return the most by which the sketch may overcount a published key."""
        return max(self.floor - 1, 0)
