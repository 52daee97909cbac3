"""Acceptance step of the discrete Gaussian sampler: exact Bernoulli(exp(-gamma)) for many rational gammas.

Proof: docs/proofs/noise.md, section 4. Integers only; no floating point in this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Self

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Mask, Octets, Words
from hushcount.noise.bits import Bits
from hushcount.noise.expansions import SHORT, Expansion, decide, exponential, settle, short_uniforms

UNIT = 16  # gamma is cut into whole units of 2^-16 and a rest below one unit
FAR = 1 << 32  # units from which a gamma is drawn by itself
ORDER = (2, 1, 0, 3)  # bytes of the units, the one most likely to reject first

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Rejection:
    """Turns DiscreteLaplace(1 / scale) into the discrete Gaussian: keep y with probability exp(-gamma(y)).

    gamma(y) = (|y| - sigma^2 / scale)^2 / (2 sigma^2) = (|y| slope - shift)^2 / divisor in integers.
    """

    scale: int
    slope: int
    shift: int
    divisor: int

    @classmethod
    def of(cls, sigma: Fraction) -> Self:
        """Return the step for one sigma, with scale = floor(sigma) + 1."""
        scale = int(sigma) + 1
        p, q = (sigma**2).as_integer_ratio()
        return cls(scale, q * scale, p, 2 * p * q * scale**2)

    def gamma(self, magnitude: int) -> Fraction:
        """Return gamma of the candidates +-magnitude."""
        return Fraction((magnitude * self.slope - self.shift) ** 2, self.divisor)

    def passes(self, magnitudes: Counts, bits: Bits) -> Mask:
        """Draw Bernoulli(exp(-gamma)) for each candidate."""
        units = self._units(magnitudes)
        alive = _survivors(units, np.flatnonzero(units < FAR), bits)
        passed = np.zeros(len(magnitudes), dtype=np.bool_)
        passed[self._rests(magnitudes, alive, bits)] = True
        passed[self._far(magnitudes, np.flatnonzero(units == FAR), bits)] = True
        return passed

    def _units(self, magnitudes: Counts) -> Words:
        """Return gamma of each candidate in whole units of 2^-16, at most FAR."""
        largest = int(magnitudes.max(initial=0))
        if largest < len(magnitudes):  # fewer values than candidates: compute each value once
            return self._whole_units(range(largest + 1))[magnitudes]
        return self._whole_units(magnitudes.tolist())

    def _whole_units(self, magnitudes: Iterable[int]) -> Words:
        """Return gamma in whole units for given magnitudes."""
        slope, shift, divisor = self.slope, self.shift, self.divisor
        whole = (((y * slope - shift) ** 2 << UNIT) // divisor for y in magnitudes)
        return np.array([min(units, FAR) for units in whole], dtype=np.uint64)

    def _rests(self, magnitudes: Counts, alive: Indices, bits: Bits) -> Indices:
        """Keep with probability exp(-rest) > 1 - 2^-16: its first 16 digits are ones, or it is 1."""
        ones = (1 << SHORT) - 1
        uniforms = short_uniforms(len(alive), bits)
        keep = uniforms < ones
        for tie in np.flatnonzero(uniforms == ones).tolist():
            rest = self.gamma(int(magnitudes[alive[tie]])) % Fraction(1, 1 << UNIT)
            keep[tie] = rest == 0 or settle(exponential(rest), SHORT, bits)
        return alive[keep]

    def _far(self, magnitudes: Counts, far: Indices, bits: Bits) -> Indices:
        """Keep with probability exp(-gamma), gamma >= 2^16: its first 16 digits are zeros."""
        zeros = np.zeros(len(far), np.uint16)
        return far[decide(zeros, lambda tie: exponential(self.gamma(int(magnitudes[far[tie]]))), bits)]


def _survivors(units: Words, alive: Indices, bits: Bits) -> Indices:
    """Keep with probability exp(-units 2^-16), as a product over the four bytes of units."""
    for place in ORDER:
        octets = (units[alive] >> np.uint64(8 * place)).astype(np.uint8)
        alive = alive[decide(leading_digits(place)[octets], partial(_digits, place, octets), bits)]
    return alive


def _digits(place: int, octets: Octets, index: int) -> Expansion:
    """Return the digits of exp(-x), x the exponent that one of some bytes stands for."""
    return exponential(_exponent(place, int(octets[index])))


@lru_cache(maxsize=4)
def leading_digits(place: int) -> npt.NDArray[np.uint32]:
    """Return first 16 binary digits of exp(-octet 2^(8 place - 16)) for every octet.

    2^16, a sure pass, for 0.
    """
    digits = [exponential(_exponent(place, octet)).leading(SHORT) for octet in range(1, 256)]
    return np.array([1 << SHORT, *digits], dtype=np.uint32)


def _exponent(place: int, octet: int) -> Fraction:
    """Return the exponent that one byte of the units stands for."""
    return Fraction(octet << (8 * place), 1 << UNIT)
