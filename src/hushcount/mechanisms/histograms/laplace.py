"""The stability histogram: releases of exact counts of which one event changes one by 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import Claim, calibrate, check_shape, keep
from hushcount.noise import tails
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.shapes import NOTHING_PUBLIC, Histogram, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits


@dataclass(frozen=True, slots=True)
class LaplaceThreshold:
    """Noisy counts of the keys that occur, above a threshold that hides whether a key occurs at all.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: one event changes one count by 1; only keys with a count of at least 1 are in the histogram.
    Parameters: z ~ DLap(epsilon) on each count; threshold thresholds.laplace_threshold.
    Proof: docs/proofs/histograms/laplace.md. Checked by: tests/privacy/test_exact.py
    """

    budget: Budget
    public: Public = NOTHING_PUBLIC
    law: DiscreteLaplace = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "laplace-threshold"
    accepts: ClassVar[tuple[type[Shape], ...]] = (Histogram,)
    sketch: ClassVar[str] = "exact"
    way_out: ClassVar[str] = 'use mechanism="floor", or count with Exact'
    claim: ClassVar[Claim] = Claim(
        "stability histogram",
        "Laplace threshold: noisy counts of occurring keys above t are (epsilon, delta)-DP.",
        "docs/proofs/histograms/laplace.md",
        ("one event changes one count by 1",),
    )

    def __post_init__(self) -> None:
        law = DiscreteLaplace(self.budget.epsilon)
        threshold = thresholds.laplace_threshold(self.budget.epsilon, self.budget.delta)
        calibrate(self, law=law, threshold=threshold)

    def release(self, shape: Histogram, bits: Bits) -> Release:
        """Publish each key whose noisy count reaches the threshold."""
        check_shape(self, shape)
        counts = shape.counts + self.law.sample(len(shape.counts), bits)
        published = counts >= self.threshold
        guarantee = self.claim.guarantee(self.budget, shape.unit, {"threshold": self.threshold})
        error = NoiseError(self.law, self.public.max_events)
        return Release.of(keep(shape.keys, published), counts[published], guarantee, error)


@dataclass(frozen=True, slots=True)
class NoiseError:
    """The count is the true one plus noise; `largest_keys` is a public bound on the number of keys."""

    law: DiscreteLaplace
    largest_keys: int | None = None

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return the widths for one key chosen before seeing the result."""
        noise = self.law.two_sided(1 - confidence)
        return noise, noise

    def simultaneous(self, confidence: float) -> tuple[int, int] | None:
        """Return the widths that hold for all keys at once, if a public length bounds their number."""
        if self.largest_keys is None:
            return None
        noise = self.law.two_sided(tails.one_of(self.largest_keys, 1 - confidence))
        return noise, noise

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        noise, _ = self.interval(confidence)
        return (
            f"With confidence {confidence:g} the true count of a key chosen before seeing the result lies"
            f" within {noise} of its count.",
            "Counts are exact up to noise.",
        )
