"""The accuracy of an error-envelope release, from its public plan."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.keys.row_hash import COUNT_MIN
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import lies_between
from hushcount.mechanisms.linear.calibration import Envelope, envelope_bounds

BELOW_ZERO = "They assume that no key was deleted more often than it was added."


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
        """One key named beforehand."""
        return self._bounds(1 - confidence)

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """All tracked keys at once, so also those that were published."""
        return self._bounds((1 - confidence) / self.candidates)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """What the bounds are made of."""
        below, above = self.interval(confidence)
        return (
            lies_between(confidence, below, above),
            "The bounds hold for every stream of at most max_events events, so they are wide.",
            *((BELOW_ZERO,) if self.plan.kind == COUNT_MIN else ()),
        )

    def _bounds(self, failure: float) -> tuple[int, int]:
        plan = self.plan
        below = sum(envelope_bounds(plan, self.max_events, failure / 2))
        if plan.kind == COUNT_MIN:  # other keys only add, unless they were deleted more than added
            each = thresholds.one_of(plan.depth, failure / 2)
            return max(below + plan.centre, 0), max(plan.law.least_tail(each) - 1 - plan.centre, 0)
        return max(below, 0), max(below, 0)
