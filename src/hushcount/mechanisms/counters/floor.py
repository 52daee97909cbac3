"""Releases of the absolute counts of one counter sketch: the floor release, and DPSS with a public length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import (
    Claim,
    calibrate,
    check_calibrated,
    check_shape,
    keep,
    lies_between,
    needed,
)
from hushcount.noise import tails
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.shapes import NOTHING_PUBLIC, FloorCounters, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

FLOOR_SHAPE_WAY_OUT = 'release one SpaceSaving or MisraGries stream, or use mechanism="laplace-threshold"'

ONE_STREAM = (
    "unit updates in stream order",
    "ties evict the most recently updated key (SpaceSaving) or the first in a fixed order (Misra-Gries)",
)


@dataclass(frozen=True, slots=True)
class FloorRelease:
    """Noisy counts of the tracked keys that clear the noisy floor.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: unit updates in stream order; ties evict the most recently updated key
        (SpaceSaving) or the first in a fixed order of keys (Misra-Gries).
    Parameters: z ~ DLap(epsilon) on the floor and on each candidate; G, thresholds.floor_threshold.
    Proof: docs/proofs/counters/floor.md. Checked by: tests/privacy/test_space_saving.py
    """

    budget: Budget
    public: Public = NOTHING_PUBLIC
    law: DiscreteLaplace = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "floor"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "space-saving"
    way_out: ClassVar[str] = FLOOR_SHAPE_WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "floor release",
        "Floor release: noisy counts that clear the noisy floor by G are (epsilon, delta)-DP.",
        "docs/proofs/counters/floor.md",
        ONE_STREAM,
    )

    def __post_init__(self) -> None:
        law = DiscreteLaplace(self.budget.epsilon)
        threshold = thresholds.floor_threshold(self.budget.epsilon, self.budget.delta)
        calibrate(self, law=law, threshold=threshold)

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish the noisy floor, and each candidate whose noisy count is at least G above it."""
        check_shape(self, shape)
        noise = self.law.sample(1 + len(shape.counts), bits)
        floor = shape.floor + int(noise[0])
        counts = shape.counts + noise[1:]
        published = counts - floor >= self.threshold
        parameters = {"threshold": self.threshold, "candidates": shape.candidates}
        guarantee = self.claim.guarantee(self.budget, shape.unit, {**parameters})
        error = FloorError(self.law, floor, shape.candidates)
        return Release.of(keep(shape.keys, published), counts[published], guarantee, error, floor)


@dataclass(frozen=True, slots=True)
class FloorError:
    """The count is an upper estimate c + z, the floor is f + z0, and c - f <= true <= c."""

    law: DiscreteLaplace
    floor: int
    candidates: int

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key chosen before seeing the result.

        Half of the failure above, the rest below.
        """
        return self._bounds(1 - confidence, 1)

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the widths that hold for all candidates at once, so also for those published."""
        return self._bounds(1 - confidence, self.candidates)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        return lies_between(confidence, below, above), overcounted(self.floor)

    def _bounds(self, failure: float, keys: int) -> tuple[int, int]:
        """Return the widths below and above the count that hold for `keys` keys at once but for `failure`."""
        # above fails if some z < -above, below only if some z - z0 > below - floor; no floor lies below 0
        each = tails.one_of(keys, failure / 2)
        above = max(self.law.least_tail(each) - 1, 0)
        spent = tails.any_of(keys, float(self.law.tail(above + 1)))
        noise = tails.largest_difference(float(self.law.epsilon), failure - spent, keys) - 1
        return max(self.floor, 0) + noise, above


def overcounted(floor: int) -> str:
    """Return what the noisy floor says about the counts, which are never too low but for noise."""
    if floor <= 0:
        return "What the sketch may overcount a key by is less than the noise."
    return (
        f"The sketch may overcount a key by about {floor:,}, which the interval includes; more counters lower"
        " this."
    )


@dataclass(frozen=True, slots=True)
class BoundedLengthRelease:
    """Noisy counts above what a key next to the floor can have in a stream of at most `max_events` events.

    Theorem: (epsilon, delta)-DP for streams of at most max_events events.
    Neighbours: add or remove one event.
    Assumes: a public length bound (the exact length in the threshold is not private: docs/errata.md); unit
        updates in stream order; ties as for the floor release.
    Parameters: z ~ DLap(epsilon) on each candidate; threshold floor(max_events / parts) + 1 + m,
        m = thresholds.dpss_margin.
    Proof: docs/proofs/counters/floor.md. Checked by: tests/privacy/test_space_saving.py
    """

    budget: Budget
    public: Public
    law: DiscreteLaplace = field(init=False)
    largest_floor: int = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "dpss"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "space-saving"
    way_out: ClassVar[str] = FLOOR_SHAPE_WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "DPSS with a public length bound",
        "DPSS (Holland 2025, Algorithm 3, with a public length bound) is (epsilon, delta)-DP.",
        "docs/proofs/counters/floor.md",
        (*ONE_STREAM, "the stream holds at most max_events events"),
    )

    def __post_init__(self) -> None:
        needed(self.name, "max_events", self.public.max_events)
        largest = needed(self.name, "parts", self.public.largest_floor)
        margin = thresholds.dpss_margin(self.budget.epsilon, self.budget.delta)
        law = DiscreteLaplace(self.budget.epsilon)
        calibrate(self, law=law, largest_floor=largest, threshold=largest + 1 + margin)

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish each candidate whose noisy count reaches the threshold."""
        check_shape(self, shape)
        check_calibrated("parts", shape.parts, needed(self.name, "parts", self.public.parts))
        counts = shape.counts + self.law.sample(len(shape.counts), bits)
        published = counts >= self.threshold
        longest = needed(self.name, "max_events", self.public.max_events)
        guarantee = self.claim.guarantee(
            self.budget, shape.unit, {"threshold": self.threshold, "max_events": longest}
        )
        error = BoundedLengthError(self.law, self.largest_floor, shape.candidates)
        return Release.of(keep(shape.keys, published), counts[published], guarantee, error)


@dataclass(frozen=True, slots=True)
class BoundedLengthError:
    """The count is c + z, and c - f <= true <= c with f at most `largest_floor`."""

    law: DiscreteLaplace
    largest_floor: int
    candidates: int

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key chosen before seeing the result."""
        return self._bounds(1 - confidence)

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the widths that hold for all candidates at once, so also for those published."""
        return self._bounds(tails.one_of(self.candidates, 1 - confidence))

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        return (
            lies_between(confidence, below, above),
            f"The sketch may have added up to {self.largest_floor}, max_events divided by its counters.",
        )

    def _bounds(self, failure: float) -> tuple[int, int]:
        """Return the widths below and above the count that hold for `keys` keys at once but for `failure`."""
        noise = self.law.two_sided(failure)
        return self.largest_floor + noise, noise
