"""Rows of private weighted sampling in integers: row i is the law of what is published for a key of count i.

Any row is reached from a window of counts; there is no table over all counts.
Proof: docs/proofs/sampling/sample.md, sections 1 to 4.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from hushcount.mechanisms.sampling.grid import Grid
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Scheme


@lru_cache(maxsize=32)
def stationary_masses(grid: Grid) -> tuple[int, ...]:
    """pi*_0 = 0, pi*_1, ..., pi*_n = 2^width: optimal reporting without sampling, and P(K < k) 2^width."""
    masses = [0]
    while masses[-1] < grid.whole:
        masses.append(grid.report(masses[-1], grid.whole))
    return tuple(masses)


@dataclass(frozen=True)
class Rows:
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
        """The count from which on every row is the stationary one, moved; None where there is none."""
        certain = self.scheme.certain_from(self.grid.width)
        return None if certain is None else certain + 2 * self.warm_up

    def reporting(self, first: int, last: int) -> list[int]:
        """pi_i for i = first..last (negative counts have 0), from `warm_up` counts before."""
        probability, width = self.scheme.integer_probability, self.grid.width
        mass, masses = 0, []
        for count in range(first - self.warm_up, last + 1):
            mass = self.grid.report(mass, probability(count, width)) if count > 0 else 0
            if count >= first:
                masses.append(mass)
        return masses

    def row(self, count: int) -> dict[int, int]:
        """Masses of row `count` by token, 0 for not published; zero masses left out."""
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
        """The token of a key of this count at a uniform integer below 2^width; 0 is not published."""
        if self.tokens == 1 and self.stationary_from is not None and count >= self.stationary_from:
            return max(0, count - bisect_right(stationary_masses(self.grid), uniform) + 1)
        (published,) = self.reporting(count, count)
        return self._walk(count, uniform) if uniform < published else 0

    def _walk(self, count: int, uniform: int) -> int:
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
        heights = sorted(above)
        masses = {high: above[low] - above[high] for low, high in pairwise(heights)}
        masses[0] = self.grid.whole - published
        return {value: mass for value, mass in masses.items() if mass}
