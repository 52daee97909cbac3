"""Heavy hitters from a linear sketch: tracked keys whose noisy estimate is above the error envelope."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hushcount.accounting.charges import Charge, Curve, Normal, Response, probability_above
from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import DataError, NotProvedError
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import Claim, Mechanism, check_calibrated, keep
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.mechanisms.intervals import KeyIntervals, interval_sentences
from hushcount.mechanisms.linear.calibration import (
    Envelope,
    envelope_bounds,
    estimate_tail,
    fingerprint_failure,
    plan_envelope,
)
from hushcount.noise import tails
from hushcount.noise.bits import Bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget, check_count
from hushcount.releases.release import Release
from hushcount.shapes import TrackedCells

WAY_OUT = 'use mechanism="floor", or hc.top with this mechanism and max_events'
HEAVY_ADVICE = (
    "Counters take no weights; exact counts (exact=True) do, and publish smaller counts where they can be"
    " made."
)
BELOW_ZERO = "They assume that no key was deleted more often than it was added."


class _ErrorEnvelope(Mechanism[TrackedCells, Release]):
    """A mechanism that publishes noisy estimates above what a key that is not tracked can reach."""

    accepts = (TrackedCells,)
    sketch = "tracked"
    way_out = WAY_OUT
    needs = ("max_events", "parts")
    weighted = True
    kind: ClassVar[str]

    def calibrate(self) -> None:
        """Set the size of the sketch and the threshold."""
        self.longest, counters = self.needed("max_events"), self.needed("parts")
        self.asked = (self.kind, self.longest, counters, self.budget, self.public.unit.weight)
        self.plan = self.planned()

    def planned(self) -> Envelope:
        """Return the size of the sketch and its threshold."""
        return plan_envelope(*self.asked)

    def finer_charge(self) -> Charge:
        """Return the curve of the cells, and the probability that a key shows which is in no table."""
        cell, depth, weight = self.plan.distribution, self.plan.depth, self.plan.weight
        curve: Curve = (
            Response(cell.exact_epsilon * weight, depth)
            if isinstance(cell, DiscreteLaplace)
            else Normal(cell.exact_sigma**2, depth * weight**2)
        )
        return Charge(probability_above(self.plan.beta + fingerprint_failure(self.longest)), (curve,))

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise of a cell, the threshold and the size of the sketch."""
        plan = self.plan
        sizes = {"depth": plan.depth, "width": plan.width, "max_events": self.longest}
        noise, rho = noise_words(plan.distribution), self.budget.rho
        return {"noise": noise, "threshold": plan.threshold, **sizes, "rho": rho}

    def forecast(self) -> KeyForecast:
        """Return which estimates will be above the threshold, if no other key shares their cells."""
        plan = self.plan

        def estimate(m: Counts) -> Floats:
            return estimate_tail(plan.kind, plan.depth, plan.distribution, m)

        def added(m: Counts) -> Floats:
            return estimate(m - plan.centre)

        return KeyForecast(plan.threshold + 1, estimate, added)

    def check_sizes(self, shape: TrackedCells) -> None:
        """Raise unless the sketch is the one that was planned and holds no more events than was stated."""
        hashing, plan = shape.cells.hashing, self.plan
        if hashing.kind != plan.kind:
            raise NotProvedError(f"{self.name} is proved for {plan.kind}, got {hashing.kind}; {WAY_OUT}.")
        check_calibrated("counters", shape.parts, self.needed("parts"))
        check_calibrated("depth", hashing.depth, plan.depth)
        check_calibrated("width", hashing.width, plan.width)
        super().check_sizes(shape)
        if shape.events > self.longest:
            raise DataError(
                f"The sketch holds more than max_events = {self.longest} events, so nothing was released;"
                " this message itself reveals that, outside the guarantee."
            )

    def draw(self, shape: TrackedCells, bits: Bits) -> Release:
        """Publish each tracked key whose noisy estimate is above the threshold."""
        plan = self.plan
        estimates = _noisy_estimates(plan, shape, bits)
        published = estimates > plan.threshold
        guarantee = self.guarantee(
            shape.unit,
            threshold=plan.threshold,
            max_events=self.longest,
            depth=plan.depth,
            width=plan.width,
            beta=plan.beta,
            rho=self.budget.rho,
        )
        error = EnvelopeError(plan, self.longest, shape.parts)
        counts = estimates[published] + plan.centre
        release = Release.of(keep(shape.keys, published), counts, guarantee, error)
        return release.with_notes(*explain_envelope(*self.asked))


class CountMinEnvelope(_ErrorEnvelope):
    """Noisy Count-Min estimates of tracked keys, above what a key that is not tracked can reach.

    Theorem: (epsilon, delta)-DP for streams of at most max_events additions and deletions.
    Neighbours: add or remove one event.
    Assumes: a public bound on the sum of all weights, whatever their signs; a fresh hash key; one event has a
        weight of at most W, 1 unless the unit says more; tracked are all keys to which more than
        max_events / counters was added.
    Parameters: DLap(epsilon / (depth W)) on each cell; threshold calibration.plan_envelope.
    Proof: docs/proofs/linear/cells.md, section 3. Checked by: tests/privacy/test_linear.py
    """

    name = "count-min-envelope"
    kind = COUNT_MIN
    claim = Claim(
        "error-envelope release of Count-Min",
        "Error envelope (Holland 2025, Theorem 3, corrected): estimates above the envelope are "
        "(epsilon, delta)-DP.",
        "docs/proofs/linear/cells.md",
        (
            "the stream holds at most max_events additions and deletions",
            "the hash key is fresh, serves this release only and does not depend on the data",
        ),
    )


class CountSketchEnvelope(_ErrorEnvelope):
    """Noisy CountSketch estimates of tracked keys, above what a key that is not tracked can reach.

    Theorem: (epsilon, delta)-DP for streams of at most max_events additions and deletions.
    Neighbours: add or remove one event.
    Assumes: a public bound on the sum of all weights, whatever their signs; a fresh hash key; one event has a
        weight of at most W, 1 unless the unit says more; tracked are all keys to which more than
        max_events / counters was added.
    Parameters: discrete Gaussian noise at (epsilon, delta / 2), or of the stated rho; threshold
        calibration.plan_envelope.
    Proof: docs/proofs/linear/cells.md, section 3. Checked by: tests/privacy/test_linear.py
    """

    name = "count-sketch-envelope"
    gaussian = True
    kind = COUNT_SKETCH
    claim = replace(CountMinEnvelope.claim, mechanism="error-envelope release of CountSketch")


ENVELOPES = {each.name: each.kind for each in (CountMinEnvelope, CountSketchEnvelope)}


def explain_envelope(
    kind: str, max_events: int, counters: int, budget: Budget, max_weight: int = 1
) -> tuple[str, ...]:
    """Compare the error envelope with the floor release in words, from public numbers only."""
    plan = plan_envelope(kind, check_count("max_events", max_events), counters, budget, max_weight)
    reached = (
        f"The error envelope publishes keys with a count of about {plan.reach} or more:"
        f" {max_events // counters} for keys that are not tracked, {plan.collisions} for collisions,"
        f" the rest for the noise of {plan.depth} rows."
    )
    if max_weight > 1:
        return reached, HEAVY_ADVICE
    floor = max_events // counters + thresholds.floor_threshold(budget.epsilon, budget.delta)
    worse = plan.reach > floor
    verdict = "worse" if worse else "no worse"
    cells = plan.depth * plan.width
    advice = ("Choose the envelope only for deletions, which counters cannot follow.",) if worse else ()
    return (
        reached,
        f"mechanism floor publishes counts of about {floor} or more, so the envelope is {verdict} here;"
        f" it also keeps {cells} cells beside the counters.",
        *advice,
    )


def _noisy_estimates(plan: Envelope, shape: TrackedCells, bits: Bits) -> Counts:
    """Return estimates of the tracked keys; cells that no tracked key touches are never looked at."""
    hashing = shape.cells.hashing
    places, where = np.unique(hashing.places(shape.hashes), return_inverse=True)
    noisy = shape.cells.cells.ravel()[places] + plan.distribution.sample(len(places), bits)
    return hashing.estimate(noisy[where].reshape(shape.hashes.shape), shape.hashes)


@dataclass(frozen=True, slots=True)
class EnvelopeError(KeyIntervals):
    """The count is the truth, plus what other keys add, plus noise, plus the public `centre` of the plan."""

    plan: Envelope
    max_events: int
    candidates: int

    @property
    def hidden(self) -> int:
        """The largest count that may stay unpublished."""
        return self.reach - 1

    @property
    def reach(self) -> int:
        """The smallest count that is published with probability one half or more."""
        return self.plan.reach

    @property
    def untracked(self) -> int:
        """The largest count of a key that is not tracked, with one event more or less."""
        return self.max_events // self.candidates + self.plan.weight

    def bounds(self, failure: float, keys: int) -> tuple[int, int]:
        """Return the widths for `keys` keys at once: they share cells, so each gets a part of the failure."""
        plan, each = self.plan, failure / keys
        below = sum(envelope_bounds(plan, self.max_events, each / 2))
        if plan.kind == COUNT_MIN:  # other keys only add, unless they were deleted more than added
            row = tails.one_of(plan.depth, each / 2)
            return max(below + plan.centre, 0), max(plan.distribution.least_tail(row) - 1 - plan.centre, 0)
        return max(below, 0), max(below, 0)

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key; below with half of the failure, for rows are selected."""
        failure = 1 - confidence
        return self.bounds(failure / 2, 1)[0], self.bounds(failure, 1)[1]

    def full_from(self, confidence: float) -> int:
        """Return the smallest count whose lower end is above one that is published half of the time."""
        return self.reach + self.interval(confidence)[0] + 1

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts]:
        """Return the ends of published rows: close to the threshold the lower one is what is certain.

        Proof: docs/proofs/intervals.md, section 6.
        """
        below, above = self.interval(confidence)
        certain, full = self.untracked + 1, self.full_from(confidence)
        lower = np.where(counts < full, np.minimum(counts - below, certain), counts - below)
        return np.maximum(lower, 0), np.maximum(counts + above, 0)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        return (
            *interval_sentences(confidence, *self.interval(confidence), self.full_from(confidence)),
            "The bounds hold for every stream of at most max_events events, so they are wide.",
            *((BELOW_ZERO,) if self.plan.kind == COUNT_MIN else ()),
        )
