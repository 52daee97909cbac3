"""Output laws of releases of a hierarchy, enumerated; the recursion over one path; Biswas et al. 2024,
Algorithm 1.

A tree is a nested tuple: a leaf is its count, a node the tuple of its children; all leaves are at one depth.
An output has one symbol a node, in the order in which nodes are tested: None if it is not published, else the
noisy residual, where all that reach `last` are one symbol.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from hushcount.noise.gaussian import Distribution

Floats = npt.NDArray[np.float64]
Tree = int | tuple["Tree", ...]
Output = tuple[int | None, ...]


@dataclass(frozen=True)
class NodeTest:
    """The test of one node: independent noise, a threshold, and where values are lumped together."""

    law: Distribution
    threshold: int
    last: int

    def outcomes(self, residual: int) -> list[tuple[int | None, int, float]]:
        """(symbol, residual that goes up, probability); a residual of 0 is not tested."""
        if residual == 0:
            return [(None, 0, 1.0)]
        values = range(self.threshold, self.last)
        published = [(value, 0, self.law.pmf(value - residual)) for value in values]
        published.append((self.last, 0, self.law.tail(self.last - residual)))
        return [(None, residual, self.law.tail(1 - (self.threshold - residual))), *published]

    def output_law(self, tree: Tree) -> dict[Output, float]:
        """The probability of each output of the whole tree."""
        found: dict[Output, float] = {}
        for (output, _), probability in self._law(tree).items():
            found[output] = found.get(output, 0.0) + probability
        return found

    def _law(self, tree: Tree) -> dict[tuple[Output, int], float]:
        below: dict[tuple[Output, int], float] = {((), tree if isinstance(tree, int) else 0): 1.0}
        for child in () if isinstance(tree, int) else tree:
            below = {
                (output + more, residual + up): p * q
                for (output, residual), p in below.items()
                for (more, up), q in self._law(child).items()
            }
        return {
            ((*output, symbol), up): p * q
            for (output, residual), p in below.items()
            for symbol, up, q in self.outcomes(residual)
            if q > 0
        }


def divergence(p: dict[Output, float], q: dict[Output, float], epsilon: float) -> float:
    """HS(P || Q)."""
    return math.fsum(max(one - math.exp(epsilon) * q.get(output, 0.0), 0.0) for output, one in p.items())


def both_ways(tester: NodeTest, more: Tree, less: Tree, epsilon: float) -> float:
    """The larger of the two divergences of neighbouring trees (of the same form, with counts of 0)."""
    p, q = tester.output_law(more), tester.output_law(less)
    return max(divergence(p, q, epsilon), divergence(q, p, epsilon))


def failures(law: Distribution, threshold: int, lowest: int) -> list[tuple[float, float]]:
    """(P[fails] in the smaller data, in the larger data) of one test, for all residuals that matter."""
    tested = [(law.tail(1 - t), law.tail(2 - t)) for t in range(lowest, threshold)]
    return [(1.0, 1 - law.tail(threshold - 1)), *tested]


def worst_product(pairs: Iterable[tuple[float, float]], tests: int, epsilon: float) -> float:
    """The larger divergence of 'all fail' and 'some test succeeds', over every multiset of tests."""
    worst = 0.0
    for chosen in combinations_with_replacement(list(pairs), tests):
        smaller, larger = (math.prod(side) for side in zip(*chosen, strict=True))
        some = (1 - larger) - math.exp(epsilon) * (1 - smaller)
        worst = max(worst, smaller - math.exp(epsilon) * larger, some)
    return worst


def chain(law: Distribution, threshold: int, tests: int, epsilon: float) -> tuple[float, float]:
    """The recursion over the tests of a path, both ways, with r on a grid: an upper bound each."""
    return smaller_first(law, threshold, tests, epsilon), larger_first(law, threshold, tests, epsilon)


def smaller_first(law: Distribution, threshold: int, tests: int, epsilon: float) -> float:
    """V(r) = max over t of sum_{s>=t} max(g(s) - r g(s-1), 0) + F(t) V(r F(t-1)/F(t)), or V(r (1-q))."""
    grid = np.concatenate(([0.0], np.exp(np.linspace(epsilon - 4, epsilon, 1500))))
    t = _margins(law, threshold)
    direct = _published(np.asarray(law.pmf(t)), np.asarray(law.pmf(t - 1)), grid)
    fail, ratio = np.asarray(law.tail(1 - t)), np.exp(law.log_tail(2 - t) - law.log_tail(1 - t))
    value = np.maximum(1 - grid, 0.0)
    for _ in range(tests):
        best = np.interp(grid * (1 - law.tail(threshold - 1)), grid, value)
        for index in range(len(t)):
            later = np.interp(grid * ratio[index], grid, value)
            best = np.maximum(best, direct[index] + fail[index] * later)
        value = best
    return float(value[-1])


def larger_first(law: Distribution, threshold: int, tests: int, epsilon: float) -> float:
    """W(r) = max_t sum_{s>=t} max(g(s) - r g(s+1), 0) + F(t) W(r F(t+1)/F(t)), or q + (1-q) W(r/(1-q)).

    Beyond the grid W has its last value on it, which is larger.
    """
    grid = np.exp(np.linspace(epsilon, epsilon + 4, 1500))
    t = _margins(law, threshold)
    direct = _published(np.asarray(law.pmf(t)), np.asarray(law.pmf(t + 1)), grid)
    fail, ratio = np.asarray(law.tail(1 - t)), np.exp(law.log_tail(-t) - law.log_tail(1 - t))
    q = law.tail(threshold - 1)
    value = np.maximum(1 - grid, 0.0)
    for _ in range(tests):
        best = q + (1 - q) * np.interp(grid / (1 - q), grid, value)
        for index in range(len(t)):
            later = np.interp(grid * ratio[index], grid, value)
            best = np.maximum(best, direct[index] + fail[index] * later)
        value = best
    return float(value[0])


def _margins(law: Distribution, threshold: int) -> npt.NDArray[np.int64]:
    return np.arange(-law.least_tail(1e-14), threshold + law.least_tail(1e-6))


def _published(g: Floats, other: Floats, grid: Floats) -> Floats:
    """sum over s >= t of max(g(s) - r other(s), 0), a row for each t, a column for each r."""
    terms = np.maximum(g[:, None] - grid[None, :] * other[:, None], 0.0)
    return terms[::-1].cumsum(axis=0)[::-1]
