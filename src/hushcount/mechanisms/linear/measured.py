"""Heavy hitters of a keyed CountSketch, whose noisy rows show how much other keys add to an estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hushcount.errors import ParameterError
from hushcount.keys.row_hash import KEYED
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import keep
from hushcount.mechanisms.intervals import interval_sentences
from hushcount.mechanisms.linear.calibration import Envelope, plan_envelope
from hushcount.mechanisms.linear.envelope import (
    ENVELOPES,
    HEAVY_ADVICE,
    CountSketchEnvelope,
    EnvelopeError,
)
from hushcount.mechanisms.linear.noisy_rows import STEPS, farthest, measured_bounds, plan_measured
from hushcount.noise.bits import Bits
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.shapes import TrackedCells


class MeasuredEnvelope(CountSketchEnvelope):
    """Noisy estimates of tracked keys, above what the noisy rows say that any other key can reach.

    Theorem: (epsilon, delta)-DP for streams of at most max_events additions and deletions.
    Neighbours: add or remove one event.
    Assumes: a public bound on the sum of all weights, whatever their signs; fresh hash keys, with which
        SipHash-2-4 cannot be told from random functions; one event has a weight of at most W, 1 unless the
        unit says more; tracked are all keys to which more than max_events / counters was added.
    Parameters: discrete Gaussian noise at (epsilon, delta / 2), or of the stated rho, on every cell; the
        threshold is noisy_rows.NoisyRows.bound of the noisy rows, above what is not tracked.
    Proof: docs/proofs/linear/measured.md. Checked by: tests/privacy/test_measured.py
    """

    name = "measured-envelope"
    kind = KEYED
    claim = replace(
        CountSketchEnvelope.claim,
        mechanism="error-envelope release of CountSketch, measured",
        theorem="Error envelope (Holland 2025, Section 5, corrected), read off the noisy rows: estimates"
        " above it are (epsilon, delta)-DP.",
        proof="docs/proofs/linear/measured.md",
        assumptions=(
            CountSketchEnvelope.claim.assumptions[0],
            "the hash keys are fresh, serve this release only and do not depend on the data",
            "SipHash-2-4 with a fresh key cannot be told from a random function",
        ),
    )

    def planned(self) -> Envelope:
        """Return the size of the sketch, and the public bound on its threshold."""
        return plan_measured(*self.asked[1:])

    def draw(self, shape: TrackedCells, bits: Bits) -> Release:
        """Add noise to every cell, and publish each tracked key above what the noisy rows say."""
        plan, hashing = self.plan, shape.cells.hashing
        cells = shape.cells.cells
        noisy = cells + plan.distribution.sample(cells.size, bits).reshape(cells.shape)
        measured = measured_bounds(plan, self.longest, noisy)
        error = MeasuredError(plan, self.longest, shape.parts, measured)
        found = hashing.places(shape.hashes)
        estimates = hashing.estimate(noisy.ravel()[found], shape.hashes)
        published = estimates > error.hidden
        sizes = {"max_events": self.longest, "depth": plan.depth, "width": plan.width, "beta": plan.beta}
        stated = {"largest_threshold": plan.threshold, **sizes, "rho": self.budget.rho}
        guarantee = self.guarantee(shape.unit, **stated)
        release = Release.of(keep(shape.keys, published), estimates[published], guarantee, error)
        return release.with_notes(*explain_measured(*self.asked[1:], error))

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise of a cell, the public bound on the threshold and the size of the sketch."""
        known = super().calibration()
        largest = known.pop("threshold")
        return {"noise": known.pop("noise"), "largest_threshold": largest, **known}


TRACKED = (*ENVELOPES, MeasuredEnvelope.name)


def plan_tracked(name: str, max_events: int, counters: int, budget: Budget, max_weight: int = 1) -> Envelope:
    """Return the size of the sketch that an error envelope of this name needs, and its public threshold."""
    if name == MeasuredEnvelope.name:
        return plan_measured(max_events, counters, budget, max_weight)
    return plan_envelope(ENVELOPES[name], max_events, counters, budget, max_weight)


def explain_measured(
    max_events: int, counters: int, budget: Budget, max_weight: int, error: MeasuredError
) -> tuple[str, ...]:
    """Say what the threshold is made of, and compare it with that of the floor release."""
    plan, margin = plan_measured(max_events, counters, budget, max_weight), error.measured[0]
    left = max_events // counters
    reached = (
        f"Published are estimates above {error.hidden}: {left} for keys that are not tracked, {margin}"
        f" because the {plan.depth} noisy rows show that collisions and noise add no more to them."
    )
    public = f"Without the rows, public numbers alone bound the threshold by {plan.threshold}."
    if max_weight > 1:
        return reached, public, HEAVY_ADVICE
    floor = left + thresholds.floor_threshold(budget.epsilon, budget.delta)
    return (
        reached,
        public,
        f"mechanism floor publishes counts of about {floor} or more, but cannot follow deletions; this also"
        f" keeps {plan.depth * plan.width} cells beside the counters.",
    )


@dataclass(frozen=True, slots=True)
class MeasuredError(EnvelopeError):
    """The count is the truth, plus what other keys add, plus noise; how much is read off the noisy rows.

    `measured` has the margin of the threshold, a wary one, and bounds for the failures 1/2, 1/4, and so on.
    """

    measured: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.measured) != STEPS + 2 or any(bound < 0 for bound in self.measured):
            raise ParameterError(f"measured must be {STEPS + 2} bounds of at least 0.")

    @property
    def hidden(self) -> int:
        """The threshold: published estimates are above it."""
        return self.untracked + self.measured[0]

    @property
    def reach(self) -> int:
        """A count that is published with probability one half or more, wherever its key is hashed."""
        return self.untracked + max(self.measured[:2]) + 1

    def bounds(self, failure: float, keys: int) -> tuple[int, int]:
        """Return the widths for `keys` keys at once, each with a part of the failure on each side."""
        each = failure / keys / 2
        step = math.ceil(-math.log2(each))
        if step > STEPS:
            width = farthest(self.plan, self.max_events, each)
        else:
            width = self.measured[1 + max(step, 1)]
        return width, width

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        return (
            *interval_sentences(confidence, *self.interval(confidence), self.full_from(confidence)),
            "The bounds are read off the noisy rows, which show noise and collisions together.",
        )
