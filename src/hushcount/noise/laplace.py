"""The discrete Laplace distribution.

Formulas, and an exact sampler that draws the binary digits of a geometric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.errors import HushcountError, ParameterError
from hushcount.noise import lattice
from hushcount.noise.bits import Bits
from hushcount.noise.expansions import Expansion, bernoullis, exponential, logistic, settle
from hushcount.noise.lattice import Symmetric, on_lattice
from hushcount.privacy import check_count

LEAST_EPSILON = 1e-9  # below, noise would crowd the 64-bit integers
LARGEST_EPSILON = 1e6
BLOCK = 1 << 15  # samples drawn together: their uniforms stay in the processor's cache


@dataclass(frozen=True)
class DiscreteLaplace(Symmetric):
    """Integers with P[Z = z] proportional to exp(-epsilon |z|).

    Theorem: `sample` draws from exactly this distribution, for the rational that epsilon stands for, if the
        bits are uniform.
    Assumes: 1e-9 <= epsilon <= 1e6; a value beyond 64 bits (probability below 2^(-2^32)) is an error.
    Proof: docs/proofs/noise.md. Checked by: tests/unit/noise/test_laplace.py

    >>> noise = DiscreteLaplace(1.0)
    >>> noise.least_tail(1e-6)
    14
    """

    epsilon: float | Fraction

    def __post_init__(self) -> None:
        _ = self.exact_epsilon  # raises when epsilon breaks its rule

    @classmethod
    def shared(cls, epsilon: float, shares: int, what: str) -> DiscreteLaplace:
        """Return the noise of each of `shares` equal shares of epsilon, or raise in terms of the whole.

        Parameters
        ----------
        epsilon : float
            The budget that all shares have together.
        shares : int
            How many counts share it.
        what : str
            What these counts are, for the message.
        """
        smallest = shares * LEAST_EPSILON
        if epsilon < smallest:
            raise ParameterError(f"epsilon must be at least {smallest:g} for {shares} {what}, got {epsilon}.")
        return cls(lattice.typed(epsilon) / shares)

    @property
    def exact_epsilon(self) -> Fraction:
        """The rational that epsilon stands for: of a float the number that was typed."""
        exact = lattice.exact("epsilon", self.epsilon, LEAST_EPSILON, LARGEST_EPSILON)
        return lattice.typed(self.epsilon) if isinstance(self.epsilon, float) else exact

    @property
    def variance(self) -> float:
        """The variance, 2 a / (1 - a)^2 with a = exp(-epsilon)."""
        rate = float(self.epsilon)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    @on_lattice
    def pmf(self, z: Floats) -> Floats:
        """P[Z = z]."""
        rate = float(self.epsilon)
        return math.tanh(rate / 2) * np.exp(-rate * np.abs(z))

    @on_lattice
    def log_pmf(self, z: Floats) -> Floats:
        """Logarithm of P[Z = z]."""
        rate = float(self.epsilon)
        return -rate * np.abs(z) + math.log(-math.expm1(-rate)) - math.log1p(math.exp(-rate))

    @on_lattice
    def tail(self, m: Floats) -> Floats:
        """P[Z >= m]."""
        rate = float(self.epsilon)
        return lattice.both_sides(lambda m: np.exp(-rate * m) / (1 + math.exp(-rate)), m)

    @on_lattice
    def log_tail(self, m: Floats) -> Floats:
        """Logarithm of P[Z >= m], also where the tail itself is below the smallest float."""
        rate = float(self.epsilon)
        return lattice.log_both_sides(lambda m: -rate * m - math.log1p(math.exp(-rate)), m)

    def sample(self, size: int, bits: Bits) -> Counts:
        """Draw `size` independent values."""
        size = check_count("size", size, least=0)
        table = digit_table(self.exact_epsilon)
        samples = np.zeros(size, dtype=np.int64)
        for start in range(0, size, BLOCK):
            _fill(samples[start : start + BLOCK], table, bits)
        return samples


@dataclass(frozen=True)
class DigitTable:
    """Probabilities that a value is not 0, that a low digit of a geometric is 1, that the rest is not 0."""

    nonzero: Expansion
    digits: tuple[Expansion, ...]
    carry: Expansion


@lru_cache(maxsize=256)
def digit_table(epsilon: Fraction) -> DigitTable:
    """Return the expansions that draw DiscreteLaplace(epsilon); the carry has probability below 2^-16."""
    exponents = [epsilon]
    while exponents[-1] < 12:  # exp(-12) < 2^-16
        exponents.append(2 * exponents[-1])
    digits = tuple(logistic(exponent) for exponent in exponents[:-1])
    return DigitTable(logistic(epsilon, factor=2), digits, exponential(exponents[-1]))


def _fill(samples: Counts, table: DigitTable, bits: Bits) -> None:
    """Fill an array of zeros with draws: nonzero places, magnitudes, signs."""
    places = np.flatnonzero(bernoullis(table.nonzero, len(samples), bits))
    magnitudes = geometrics(table, len(places), bits) + 1
    samples[places] = np.where(_signs(len(places), bits), -magnitudes, magnitudes)


def _signs(count: int, bits: Bits) -> Mask:
    """Draw `count` fair coins."""
    octets = bits.words(-(-count // 64)).view(np.uint8)
    return np.unpackbits(octets, count=count).view(np.bool_)


def geometrics(table: DigitTable, count: int, bits: Bits) -> Counts:
    """Draw G >= 0 with P[G >= m] = exp(-epsilon m): its low binary digits are independent of all above."""
    values = np.zeros(count, dtype=np.int64)
    for place, digit in enumerate(table.digits):
        values += np.left_shift(bernoullis(digit, count, bits), place, dtype=np.int64)
    for index in np.flatnonzero(bernoullis(table.carry, count, bits)).tolist():
        values[index] = _carried(int(values[index]), table, bits)
    return values


def _carried(low: int, table: DigitTable, bits: Bits) -> int:
    """Return low + 2^J H, for J digits below and H given to be at least 1."""
    high = 1
    while settle(table.carry, 0, bits):
        high += 1
    value = low + (high << len(table.digits))
    if value + 1 > np.iinfo(np.int64).max:
        raise HushcountError("noise must fit in 64 bits, drew more: epsilon is too small.")
    return value
