"""Bernoulli draws whose probability is irrational, exact: certified binary digits against uniform bits.

Proof: docs/proofs/noise.md, sections 1 and 2. Integers only; no floating point in this file.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Mask
from hushcount.noise.bits import Bits

SHORT = 16  # bits compared for every draw; only ties (one in 2^16) look further
LONG = 64  # bits added each time a tie goes on

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
