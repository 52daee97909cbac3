"""Laplace noise above a threshold, for counts of which one unit changes one, or several together."""

from __future__ import annotations

from typing import ClassVar

from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import Claim, Thresholded, check_calibrated
from hushcount.mechanisms.intervals import EstimateError
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.shapes import ExactCounts, Histogram, ManyKeys, Public, Shape

TOGETHER = ("one unit changes at most `moved` counts, each by 1 and all in the same direction",)


class LaplaceThreshold(Thresholded[Histogram]):
    """Noisy counts of the keys that occur, above a threshold that hides whether a key occurs at all.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: one event changes one count by 1, or by a weight of at most W; only keys with a count of at least
        1 are in the histogram.
    Parameters: z ~ DLap(epsilon / W) on each count; threshold thresholds.laplace_threshold.
    Proof: docs/proofs/histograms/laplace.md, docs/proofs/histograms/weights.md. Checked by:
        tests/privacy/test_exact.py, tests/privacy/test_weights.py
    """

    name = "laplace-threshold"
    accepts = (Histogram,)
    sketch = "exact"
    weighted = True
    way_out = 'use mechanism="floor", or count with Exact'
    claim = Claim(
        "stability histogram",
        "Laplace threshold: noisy counts of occurring keys above t are (epsilon, delta)-DP.",
        "docs/proofs/histograms/laplace.md",
        ("one event changes one count by 1",),
    )

    def calibrate(self) -> None:
        """Set the noise of each count, and the threshold for it."""
        weight = self.public.unit.weight
        self.noise = thresholds.weighed_laplace(self.budget.epsilon, weight)
        self.threshold = thresholds.laplace_threshold(self.budget.epsilon, self.budget.delta, weight)

    def error(self, sizes: Public) -> EstimateError:
        """Return the error of exact counts; a public length bounds the number of keys."""
        return EstimateError(self.noise, self.public.max_events, **self.published())


class ManyKeysMechanism(Thresholded[ManyKeys | ExactCounts]):
    """A mechanism for counts of which one unit changes several together.

    Exact counts below `min_users` are left out, and the others are taken above it: the threshold is higher by
    that, and all else the same.
    """

    accepts: ClassVar[tuple[type[Shape], ...]] = (ManyKeys, ExactCounts)
    sketch = "user-misra-gries"
    way_out = 'use mechanism="floor" for one stream, or release shards with hc.release(shards)'
    needs: ClassVar[tuple[str, ...]] = ("moved",)

    def lifted(self, threshold: int) -> int:
        """Return the threshold of counts of which those below `min_users` are left out."""
        self.least_value = self.public.min_users or 0
        return threshold + max(self.least_value - 1, 0)

    def parameters(self, sizes: Public) -> dict[str, int | float | str | None]:
        """Return the threshold, the scale of Gaussian noise, and how many counts change together."""
        sigma = float(self.noise.sigma) if isinstance(self.noise, DiscreteGaussian) else None
        stated = {"min_users": self.public.min_users, "rho": self.budget.rho}
        return {"threshold": self.threshold, "sigma": sigma, "moved": sizes.moved, **stated}

    def error(self, sizes: Public) -> EstimateError:
        """Return the error of counts from which a sketch may have left something out."""
        return EstimateError(self.noise, sizes.candidates, left_out(sizes, self.public), **self.published())


def left_out(sizes: Public, public: Public) -> int | None:
    """Return a public bound on what a sketch of these sizes left out of a count: 0 if it counts exactly."""
    return 0 if sizes.parts is None else sizes.within(public.max_events).largest_floor


class LaplaceManyKeys(ManyKeysMechanism):
    """Noisy counts of the tracked keys, with noise for `moved` counts at once.

    Theorem: (epsilon, delta)-DP (Lebeda and Tětek 2023, Section 7).
    Neighbours: add or remove one event, or one user (the unit of the shape).
    Assumes: one unit changes at most `moved` counts by 1, or one count by a weight of at most W.
    Parameters: DLap(epsilon / moved) on each count; threshold thresholds.chan_threshold. For weights those of
        LaplaceThreshold.
    Proof: docs/proofs/histograms/gaussian.md, section 6, docs/proofs/histograms/weights.md. Checked by:
        tests/privacy/test_gaussian.py, tests/privacy/test_weights.py
    """

    name = "laplace"
    weighted = True
    claim = Claim(
        "Laplace noise for all counts that change",
        "Discrete Laplace noise of rate epsilon / `moved`, the number of counts that one unit can change,"
        " with the exact threshold, is (epsilon, delta)-DP.",
        "docs/proofs/histograms/gaussian.md",
        TOGETHER,
    )

    def calibrate(self) -> None:
        """Set the noise for all counts that change together, and the threshold for it."""
        epsilon, moved = self.budget.epsilon, self.needed("moved")
        if (weight := self.public.unit.weight) > 1:
            check_calibrated("counts that one event of a weight changes", moved, 1)
            self.noise = thresholds.weighed_laplace(epsilon, weight)
            self.threshold = self.lifted(thresholds.laplace_threshold(epsilon, self.budget.delta, weight))
            return
        self.noise = DiscreteLaplace.shared(epsilon, moved, "counts that change together")
        self.threshold = self.lifted(thresholds.chan_threshold(epsilon, self.budget.delta, moved))
