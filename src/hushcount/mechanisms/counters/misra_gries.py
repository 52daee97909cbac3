"""Releases of the heights (count - floor) of one counter sketch: the mechanisms of Lebeda and Tětek 2023
and of Chan et al. 2012."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hushcount.compiled.arrays import Counts, Floats
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import Claim, Thresholded
from hushcount.mechanisms.counters.floor import FLOOR_SHAPE_WAY_OUT, ONE_STREAM
from hushcount.mechanisms.intervals import EstimateError
from hushcount.noise import tails
from hushcount.noise.bits import Bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.shapes import FloorCounters, Public, Shape
from hushcount.shapes.standard import StandardCounters

PROOF = "docs/proofs/counters/misra_gries.md"


class _Heights(Thresholded[FloorCounters]):
    """A mechanism that publishes noisy heights; a public length bounds the floor below them."""

    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch = "misra-gries"
    way_out = FLOOR_SHAPE_WAY_OUT
    noise: DiscreteLaplace

    def values(self, shape: FloorCounters) -> Counts:
        """Return the heights."""
        return shape.counts - shape.floor

    def parameters(self, sizes: Public) -> dict[str, int | float | str | None]:
        """Return the threshold and the number of candidates."""
        return {"threshold": self.threshold, "candidates": sizes.candidates}


class PrivateMisraGries(_Heights):
    """Noisy heights above a threshold, one noise shared by all keys and one for each (PMG).

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: every event counts 1, in the order of the stream; keys are evicted as for the floor release.
    Parameters: z0 + zj on each height, z ~ DLap(epsilon); threshold thresholds.pmg_threshold.
    Proof: docs/proofs/counters/misra_gries.md. Checked by: tests/privacy/test_misra_gries.py
    """

    name = "pmg"
    claim = Claim(
        "private Misra-Gries",
        "PMG (Lebeda and Tětek 2023, Algorithm 2) with the exact threshold is (epsilon, delta)-DP.",
        PROOF,
        ONE_STREAM,
    )

    def calibrate(self) -> None:
        """Set the noise, and the threshold for it."""
        self.noise = DiscreteLaplace(self.budget.epsilon)
        self.threshold = self.smallest_threshold(self.budget.epsilon, self.budget.delta)

    def smallest_threshold(self, epsilon: float, delta: float) -> int:
        """Return the threshold of this variant."""
        return thresholds.pmg_threshold(epsilon, delta)

    def noises(self, count: int, bits: Bits) -> Counts:
        """Draw one noise that all heights share, and one for each."""
        noise = self.noise.sample(1 + count, bits)
        return noise[1:] + int(noise[0])

    def tail(self, m: Counts) -> Floats:
        """Return P[z0 + zj >= m], which is P[zj - z0 >= m]: the noise is symmetric."""
        return tails.difference_tail(self.budget.epsilon, m)

    def error(self, sizes: Public) -> EstimateError:
        """Return the error of heights with shared noise."""
        return SharedNoiseError(self.noise, sizes.candidates, self.public.largest_floor, **self.published())


class PrivateMisraGriesPaper(PrivateMisraGries):
    """PMG with the published threshold for geometric noise.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: every event counts 1, in the order of the stream; keys are evicted as for the floor release.
    Parameters: z0 + zj on each height, z ~ DLap(epsilon); threshold thresholds.pmg_paper_threshold.
    Proof: docs/proofs/counters/misra_gries.md. Checked by: tests/privacy/test_misra_gries.py
    """

    name = "pmg-paper"
    claim = Claim(
        "private Misra-Gries, published threshold",
        "PMG (Lebeda and Tětek 2023, Algorithm 2) with the published threshold (Section 5.2) is"
        " (epsilon, delta)-DP.",
        PROOF,
        ONE_STREAM,
    )

    def smallest_threshold(self, epsilon: float, delta: float) -> int:
        """Return the published threshold."""
        return thresholds.pmg_paper_threshold(epsilon, delta)


class PrivateMisraGriesStandard(PrivateMisraGries):
    """PMG of a standard Misra-Gries sketch, which drops keys of height 0 at once.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: every event counts 1, in the order of the stream; any rule may pick the evicted key.
    Parameters: z0 + zj on each height >= 1, z ~ DLap(epsilon); threshold thresholds.standard_threshold.
    Proof: docs/proofs/counters/misra_gries.md. Checked by: tests/privacy/test_misra_gries.py
    """

    name = "pmg-standard"
    accepts = (FloorCounters, StandardCounters)
    needs = ("candidates",)
    least_value = 1
    claim = Claim(
        "private Misra-Gries of the standard sketch",
        "PMG of the standard sketch (Lebeda and Tětek 2023, Section 5.1) with the exact threshold is"
        " (epsilon, delta)-DP.",
        PROOF,
        ONE_STREAM[:1],
    )

    def smallest_threshold(self, epsilon: float, delta: float) -> int:
        """Return the threshold for keys that come and go with their height."""
        return thresholds.standard_threshold(epsilon, delta, self.needed("candidates"))


class ChanRelease(_Heights):
    """Noisy heights with independent noise scaled to the number of counters (Chan et al. 2012).

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: every event counts 1, in the order of the stream; any rule may pick the evicted key.
    Parameters: DLap(epsilon / k) on each height >= 1, k candidates; threshold thresholds.chan_threshold.
    Proof: docs/proofs/counters/misra_gries.md. Checked by: tests/privacy/test_misra_gries.py
    """

    name = "chan"
    needs = ("candidates",)
    least_value = 1
    claim = Claim(
        "Misra-Gries with noise for all counters",
        "Noise for l1 sensitivity k on the nonzero heights (Chan et al. 2012), with the exact threshold, is"
        " (epsilon, delta)-DP.",
        PROOF,
        ONE_STREAM[:1],
    )

    def calibrate(self) -> None:
        """Set the noise for all counters, and the threshold for it."""
        epsilon, candidates = self.budget.epsilon, self.needed("candidates")
        self.noise = DiscreteLaplace.shared(epsilon, candidates, "counters")
        self.threshold = thresholds.chan_threshold(epsilon, self.budget.delta, candidates)

    def error(self, sizes: Public) -> EstimateError:
        """Return the error of heights with independent noise."""
        return EstimateError(self.noise, sizes.candidates, self.public.largest_floor, **self.published())


@dataclass(frozen=True, slots=True)
class SharedNoiseError(EstimateError):
    """As for independent noise, but one of the two noises of a key is shared by all keys."""

    noise: DiscreteLaplace

    def log_tail(self, m: Counts) -> Floats:
        """Return log P[sum of the two noises of one count >= m]."""
        return tails.log_difference_tails(float(self.noise.epsilon), m)

    def _one_sided(self, failure: float, keys: int) -> int:
        """Return a width that none of `keys` sums of two noises exceeds but for `failure`."""
        return tails.largest_difference(float(self.noise.epsilon), failure, keys) - 1

    def _two_sided(self, failure: float, keys: int) -> int:
        """Return a width for both sides, each with half of the failure."""
        return self._one_sided(failure / 2, keys)
