"""Releases of the heights (count - floor) of one counter sketch: the mechanisms of Lebeda and Tětek 2023
and of Chan et al. 2012."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hushcount.compiled.arrays import Counts, Mask
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import (
    Claim,
    Thresholded,
    calibrate,
    check_calibrated,
    check_shape,
    keep,
    needed,
)
from hushcount.mechanisms.counters.floor import FLOOR_SHAPE_WAY_OUT, ONE_STREAM
from hushcount.mechanisms.histograms.many_keys import lower_estimate_sentences
from hushcount.noise import tails
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.shapes import NOTHING_PUBLIC, FloorCounters, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

PROOF = "docs/proofs/counters/misra_gries.md"
_Heights = Thresholded[DiscreteLaplace]


@dataclass(frozen=True, slots=True)
class PrivateMisraGries:
    """Noisy heights above a threshold, one noise shared by all keys and one for each (PMG).

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: unit updates in stream order; ties as for the floor release.
    Parameters: z0 + zj on each height, z ~ DLap(epsilon); threshold thresholds.pmg_threshold.
    Proof: docs/proofs/counters/misra_gries.md. Checked by: tests/privacy/test_misra_gries.py
    """

    budget: Budget
    public: Public = NOTHING_PUBLIC
    law: DiscreteLaplace = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "pmg"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "misra-gries"
    way_out: ClassVar[str] = FLOOR_SHAPE_WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "private Misra-Gries",
        "PMG (Lebeda and Tětek 2023, Algorithm 2) with the exact threshold is (epsilon, delta)-DP.",
        PROOF,
        ONE_STREAM,
    )

    def __post_init__(self) -> None:
        law = DiscreteLaplace(self.budget.epsilon)
        threshold = thresholds.pmg_threshold(self.budget.epsilon, self.budget.delta)
        calibrate(self, law=law, threshold=threshold)

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish each candidate whose noisy height reaches the threshold."""
        return _release_shared(self, shape, bits, least_height=0)


@dataclass(frozen=True, slots=True)
class PrivateMisraGriesPaper:
    """PMG with the published threshold for geometric noise.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: unit updates in stream order; ties as for the floor release.
    Parameters: z0 + zj on each height, z ~ DLap(epsilon); threshold thresholds.pmg_paper_threshold.
    Proof: docs/proofs/counters/misra_gries.md. Checked by: tests/privacy/test_misra_gries.py
    """

    budget: Budget
    public: Public = NOTHING_PUBLIC
    law: DiscreteLaplace = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "pmg-paper"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "misra-gries"
    way_out: ClassVar[str] = FLOOR_SHAPE_WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "private Misra-Gries, published threshold",
        "PMG (Lebeda and Tětek 2023, Algorithm 2) with the published threshold (Section 5.2) is"
        " (epsilon, delta)-DP.",
        PROOF,
        ONE_STREAM,
    )

    def __post_init__(self) -> None:
        law = DiscreteLaplace(self.budget.epsilon)
        threshold = thresholds.pmg_paper_threshold(self.budget.epsilon, self.budget.delta)
        calibrate(self, law=law, threshold=threshold)

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish each candidate whose noisy height reaches the threshold."""
        return _release_shared(self, shape, bits, least_height=0)


@dataclass(frozen=True, slots=True)
class PrivateMisraGriesStandard:
    """PMG of a standard Misra-Gries sketch, which drops keys of height 0 at once.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: unit updates in stream order; ties are broken in any way.
    Parameters: z0 + zj on each height >= 1, z ~ DLap(epsilon); threshold thresholds.standard_threshold.
    Proof: docs/proofs/counters/misra_gries.md. Checked by: tests/privacy/test_misra_gries.py
    """

    budget: Budget
    public: Public
    law: DiscreteLaplace = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "pmg-standard"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "misra-gries"
    way_out: ClassVar[str] = FLOOR_SHAPE_WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "private Misra-Gries of the standard sketch",
        "PMG of the standard sketch (Lebeda and Tětek 2023, Section 5.1) with the exact threshold is"
        " (epsilon, delta)-DP.",
        PROOF,
        ONE_STREAM[:1],
    )

    def __post_init__(self) -> None:
        candidates = needed(self.name, "candidates", self.public.candidates)
        law = DiscreteLaplace(self.budget.epsilon)
        threshold = thresholds.standard_threshold(self.budget.epsilon, self.budget.delta, candidates)
        calibrate(self, law=law, threshold=threshold)

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish each nonzero candidate whose noisy height reaches the threshold."""
        return _release_shared(self, shape, bits, least_height=1)


@dataclass(frozen=True, slots=True)
class ChanRelease:
    """Noisy heights with independent noise scaled to the number of counters (Chan et al. 2012).

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: unit updates in stream order; ties are broken in any way.
    Parameters: DLap(epsilon / k) on each height >= 1, k candidates; threshold thresholds.chan_threshold.
    Proof: docs/proofs/counters/misra_gries.md. Checked by: tests/privacy/test_misra_gries.py
    """

    budget: Budget
    public: Public
    law: DiscreteLaplace = field(init=False)
    threshold: int = field(init=False)

    name: ClassVar[str] = "chan"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "misra-gries"
    way_out: ClassVar[str] = FLOOR_SHAPE_WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "Misra-Gries with noise for all counters",
        "Noise for l1 sensitivity k on the nonzero heights (Chan et al. 2012), with the exact threshold, is"
        " (epsilon, delta)-DP.",
        PROOF,
        ONE_STREAM[:1],
    )

    def __post_init__(self) -> None:
        candidates = needed(self.name, "candidates", self.public.candidates)
        law = DiscreteLaplace.shared(self.budget.epsilon, candidates, "counters")
        threshold = thresholds.chan_threshold(self.budget.epsilon, self.budget.delta, candidates)
        calibrate(self, law=law, threshold=threshold)

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish each nonzero candidate whose noisy height reaches the threshold."""
        _check(self, shape)
        heights = shape.counts - shape.floor
        noisy = heights + self.law.sample(len(heights), bits)
        return _publish(self, shape, noisy, (heights >= 1) & (noisy >= self.threshold), shared=False)


def _release_shared(mechanism: _Heights, shape: FloorCounters, bits: Bits, least_height: int) -> Release:
    """Add one shared noise and one for each key to heights of at least `least_height`, and publish."""
    _check(mechanism, shape)
    heights = shape.counts - shape.floor
    noise = mechanism.law.sample(1 + len(heights), bits)
    noisy = heights + noise[0] + noise[1:]
    published = (heights >= least_height) & (noisy >= mechanism.threshold)
    return _publish(mechanism, shape, noisy, published, shared=True)


def _check(mechanism: _Heights, shape: FloorCounters) -> None:
    """Raise unless the shape is one that the mechanism is proved and calibrated for."""
    check_shape(mechanism, shape)
    public = mechanism.public
    if public.candidates is not None:
        check_calibrated("candidates", shape.candidates, public.candidates)
    if public.parts is not None:
        check_calibrated("parts", shape.parts, public.parts)


def _publish(
    mechanism: _Heights,
    shape: FloorCounters,
    noisy: Counts,
    published: Mask,
    *,
    shared: bool,
) -> Release:
    """Return the release of the heights that are published."""
    parameters: dict[str, int | float | str] = {
        "threshold": mechanism.threshold,
        "candidates": shape.candidates,
    }
    guarantee = mechanism.claim.guarantee(mechanism.budget, shape.unit, parameters)
    error = HeightError(mechanism.law, shape.candidates, mechanism.public.largest_floor, shared)
    return Release.of(keep(shape.keys, published), noisy[published], guarantee, error)


@dataclass(frozen=True, slots=True)
class HeightError:
    """The count is a lower estimate: height + noise, and height <= true <= height + floor.

    The floor is not published; a public length bounds it by `largest_floor`, else nothing does.
    """

    law: DiscreteLaplace
    candidates: int
    largest_floor: int | None
    shared: bool

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """Return the widths for one key chosen before seeing the result.

        No upper end without a public length.
        """
        return self._bounds(1 - confidence, 1)

    def simultaneous(self, confidence: float) -> tuple[int, int | None]:
        """Return the widths that hold for all candidates at once, so also for those published."""
        return self._bounds(1 - confidence, self.candidates)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        return lower_estimate_sentences(confidence, self.interval(confidence), self.largest_floor)

    def _bounds(self, failure: float, keys: int) -> tuple[int, int | None]:
        """Return the widths below and above the count that hold for `keys` keys at once but for `failure`."""
        if self.largest_floor is None:
            return self._one_sided(failure, keys), None
        noise = self._one_sided(failure / 2, keys)
        return noise, self.largest_floor + noise

    def _one_sided(self, failure: float, keys: int) -> int:
        """Return the noise that none of `keys` keys exceeds but for `failure`."""
        if self.shared:
            return tails.largest_difference(float(self.law.epsilon), failure, keys) - 1
        return max(self.law.least_tail(tails.one_of(keys, failure)) - 1, 0)
