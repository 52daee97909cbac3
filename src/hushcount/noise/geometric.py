"""Geometric noise, and how many of many equal chances come true: exact, for irrational probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.noise import lattice
from hushcount.noise.bits import Bits
from hushcount.noise.expansions import Expansion, exponential
from hushcount.noise.laplace import LARGEST_EPSILON, LEAST_EPSILON, digit_table, geometrics
from hushcount.secure import below


@dataclass(frozen=True)
class Geometric:
    """Integers v >= 0 with P[v >= m] = exp(-epsilon m). The difference of two is discrete Laplace noise.

    Theorem: `sample` and `reached` draw exactly, if the bits are uniform.
    Proof: docs/proofs/noise.md; docs/proofs/continual/gate.md, "Skipping".
    Checked by: tests/unit/noise/test_geometric.py
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        lattice.exact("epsilon", self.epsilon, LEAST_EPSILON, LARGEST_EPSILON)

    def sample(self, size: int, bits: Bits) -> Counts:
        """Draw `size` independent values."""
        return geometrics(digit_table(self.epsilon), size, bits)

    def reached(self, distances: Counts, bits: Bits) -> Counts:
        """Return the places, in ascending order, at which one draw for each place reaches its distance.

        A distance of 0 or less is always reached. Places of equal distance are decided together: a binomial
        says how many of them reach it, and which ones is a uniform choice.
        """
        order = np.argsort(distances, kind="stable")
        if not len(order):
            return order
        values, starts, sizes = np.unique(distances[order], return_index=True, return_counts=True)
        found = self.chosen(values, sizes, bits)
        return np.sort(
            np.concatenate([order[start + some] for start, some in zip(starts, found, strict=True)])
        )

    def chosen(self, distances: Counts, sizes: Counts, bits: Bits) -> list[Counts]:
        """Return for groups of places of equal distance which of its places reach it, counted from 0."""
        groups = zip(distances.tolist(), sizes.tolist(), strict=True)
        return [_some(distance, size, self.epsilon, bits) for distance, size in groups]


def _some(distance: int, size: int, epsilon: Fraction, bits: Bits) -> Counts:
    """Return which of `size` equal places reach a distance."""
    if distance <= 0:
        return np.arange(size)
    return choice(size, binomial(size, exponential(distance * epsilon), bits), bits)


def binomial(trials: int, probability: Expansion, bits: Bits) -> int:
    """Draw how many of `trials` uniform numbers lie below an irrational probability, exactly.

    The numbers are compared digit by digit, all at once. Those that differ from the probability in a digit
    are decided, which is half of them each time.
    """
    successes, digit = 0, 0
    while trials:
        ones = _heads(trials, bits)
        digit += 1
        if probability.leading(digit) & 1:
            successes += trials - ones
            trials = ones
        else:
            trials -= ones
    return successes


def choice(size: int, count: int, bits: Bits) -> Counts:
    """Return a uniformly chosen set of `count` of the numbers 0 .. size - 1 (Floyd's algorithm)."""
    chosen: set[int] = set()
    for last in range(size - count, size):
        drawn = below(last + 1, bits)
        chosen.add(last if drawn in chosen else drawn)
    return np.array(sorted(chosen), dtype=np.int64)


def _heads(coins: int, bits: Bits) -> int:
    """Draw how many of so many fair coins show heads."""
    drawn = int.from_bytes(bits.bytes(-(-coins // 8)), "big")
    return (drawn >> (-coins % 8)).bit_count()
