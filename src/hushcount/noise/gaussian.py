"""The discrete Gaussian distribution, and the sum of two.

Formulas on the lattice, and the sampler of Canonne et al. 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.noise import lattice
from hushcount.noise.bits import Bits
from hushcount.noise.expansions import Rejection
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.lattice import Symmetric, on_lattice
from hushcount.privacy import check_count

LEAST_SIGMA = 1e-3
LARGEST_SIGMA = 1e8
BLOCK = 1 << 15  # candidates drawn together
_SPAN = 20  # standard deviations of each part of a sum that are added up one by one


@dataclass(frozen=True)
class DiscreteGaussian(Symmetric):
    """Integers with P[Z = z] proportional to exp(-z^2 / (2 sigma^2)).

    Theorem: `sample` draws from exactly this distribution, for the rational that sigma stands for, if the
        bits are uniform.
    Assumes: 1e-3 <= sigma <= 1e8.
    Proof: docs/proofs/noise.md. Checked by: tests/unit/noise/test_laplace.py

    >>> noise = DiscreteGaussian(10)
    >>> noise.least_tail(1e-6)
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


def mills(m: Floats, sigma: Floats | float) -> Floats:
    """Return P[Z >= m] / P[Z = m] for m >= 1, also for many sigma.

    It is the sum over k >= 0 of exp(-(2 m k + k^2) / (2 sigma^2)).
    """
    scale = np.broadcast_to(np.asarray(sigma, np.float64), m.shape)
    smooth = (m < 0.15 * scale**2) & (scale > 30)
    ratio = np.empty_like(m)
    if smooth.any():
        ratio[smooth] = _euler_maclaurin(m[smooth], scale[smooth])
    if not smooth.all():
        ratio[~smooth] = _direct(m[~smooth], scale[~smooth])
    return ratio


def gaussian_delta(mu: Floats, epsilon: float) -> Floats:
    """Return the divergence of two normal distributions mu apart; 0 for mu = 0."""  # Balle and Wang 2018
    from scipy.special import log_ndtr

    apart = np.maximum(mu, 1e-12)
    near, far = log_ndtr(apart / 2 - epsilon / apart), log_ndtr(-apart / 2 - epsilon / apart)
    found = np.exp(near) * -np.expm1(np.minimum(epsilon + far - near, 0.0))
    return np.where(mu > 0, found, 0.0)


def _direct(m: Floats, sigma: Floats) -> Floats:
    """At most 280 terms matter: slope k >= 41 or k >= 9 sigma leaves nothing that a float could hold."""
    slope = m / sigma**2
    k = np.arange(2 + float(np.minimum(9 * sigma, 41 / slope).max()))
    rows = max(1, (1 << 20) // len(k))
    parts = [slice(start, start + rows) for start in range(0, len(m), rows)]
    terms = (np.exp(-slope[part, None] * k - k * k / (2 * sigma[part, None] ** 2)) for part in parts)
    return np.concatenate([each.sum(axis=1) for each in terms])


def _euler_maclaurin(m: Floats, sigma: Floats) -> Floats:
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

        return lattice.both_sides(upper, m)


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
