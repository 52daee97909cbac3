"""Probabilities as integers over 2^width, and the three steps that keep them private.

Proof: docs/proofs/sampling/sample.md, sections 1 and 4. No floating point decides a probability here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from hushcount.errors import ParameterError
from hushcount.noise.expansions import exp_interval
from hushcount.privacy import Budget

SHIFT = 128  # E is a multiple of 2^-SHIFT
LARGEST_DEPTH = 1 << 22  # longest table: 4 million integers
LEAST_DELTA = 1e-120  # so that 1 / delta^2 is a float; less would need other bounds than floating point


@dataclass(frozen=True, slots=True)
class Grid:
    """E = ratio / 2^shift <= exp(epsilon) and an integer step with step / 2^width <= delta."""

    width: int
    ratio: int
    step: int
    depth: int
    shift: int = SHIFT

    @property
    def whole(self) -> int:
        """The integer that stands for probability 1."""
        return 1 << self.width

    def up(self, mass: int) -> int:
        """floor(E mass)."""
        return (mass * self.ratio) >> self.shift

    def down(self, mass: int) -> int:
        """ceil(mass / E)."""
        return -((-mass << self.shift) // self.ratio)

    def report(self, before: int, probability: int) -> int:
        """The largest probability to publish a key of the next count."""  # Cohen et al. 2021, Alg 3
        below = self.whole - self.down(max(self.whole - before - self.step, 0))
        return min(probability, self.step + self.up(before), below)

    def rest(self, before: int, after: int) -> int:
        """R, the mass of values that may vanish between two rows with these reporting probabilities."""
        return min(self.step, self.step - (self.whole - before) + self.up(self.whole - after))

    def move(self, mass: int, before: int, after: int) -> int:
        """g, the mass above a value in the next row, given the mass above it in this one."""
        lower = self.down(max(before - mass - self.rest(before, after), 0))
        return min(self.step + self.up(mass), after - lower)

    def back(self, mass: int, before: int, after: int) -> int:
        """The largest t with move(t) <= mass; negative when there is none. `mass` is below `after`."""
        rising = -((-(mass - self.step + 1) << self.shift) // self.ratio) - 1
        shrunk = ((after - mass - 1) * self.ratio) >> self.shift
        return max(rising, before - self.rest(before, after) - shrunk - 1)

    def excess(self, row: dict[int, int], other: dict[int, int]) -> Fraction:
        """The hockey-stick divergence of two rows (masses by output) at log E, in units of 2^-width."""
        scale = 1 << self.shift
        terms = (mass * scale - self.ratio * other.get(output, 0) for output, mass in row.items())
        return Fraction(sum(term for term in terms if term > 0), scale)


def keys_grid(budget: Budget) -> Grid:
    """The grid for keys without values, and for rows rounded cell by cell: no slack is needed."""
    return _grid(budget.epsilon, budget.delta, tokens=0)


def values_grid(budget: Budget, tokens: int = 1) -> Grid:
    """The grid for maps of masses: the step leaves room for the rounding of every token of a row."""
    return _grid(budget.epsilon, budget.delta, tokens)


@lru_cache(maxsize=64)
def _grid(epsilon: float, delta: float, tokens: int) -> Grid:
    if delta < LEAST_DELTA:
        raise ParameterError(f"delta must be at least {LEAST_DELTA:g} for exact tables, got {delta:g}.")
    depth = _depth(epsilon, delta)
    width = 64 * math.ceil((2 * -math.log2(delta) + epsilon / math.log(2) + 64) / 64)
    _, high = exp_interval(Fraction(epsilon), SHIFT + 64)
    ratio = (1 << (2 * SHIFT + 64)) // high
    step = math.floor(Fraction(delta) * (1 << width))
    if tokens:
        step -= -(-ratio >> SHIFT) * (tokens * depth + 4)
    return Grid(width, ratio, step, depth)


def _depth(epsilon: float, delta: float) -> int:
    """A bound on the number of values with positive mass in a row (section 4, 'Depth')."""
    growth = math.log1p(math.expm1(epsilon) / delta) + 2 * math.log(4 / delta)
    depth = 1.001 * growth / epsilon + 8
    if depth > LARGEST_DEPTH:
        raise ParameterError(
            f"epsilon is too small for delta = {delta:g}: the noise would need a table of {depth:.3g} rows,"
            f" at most {LARGEST_DEPTH} are allowed, got epsilon = {epsilon:g}."
        )
    return math.ceil(depth)
