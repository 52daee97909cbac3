"""The discrete Gaussian distribution: formulas on the lattice, and the sampler of Canonne et al. 2020."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.noise import lattice
from hushcount.noise.bits import Bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.lattice import on_lattice
from hushcount.noise.rejection import Rejection
from hushcount.privacy import check_count

LEAST_SIGMA = 1e-3
LARGEST_SIGMA = 1e8
BLOCK = 1 << 15  # candidates drawn together


@dataclass(frozen=True)
class DiscreteGaussian:
    """Integers with P[Z = z] proportional to exp(-z^2 / (2 sigma^2)).

    Theorem: `sample` draws from exactly this distribution, for the rational that sigma stands for, if the
        bits are uniform.
    Assumes: 1e-3 <= sigma <= 1e8.
    Proof: docs/proofs/noise.md. Checked by: tests/unit/noise/test_laplace.py

    >>> law = DiscreteGaussian(10)
    >>> law.least_tail(1e-6)
    49
    """

    sigma: float | Fraction

    def __post_init__(self) -> None:
        _ = self.exact_sigma  # raises when sigma breaks its rule

    @property
    def exact_sigma(self) -> Fraction:
        """The rational that sigma stands for."""
        return lattice.exact("sigma", self.sigma, LEAST_SIGMA, LARGEST_SIGMA)

    @property
    def variance(self) -> float:
        """The variance on the lattice, a little below sigma^2."""
        total, weighted = _theta(float(self.sigma))
        return weighted / total

    @on_lattice
    def pmf(self, z: Floats) -> Floats:
        """P[Z = z]."""
        sigma = float(self.sigma)
        return np.exp(-_energy(z, self._square)) / _theta(sigma)[0]

    @on_lattice
    def log_pmf(self, z: Floats) -> Floats:
        """Logarithm of P[Z = z]."""
        return -_energy(z, self._square) - math.log(_theta(float(self.sigma))[0])

    @on_lattice
    def tail(self, m: Floats) -> Floats:
        """P[Z >= m]."""
        sigma = float(self.sigma)

        def upper(m: Floats) -> Floats:
            return np.exp(-_energy(m, self._square)) * mills(m, sigma) / _theta(sigma)[0]

        return lattice.both_sides(upper, m)

    @on_lattice
    def log_tail(self, m: Floats) -> Floats:
        """Logarithm of P[Z >= m], also where the tail itself is below the smallest float."""
        sigma = float(self.sigma)

        def log_upper(m: Floats) -> Floats:
            return -_energy(m, self._square) + np.log(mills(m, sigma)) - math.log(_theta(sigma)[0])

        return lattice.log_both_sides(log_upper, m)

    def least_tail(self, p: float) -> int:
        """Return the smallest integer m with P[Z >= m] <= p."""
        return lattice.least_tail(self.tail, p)

    def two_sided(self, p: float) -> int:
        """Return the smallest r >= 0 with P[|Z| > r] <= p."""
        return lattice.two_sided(self.tail, p)

    def sample(self, size: int, bits: Bits) -> Counts:
        """Draw `size` independent values: the first that pass, of a stream of candidates."""
        size = check_count("size", size, least=0)
        rejection = Rejection.of(self.exact_sigma)
        proposal = DiscreteLaplace(Fraction(1, rejection.scale))
        samples = np.empty(size, dtype=np.int64)
        filled = 0
        while filled < size:
            candidates = proposal.sample(min(BLOCK, 2 * (size - filled) + 16), bits)
            passed = candidates[rejection.passes(np.abs(candidates), bits)][: size - filled]
            samples[filled : filled + len(passed)] = passed
            filled += len(passed)
        return samples

    @property
    def _square(self) -> float:
        """Return 2 sigma^2."""
        return float(2 * self.exact_sigma**2)


Distribution = DiscreteLaplace | DiscreteGaussian
"""The noise of a mechanism: either distribution on the integers."""


def _energy(z: Floats, square: float) -> Floats:
    """Return the exponent z^2 / (2 sigma^2)."""
    return z * z / square


def _theta(sigma: float) -> tuple[float, float]:
    """Return sums of exp(-z^2 / (2 sigma^2)) and of z^2 times that, over all integers z."""
    if sigma < 1:
        weights = [(z * z, math.exp(-z * z / (2 * sigma * sigma))) for z in range(1, 12)]
        return 1 + 2 * sum(w for _, w in weights), 2 * sum(square * w for square, w in weights)
    # Poisson summation: the same sums over the dual lattice, which converge at once for large sigma
    waves = [(k * k, math.exp(-2 * (math.pi * sigma * k) ** 2)) for k in (1, 2)]
    scale = sigma * math.sqrt(2 * math.pi)
    total = 1 + 2 * sum(w for _, w in waves)
    curve = 8 * math.pi**2 * sigma**2 * sum(square * w for square, w in waves)
    return scale * total, scale * sigma**2 * (total - curve)


def mills(m: Floats, sigma: float) -> Floats:
    """Return P[Z >= m] / P[Z = m] for m >= 1: sum over k >= 0 of exp(-(2 m k + k^2) / (2 sigma^2))."""
    slope = m / sigma**2
    smooth = (slope < 0.15) & (sigma > 30)
    ratio = np.empty_like(m)
    if smooth.any():
        ratio[smooth] = _euler_maclaurin(m[smooth], sigma)
    if not smooth.all():
        ratio[~smooth] = _direct(slope[~smooth], sigma)
    return ratio


def _direct(slope: Floats, sigma: float) -> Floats:
    """At most 280 terms matter: slope k >= 41 or k >= 9 sigma leaves nothing that a float could hold."""
    k = np.arange(2 + min(9 * sigma, 41 / slope.min()))
    rows = max(1, (1 << 20) // len(k))
    parts = [slope[start : start + rows, None] for start in range(0, len(slope), rows)]
    return np.concatenate([np.exp(-part * k - k * k / (2 * sigma**2)).sum(axis=1) for part in parts])


def _euler_maclaurin(m: Floats, sigma: float) -> Floats:
    """Return the same sum as integral plus boundary terms B_2j / (2j)! times odd derivatives at k = 0."""
    from scipy.special import erfcx

    slope = m / sigma**2
    ratio = sigma * math.sqrt(math.pi / 2) * erfcx(m / (sigma * math.sqrt(2))) + 0.5
    before, derivative = np.ones_like(m), -slope
    for order, coefficient in enumerate(_BOUNDARY, start=1):
        if coefficient:
            ratio = ratio - coefficient * derivative
        before, derivative = derivative, -slope * derivative - order / sigma**2 * before
    return np.asarray(ratio, dtype=np.float64)


# Coefficient of the derivative of order 1, 2, 3, ...: the Bernoulli number B_(n+1) over (n + 1)!
_BOUNDARY = (1 / 12, 0, -1 / 720, 0, 1 / 30240, 0, -1 / 1209600, 0, 1 / 47900160, 0, -691 / 1307674368000)
