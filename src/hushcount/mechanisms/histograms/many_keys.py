"""Counts of which one unit can change many: their Laplace release, and how far they lie from the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import (
    Claim,
    Thresholded,
    calibrate,
    check_calibrated,
    check_shape,
    keep,
    lies_between,
    needed,
)
from hushcount.noise import tails
from hushcount.noise.gaussian import Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.shapes import ManyKeys, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

WAY_OUT = 'use mechanism="floor" for one stream, or release shards with hc.release(shards)'
TOGETHER = "one unit changes at most `moved` counts, each by 1 and all in the same direction"


@dataclass(frozen=True, slots=True)
class LaplaceManyKeys:
    """Noisy counts of the tracked keys, with noise for `moved` counts at once.

    Theorem: (epsilon, delta)-DP (Lebeda and Tětek 2023, Section 7).
    Neighbours: add or remove one event, or one user (the unit of the shape).
    Assumes: one unit changes at most `moved` counts by 1.
    Parameters: DLap(epsilon / moved) on each count; threshold thresholds.chan_threshold.
    Proof: docs/proofs/histograms/gaussian.md, section 6. Checked by: tests/privacy/test_gaussian.py
    """

    budget: Budget
    public: Public
    law: DiscreteLaplace = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "laplace"
    accepts: ClassVar[tuple[type[Shape], ...]] = (ManyKeys,)
    sketch: ClassVar[str] = "user-misra-gries"
    way_out: ClassVar[str] = WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "Laplace noise for all counts that change",
        "Discrete Laplace noise of rate epsilon / moved on the tracked counts, with the exact threshold, is"
        " (epsilon, delta)-DP.",
        "docs/proofs/histograms/gaussian.md",
        (TOGETHER,),
    )

    def __post_init__(self) -> None:
        moved = needed(self.name, "moved", self.public.moved)
        law = DiscreteLaplace.shared(self.budget.epsilon, moved, "counts that change together")
        threshold = thresholds.chan_threshold(self.budget.epsilon, self.budget.delta, moved)
        calibrate(self, law=law, threshold=threshold)

    def release(self, shape: ManyKeys, bits: Bits) -> Release:
        """Publish each key whose noisy count reaches the threshold."""
        return release_many_keys(self, shape, bits)


def release_many_keys(
    mechanism: Thresholded[Distribution], shape: ManyKeys, bits: Bits, **scale: float
) -> Release:
    """Publish each key whose noisy count reaches the threshold; `scale` of the noise goes with it."""
    public = mechanism.public
    check_shape(mechanism, shape)
    check_calibrated("moved", shape.moved, needed(mechanism.name, "moved", public.moved))
    counts = shape.counts + mechanism.law.sample(len(shape.counts), bits)
    published = counts >= mechanism.threshold
    parameters = {"threshold": mechanism.threshold, **scale, "moved": shape.moved}
    guarantee = mechanism.claim.guarantee(mechanism.budget, shape.unit, {**parameters})
    error = LowerEstimateError.of(mechanism.law, shape, public)
    return Release.of(keep(shape.keys, published), counts[published], guarantee, error)


@dataclass(frozen=True, slots=True)
class LowerEstimateError:
    """The count is c + z with c <= true <= c + left out.

    `left_out` is a public bound on what the sketch left out: 0 for exact counts, None where there is none.
    """

    law: Distribution
    candidates: int | None
    left_out: int | None

    @classmethod
    def of(cls, law: Distribution, shape: ManyKeys, public: Public) -> LowerEstimateError:
        """Return the error of a release of this shape."""
        if shape.parts is None:
            return cls(law, shape.candidates, 0)
        left_out = None if public.max_events is None else public.max_events // shape.parts
        return cls(law, shape.candidates, left_out)

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """Return the widths for one key chosen before seeing the result.

        No upper end without a public length.
        """
        return self._bounds(1 - confidence)

    def simultaneous(self, confidence: float) -> tuple[int, int | None] | None:
        """Return the widths that hold for all candidates at once, if a public number bounds them."""
        if self.candidates is None:
            return None
        return self._bounds(tails.one_of(self.candidates, 1 - confidence))

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        if self.left_out == 0:
            below, above = self.interval(confidence)
            return lies_between(confidence, below, above or 0), "Counts are exact up to noise."
        return lower_estimate_sentences(confidence, self.interval(confidence), self.left_out)

    def _bounds(self, failure: float) -> tuple[int, int | None]:
        """Return the widths below and above the count that hold but for `failure`."""
        if self.left_out is None:
            return max(self.law.least_tail(failure) - 1, 0), None
        noise = self.law.two_sided(failure)
        return noise, self.left_out + noise


def lower_estimate_sentences(
    confidence: float, bounds: tuple[int, int | None], left_out: int | None
) -> tuple[str, str]:
    """Say what an interval means if the sketch left something out: up to `left_out`, or unknown."""
    below, above = bounds
    if above is None:
        return (
            f"With confidence {confidence:g} the true count of a key chosen before seeing the result is at"
            f" least count - {below}.",
            "count is a lower estimate with noise; max_events would bound what the sketch left out.",
        )
    return (
        lies_between(confidence, below, above),
        f"The sketch may have left out up to {left_out}, by max_events and its counters.",
    )
