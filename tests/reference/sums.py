"""The exact accuracy of an estimated sum, for counts that are known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushcount.releases.sums import moments


@dataclass(frozen=True, slots=True)
class SumAccuracy:
    """The accuracy of an estimated sum over keys whose counts are known."""

    value: float
    keys: int
    bias: float
    variance: float

    @property
    def nrmse(self) -> float:
        """The root mean square error divided by the sum; infinite for a sum of 0."""
        return math.hypot(math.sqrt(self.variance), self.bias) / abs(self.value) if self.value else math.inf


def sum_accuracy(distribution, estimator, g, counts) -> SumAccuracy:
    """Return the sum of g over keys of known counts, with the exact bias and variance of its estimate."""
    # Cohen et al. 2021, (12)
    known = np.asarray(counts, dtype=np.int64)
    per_key = moments(distribution, estimator, g, known)
    bias, variance = float(per_key.bias.sum()), float(per_key.variance.sum())
    return SumAccuracy(float(g(known.astype(np.float64)).sum()), len(known), bias, variance)
