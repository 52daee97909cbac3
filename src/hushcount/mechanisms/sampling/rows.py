"""Rows of private weighted sampling: row i is the distribution of what is published for a key of count i.

A `Grid` holds probabilities as integers over 2^width and the three steps that keep them private; no floating
point number decides a probability here. `SampleRows` reaches any row from a window of counts, so there is no
table over all counts. Proof: docs/proofs/sampling/sample.md, sections 1 to 4.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from hushcount.errors import ParameterError
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Scheme
from hushcount.noise.expansions import exp_interval
from hushcount.noise.lattice import typed
from hushcount.privacy import Budget

SHIFT = 128  # E is a multiple of 2^-SHIFT
LARGEST_DEPTH = 1 << 22  # rows of the longest table
LARGEST_TABLE = 1 << 28  # bytes of its integers, each of which also takes a header and a place in a list
OBJECT_BYTES = 36
LONGEST_WALK = 1 << 16  # counts that the walk of a key may pass: some seconds of work


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

    @property
    def floats(self) -> tuple[float, float, float]:
        """E, E - 1 and the step as floats, each rounded once."""
        one = 1 << self.shift
        return self.ratio / one, (self.ratio - one) / one, self.step / self.whole

    def up(self, mass: int) -> int:
        """Return floor(E mass)."""
        return (mass * self.ratio) >> self.shift

    def down(self, mass: int) -> int:
        """Return ceil(mass / E)."""
        return -((-mass << self.shift) // self.ratio)

    def report(self, before: int, probability: int) -> int:
        """Return the largest probability to publish a key of the next count."""  # Cohen et al. 2021, Alg 3
        below = self.whole - self.down(max(self.whole - before - self.step, 0))
        return min(probability, self.step + self.up(before), below)

    def rest(self, before: int, after: int) -> int:
        """Return R, the mass of values that may vanish between two rows with these probabilities."""
        return min(self.step, self.step - (self.whole - before) + self.up(self.whole - after))

    def move(self, mass: int, before: int, after: int) -> int:
        """Return g, the mass above a value in the next row, given the mass above it in this one."""
        lower = self.down(max(before - mass - self.rest(before, after), 0))
        return min(self.step + self.up(mass), after - lower)

    def back(self, mass: int, before: int, after: int) -> int:
        """Return the largest t with move(t) <= mass; negative when there is none. `mass` is below `after`."""
        rising = -((-(mass - self.step + 1) << self.shift) // self.ratio) - 1
        shrunk = ((after - mass - 1) * self.ratio) >> self.shift
        return max(rising, before - self.rest(before, after) - shrunk - 1)

    def excess(self, row: dict[int, int], other: dict[int, int]) -> Fraction:
        """Return the hockey-stick divergence of two rows (masses by output) at log E, over 2^width."""
        scale = 1 << self.shift
        terms = (mass * scale - self.ratio * other.get(output, 0) for output, mass in row.items())
        return Fraction(sum(term for term in terms if term > 0), scale)


def walkable(grid: Grid, budget: Budget) -> Grid:
    """Return the grid, or raise if a sample that uses it would take too long to draw.

    A key is drawn, and its interval found, by a walk over up to `depth` counts. The depth follows from the
    budget alone, so the bound is public and holds before any data is read.
    """
    if grid.depth > LONGEST_WALK:
        raise ParameterError(
            f"epsilon is too small for a sample at delta = {budget.delta:g}: drawing a key may take"
            f" {grid.depth:,} steps, at most {LONGEST_WALK:,} are allowed, got epsilon = {budget.epsilon}."
        )
    return grid


def keys_grid(budget: Budget) -> Grid:
    """Return the grid for keys without values, and for rows rounded cell by cell: no slack is needed."""
    return values_grid(budget, tokens=0)


@lru_cache(maxsize=64)
def values_grid(budget: Budget, tokens: int = 1) -> Grid:
    """Return the grid for maps of masses: the step leaves room for the rounding of every token of a row."""
    epsilon, delta = budget.epsilon, budget.delta
    width = 64 * math.ceil((2 * -math.log2(delta) + epsilon / math.log(2) + 64) / 64)
    depth = _depth(epsilon, delta, min(LARGEST_DEPTH, LARGEST_TABLE // (OBJECT_BYTES + width // 8)))
    _, high = exp_interval(typed(epsilon), SHIFT + 64)
    ratio = (1 << (2 * SHIFT + 64)) // high
    step = math.floor(typed(delta) * (1 << width))
    if tokens:
        step -= -(-ratio >> SHIFT) * (tokens * depth + 4)
    return Grid(width, ratio, step, depth)


def _depth(epsilon: float, delta: float, largest: int) -> int:
    """Return a bound on the number of values with positive mass in a row (section 4, 'Depth')."""
    growth = math.log1p(math.expm1(epsilon) / delta) + 2 * math.log(4 / delta)
    depth = 1.001 * growth / epsilon + 8
    if depth > largest:
        raise ParameterError(
            f"epsilon is too small for delta = {delta:g}: the noise would need a table of {depth:.3g} rows,"
            f" at most {largest} are allowed, got epsilon = {epsilon:g}."
        )
    return math.ceil(depth)


@lru_cache(maxsize=32)
def stationary_masses(grid: Grid) -> tuple[int, ...]:
    """pi*_0 = 0, pi*_1, ..., pi*_n = 2^width: optimal reporting without sampling, and P(K < k) 2^width."""
    masses = [0]
    while masses[-1] < grid.whole:
        masses.append(grid.report(masses[-1], grid.whole))
    return tuple(masses)


@dataclass(frozen=True)
class SampleRows:
    """The rows of one grid and one sampling scheme.

    Every value is divided into `tokens` tokens of equal mass where it enters: value j is the tokens
    (j - 1) tokens + 1 .. j tokens. More tokens keep more of the order of Algorithm 5.
    """

    grid: Grid
    scheme: Scheme = EVERY_KEY
    tokens: int = 1
    warm_up: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "warm_up", len(stationary_masses(self.grid)) - 1)

    @property
    def stationary_from(self) -> int | None:
        """The count from which every row is the stationary one, only shifted; None if there is none."""
        certain = self.scheme.certain_from(self.grid.width)
        return None if certain is None else certain + 2 * self.warm_up

    def reporting(self, first: int, last: int) -> list[int]:
        """Return pi_i for i = first..last (negative counts have 0), from `warm_up` counts before."""
        probability, width = self.scheme.integer_probability, self.grid.width
        mass, masses = 0, []
        for count in range(first - self.warm_up, last + 1):
            mass = self.grid.report(mass, probability(count, width)) if count > 0 else 0
            if count >= first:
                masses.append(mass)
        return masses

    def row(self, count: int) -> dict[int, int]:
        """Return masses of row `count` by token, 0 for not published; zero masses left out."""
        first = max(0, count - self.grid.depth)
        reporting = self.reporting(first, count)
        above = {first * self.tokens: 0}
        for height, (before, after) in enumerate(pairwise(reporting), start=first + 1):
            above = {token: self.grid.move(mass, before, after) for token, mass in above.items()}
            entered = above[(height - 1) * self.tokens]
            for part in range(self.tokens):
                above[height * self.tokens - part] = -(-part * entered // self.tokens)
        return self._cells(above, reporting[-1])

    def draw(self, count: int, uniform: int) -> int:
        """Return the token of a key of this count at a uniform integer below 2^width; 0 is not published."""
        if self.tokens == 1 and self.stationary_from is not None and count >= self.stationary_from:
            return max(0, count - bisect_right(stationary_masses(self.grid), uniform) + 1)
        (published,) = self.reporting(count, count)
        return self._walk(count, uniform) if uniform < published else 0

    def _walk(self, count: int, uniform: int) -> int:
        """Return the token of a published key.

        Walk down from its count until the mass of a value is reached.
        """
        first = max(0, count - self.grid.depth)
        reporting = self.reporting(first, count)
        mass = uniform
        for height in range(count, first, -1):
            before, after = reporting[height - first - 1], reporting[height - first]
            further = self.grid.back(mass, before, after)
            if further < 0:
                entered = self.grid.move(0, before, after)
                return height * self.tokens - mass * self.tokens // entered
            mass = further
        raise AssertionError("a row is deeper than its bound")

    def _cells(self, above: dict[int, int], published: int) -> dict[int, int]:
        """Return the mass of each token from the masses above them."""
        heights = sorted(above)
        masses = {high: above[low] - above[high] for low, high in pairwise(heights)}
        masses[0] = self.grid.whole - published
        return {value: mass for value, mass in masses.items() if mass}
