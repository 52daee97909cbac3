"""The sum of two independent discrete Gaussians: noise of which counts share one part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.compiled.arrays import Floats
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.lattice import Symmetric, both_sides, on_lattice

_SPAN = 20  # standard deviations of each part that are added up one by one


@dataclass(frozen=True)
class GaussianSum(Symmetric):
    """Integers Z + Z0, where Z is discrete Gaussian of sigma `own` and Z0 of sigma `shared`.

    >>> GaussianSum(3, 4).two_sided(0.05)
    10
    """

    own: float | Fraction
    shared: float | Fraction

    @property
    def parts(self) -> tuple[DiscreteGaussian, DiscreteGaussian]:
        """The distributions of the two parts."""
        return DiscreteGaussian(self.own), DiscreteGaussian(self.shared)

    @on_lattice
    def tail(self, m: Floats) -> Floats:
        """P[Z + Z0 >= m], or a bound on it so far out that it is below 1e-80.

        P[Z + Z0 = m] is a Gaussian in m times the sum over n of exp(-(n - c)^2 / (2 v)), where c depends on
        m and v is the harmonic sum of both variances. By Poisson summation that sum changes with c by a
        relative 5 exp(-2 pi^2 v) at most, which no float shows from v = 2 on.
        """
        squares = float(self.own) ** 2, float(self.shared) ** 2
        if math.prod(squares) >= 2 * sum(squares):
            return np.asarray(DiscreteGaussian(math.sqrt(sum(squares))).tail(m.astype(np.int64)))
        table = _upper_tails(float(self.own), float(self.shared))

        def upper(m: Floats) -> Floats:
            near = np.minimum(m, len(table) - 1).astype(np.int64)
            far = np.exp(-m * m / (2 * sum(squares)))  # Gaussians on the integers are subgaussian
            return np.where(m < len(table), table[near], far)

        return both_sides(upper, m)


@lru_cache(maxsize=64)
def _upper_tails(own: float, shared: float) -> Floats:
    """Return P[Z + Z0 >= m] for m = 0, 1, ..., added up from the far end."""
    total = np.convolve(_masses(own), _masses(shared))
    upper = np.cumsum(total[len(total) // 2 :][::-1])[::-1]
    return np.asarray(upper, np.float64)


def _masses(sigma: float) -> Floats:
    """Return the probabilities of a discrete Gaussian around 0."""
    span = math.ceil(_SPAN * sigma) + 1
    return np.asarray(DiscreteGaussian(sigma).pmf(np.arange(-span, span + 1)))
