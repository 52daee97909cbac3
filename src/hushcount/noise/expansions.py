"""Bernoulli draws whose probability is irrational, exact: certified binary digits against uniform bits.

The second half draws many of them at once, each with its own exp(-gamma): the acceptance step of the discrete
Gaussian sampler. Proof: docs/proofs/noise.md, sections 1, 2 and 4. Integers only; no floating point in this
file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Self

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Mask, Octets, Words
from hushcount.noise.bits import Bits

SHORT = 16  # bits compared for every draw; only ties (one in 2^16) look further
LONG = 64  # bits added each time a tie goes on

UNIT = 16  # gamma is cut into whole units of 2^-16 and a rest below one unit
FAR = 1 << 32  # units from which a gamma is drawn by itself
ORDER = (2, 1, 0, 3)  # bytes of the units, the one most likely to reject first

Indices = npt.NDArray[np.intp]
Interval = tuple[int, int]


class Expansion:
    """The binary digits of an irrational probability p in (0, 1): as many as asked for, every one certain.

    `interval(n)` returns integers low <= p 2^n <= high that close in on each other as n grows.
    """

    __slots__ = ("_count", "_digits", "_interval")

    def __init__(self, interval: Callable[[int], Interval]) -> None:
        self._interval = interval
        self._count = 0
        self._digits = 0

    def leading(self, count: int) -> int:
        """Return floor(p 2^count), the first `count` digits."""
        if count > self._count:
            self._digits = self._certain(count)
            self._count = count
        return self._digits >> (self._count - count)

    def _certain(self, count: int) -> int:
        """Return the first `count` digits, with bounds so narrow that they are certain."""
        guard = 32
        while True:
            low, high = self._interval(count + guard)
            if low >> guard == high >> guard:
                return low >> guard
            guard *= 2


def exponential(exponent: Fraction) -> Expansion:
    """Return digits of exp(-exponent), exponent > 0."""
    return Expansion(lambda precision: exp_interval(exponent, precision))


def logistic(exponent: Fraction, factor: int = 1) -> Expansion:
    """Return digits of factor / (1 + exp(exponent)), exponent > 0, factor 1 or 2."""

    def interval(precision: int) -> Interval:
        low, high = exp_interval(exponent, precision)
        one = 1 << precision  # a / (1 + a) grows with a = exp(-exponent)
        return factor * low * one // (one + low), factor * high * one // (one + high) + 1

    return Expansion(interval)


def exp_interval(exponent: Fraction, precision: int) -> Interval:
    """Return integers low <= exp(-exponent) 2^precision <= high, for exponent >= 0."""
    numerator, denominator = exponent.numerator, exponent.denominator
    halvings = max(0, numerator.bit_length() - denominator.bit_length() + 2)
    working = precision + halvings + 16
    low, high = _small_exp((numerator << (working - halvings)) // denominator, working)
    for _ in range(halvings):
        low, high = low * low >> working, (high * high >> working) + 1
    shift = working - precision
    return low >> shift, (high >> shift) + 1


def _small_exp(argument: int, working: int) -> Interval:
    """Return bounds of exp(-x) 2^working for all x <= 1/2 with argument <= x 2^working < argument + 1."""
    total, term, index = 0, 1 << working, 0
    while term:
        total += -term if index & 1 else term
        index += 1
        term = term * argument // (index << working)
    error = 2 * index + 3  # each term is short by at most 2, so is the rest; x moves the sum by at most 1
    return max(0, total - error), total + error


def short_uniforms(count: int, bits: Bits) -> npt.NDArray[np.uint16]:
    """Return `count` independent uniform 16-bit integers."""
    return bits.words(-(-count // 4)).view(np.uint16)[:count]


def bernoullis(probability: Expansion, count: int, bits: Bits) -> Mask:
    """Draw `count` independent Bernoulli(p), exactly."""
    leads = np.full(count, probability.leading(SHORT), np.uint16)
    return decide(leads, lambda _: probability, bits)


def decide(leads: npt.NDArray[np.unsignedinteger], of: Callable[[int], Expansion], bits: Bits) -> Mask:
    """Draw a Bernoulli for each of many probabilities, of which `leads` are the first 16 digits.

    A uniform number of 16 bits decides almost always. If it equals the digits, more digits of the probability
    `of(place)` are compared. Where the digits are 2^16, the answer is always yes.
    """
    uniforms = short_uniforms(len(leads), bits)
    hits: Mask = uniforms < leads
    for tie in np.flatnonzero(uniforms == leads).tolist():
        hits[tie] = settle(of(tie), SHORT, bits)
    return hits


def settle(probability: Expansion, known: int, bits: Bits) -> bool:
    """Decide U < p for a uniform U whose first `known` bits equal those of p."""
    while True:
        known += LONG
        word = int(bits.words(1)[0])
        lead = probability.leading(known) & ((1 << LONG) - 1)
        if word != lead:
            return word < lead


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
