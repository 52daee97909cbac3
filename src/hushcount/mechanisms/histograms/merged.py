"""The Laplace release of counts of which many move by one: noise scaled to their number."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import Claim, calibrate, needed
from hushcount.mechanisms.histograms.gaussian import MANY_KEYS_WAY_OUT, TOGETHER
from hushcount.mechanisms.histograms.many_keys import release_many_keys
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import ManyKeys, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release


@dataclass(frozen=True, slots=True)
class LaplaceManyKeys:
    """Noisy counts of the keys that are held, with noise for `moved` keys at once (Lebeda and Tětek 2023,
    section 7).

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event, or one user (the unit of the shape).
    Assumes: at most `moved` counts move by one.
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
    way_out: ClassVar[str] = MANY_KEYS_WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "Laplace noise for all moved keys",
        "DLap(epsilon / moved) on the counts that are held, exact threshold, is (epsilon, delta)-DP.",
        "docs/proofs/histograms/gaussian.md",
        (TOGETHER,),
    )

    def __post_init__(self) -> None:
        moved = needed(self.name, "moved", self.public.moved)
        law = DiscreteLaplace(Fraction(self.budget.epsilon) / moved)
        threshold = thresholds.chan_threshold(self.budget.epsilon, self.budget.delta, moved)
        calibrate(self, law=law, threshold=threshold)

    def release(self, shape: ManyKeys, bits: Bits) -> Release:
        """Publish each key whose noisy count reaches the threshold."""
        return release_many_keys(self, shape, bits)
