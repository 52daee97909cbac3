"""Heavy hitters from a linear sketch: tracked keys whose noisy estimate is above the error envelope."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.errors import DataError, NotProvedError
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH
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
from hushcount.mechanisms.linear.calibration import Envelope, envelope_bounds, plan_envelope
from hushcount.noise import tails
from hushcount.privacy import Budget, check_count
from hushcount.releases.release import Release
from hushcount.shapes import Public, Shape, TrackedCells

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

WAY_OUT = 'use mechanism="floor", or hc.top with this mechanism and max_events'
BELOW_ZERO = "They assume that no key was deleted more often than it was added."
ASSUMPTIONS = (
    "the stream holds at most max_events additions and deletions",
    "the hash key is fresh, serves this release only and does not depend on the data",
)


@dataclass(frozen=True, slots=True)
class CountMinEnvelope:
    """Noisy Count-Min estimates of tracked keys, above what a key that is not tracked can reach.

    Theorem: (epsilon, delta)-DP for streams of at most max_events additions and deletions.
    Neighbours: add or remove one event.
    Assumes: a public length bound; a fresh hash key; unit weights; tracked are all keys added more
        than max_events / counters times.
    Parameters: DLap(epsilon / depth) on each cell; threshold calibration.plan_envelope.
    Proof: docs/proofs/linear/cells.md, section 3. Checked by: tests/privacy/test_linear.py
    """

    budget: Budget
    public: Public
    plan: Envelope = field(init=False)

    name: ClassVar[str] = "count-min-envelope"
    accepts: ClassVar[tuple[type[Shape], ...]] = (TrackedCells,)
    sketch: ClassVar[str] = "tracked"
    way_out: ClassVar[str] = WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "error-envelope release of Count-Min",
        "Error envelope (Holland 2025, Theorem 3, corrected): estimates above the envelope are "
        "(epsilon, delta)-DP.",
        "docs/proofs/linear/cells.md",
        ASSUMPTIONS,
    )

    def __post_init__(self) -> None:
        calibrate(self, plan=_plan(self, COUNT_MIN))

    def release(self, shape: TrackedCells, bits: Bits) -> Release:
        """Publish each tracked key whose noisy estimate is above the threshold."""
        return _release(self, shape, bits)


@dataclass(frozen=True, slots=True)
class CountSketchEnvelope:
    """Noisy CountSketch estimates of tracked keys, above what a key that is not tracked can reach.

    Theorem: (epsilon, delta)-DP for streams of at most max_events additions and deletions.
    Neighbours: add or remove one event.
    Assumes: a public length bound; a fresh hash key; unit weights; tracked are all keys added more
        than max_events / counters times.
    Parameters: discrete Gaussian noise at (epsilon, delta / 2); threshold calibration.plan_envelope.
    Proof: docs/proofs/linear/cells.md, section 3. Checked by: tests/privacy/test_linear.py
    """

    budget: Budget
    public: Public
    plan: Envelope = field(init=False)

    name: ClassVar[str] = "count-sketch-envelope"
    accepts: ClassVar[tuple[type[Shape], ...]] = (TrackedCells,)
    sketch: ClassVar[str] = "tracked"
    way_out: ClassVar[str] = WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "error-envelope release of CountSketch",
        "Error envelope (Holland 2025, Theorem 3, corrected): estimates above the envelope are "
        "(epsilon, delta)-DP.",
        "docs/proofs/linear/cells.md",
        ASSUMPTIONS,
    )

    def __post_init__(self) -> None:
        calibrate(self, plan=_plan(self, COUNT_SKETCH))

    def release(self, shape: TrackedCells, bits: Bits) -> Release:
        """Publish each tracked key whose noisy estimate is above the threshold."""
        return _release(self, shape, bits)


ENVELOPES = {CountMinEnvelope.name: COUNT_MIN, CountSketchEnvelope.name: COUNT_SKETCH}


def explain_envelope(
    kind: str, max_events: int, counters: int, epsilon: float, delta: float
) -> tuple[str, ...]:
    """Compare the error envelope with the floor release in words, from public numbers only."""
    plan = plan_envelope(kind, check_count("max_events", max_events), counters, epsilon, delta)
    floor = max_events // counters + thresholds.floor_threshold(epsilon, delta)
    worse = plan.reach > floor
    verdict = "worse" if worse else "no worse"
    cells = plan.depth * plan.width
    return (
        f"The error envelope publishes keys with a count of about {plan.reach} or more:"
        f" {max_events // counters} for keys that are not tracked, {plan.collisions} for collisions,"
        f" the rest for the noise of {plan.depth} rows.",
        f"mechanism floor publishes counts of about {floor} or more, so the envelope is {verdict} here;"
        f" it also keeps {cells} cells beside the counters.",
        "Choose the envelope only for deletions, which counters cannot follow." if worse else "",
    )[: 3 if worse else 2]


def _plan(mechanism: CountMinEnvelope | CountSketchEnvelope, kind: str) -> Envelope:
    """Return the size and the threshold for the public numbers of a mechanism, or raise."""
    public, budget = mechanism.public, mechanism.budget
    longest = needed(mechanism.name, "max_events", public.max_events)
    counters = needed(mechanism.name, "parts", public.parts)
    return plan_envelope(kind, longest, counters, budget.epsilon, budget.delta)


def _release(mechanism: CountMinEnvelope | CountSketchEnvelope, shape: TrackedCells, bits: Bits) -> Release:
    """Publish the tracked keys whose noisy estimate exceeds the threshold, with their error."""
    check_shape(mechanism, shape)
    plan, budget = mechanism.plan, mechanism.budget
    longest = needed(mechanism.name, "max_events", mechanism.public.max_events)
    _check_plan(plan, needed(mechanism.name, "parts", mechanism.public.parts), shape)
    if shape.events > longest:
        raise DataError(
            f"The sketch holds more than max_events = {longest} events, so nothing was released;"
            " this message itself reveals that, outside the guarantee."
        )
    estimates = _noisy_estimates(plan, shape, bits)
    published = estimates > plan.threshold
    parameters: dict[str, int | float | str] = {
        "threshold": plan.threshold,
        "max_events": longest,
        "depth": plan.depth,
        "width": plan.width,
        "beta": plan.beta,
    }
    guarantee = mechanism.claim.guarantee(budget, shape.unit, parameters)
    error = EnvelopeError(plan, longest, shape.parts)
    release = Release.of(keep(shape.keys, published), estimates[published] + plan.centre, guarantee, error)
    return release.with_notes(
        *explain_envelope(plan.kind, longest, shape.parts, budget.epsilon, budget.delta)
    )


def _check_plan(plan: Envelope, counters: int, shape: TrackedCells) -> None:
    """Raise unless the sketch has the kind and the size of the plan."""
    hashing = shape.cells.hashing
    if hashing.kind != plan.kind:
        raise NotProvedError(
            f"{plan.kind}-envelope is proved for {plan.kind}, got {hashing.kind}; {WAY_OUT}."
        )
    check_calibrated("counters", shape.parts, counters)
    check_calibrated("depth", hashing.depth, plan.depth)
    check_calibrated("width", hashing.width, plan.width)


def _noisy_estimates(plan: Envelope, shape: TrackedCells, bits: Bits) -> Counts:
    """Return estimates of the tracked keys; cells that no tracked key touches are never looked at."""
    hashing = shape.cells.hashing
    places, where = np.unique(hashing.places(shape.hashes), return_inverse=True)
    noisy = shape.cells.cells.ravel()[places] + plan.law.sample(len(places), bits)
    return hashing.estimate(noisy[where].reshape(shape.hashes.shape), shape.hashes)


@dataclass(frozen=True, slots=True)
class EnvelopeError:
    """The count is the truth, plus what other keys add, plus noise, plus the public `centre` of the plan."""

    plan: Envelope
    max_events: int
    candidates: int

    @property
    def hidden(self) -> int:
        """The largest count that may stay unpublished."""
        return self.plan.reach - 1

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key chosen before seeing the result."""
        return self._bounds(1 - confidence)

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the widths that hold for all tracked keys at once, so also for those published."""
        return self._bounds((1 - confidence) / self.candidates)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        return (
            lies_between(confidence, below, above),
            "The bounds hold for every stream of at most max_events events, so they are wide.",
            *((BELOW_ZERO,) if self.plan.kind == COUNT_MIN else ()),
        )

    def _bounds(self, failure: float) -> tuple[int, int]:
        """Return the widths below and above the count that hold but for `failure`."""
        plan = self.plan
        below = sum(envelope_bounds(plan, self.max_events, failure / 2))
        if plan.kind == COUNT_MIN:  # other keys only add, unless they were deleted more than added
            each = tails.one_of(plan.depth, failure / 2)
            return max(below + plan.centre, 0), max(plan.law.least_tail(each) - 1 - plan.centre, 0)
        return max(below, 0), max(below, 0)
