"""The Gaussian sparse histogram: releases of counts of which many move by one, all in the same direction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hushcount.mechanisms.base import Claim, calibrate, needed
from hushcount.mechanisms.histograms.gaussian_calibration import sparse_histogram
from hushcount.mechanisms.histograms.many_keys import release_many_keys
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.privacy import Budget
from hushcount.shapes import ManyKeys, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release

MANY_KEYS_WAY_OUT = 'use mechanism="floor" for one stream, or release shards with hc.release(shards)'
TOGETHER = "at most `moved` counts move by one, all in the same direction"


@dataclass(frozen=True, slots=True)
class GaussianSparseHistogram:
    """Noisy counts of the keys that are held, above a threshold that hides whether a key is held at all.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event, or one user (the unit of the shape).
    Assumes: at most `moved` counts move by one, all in the same direction.
    Parameters: Z discrete Gaussian(sigma) on each count; threshold t, gaussian_calibration.sparse_histogram.
    Proof: docs/proofs/histograms/gaussian.md. Checked by: tests/privacy/test_gaussian.py
    """

    budget: Budget
    public: Public
    law: DiscreteGaussian = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "gaussian"
    accepts: ClassVar[tuple[type[Shape], ...]] = (ManyKeys,)
    sketch: ClassVar[str] = "user-misra-gries"
    way_out: ClassVar[str] = MANY_KEYS_WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "Gaussian sparse histogram",
        "Gaussian sparse histogram (Lebeda and Tětek 2023, Theorem 23), calibrated on the integers, "
        "is (epsilon, delta)-DP.",
        "docs/proofs/histograms/gaussian.md",
        (TOGETHER,),
    )

    def __post_init__(self) -> None:
        moved = needed(self.name, "moved", self.public.moved)
        found = sparse_histogram(self.budget.epsilon, self.budget.delta, moved)
        calibrate(self, law=found.law, threshold=found.threshold)

    def release(self, shape: ManyKeys, bits: Bits) -> Release:
        """Publish each key whose noisy count reaches the threshold."""
        return release_many_keys(self, shape, bits, sigma=float(self.law.sigma))
