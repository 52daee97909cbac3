"""Intervals of the totals of a tree: how far the sum of several noises may go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace

if TYPE_CHECKING:
    from hushcount.releases.tree import TreeRows

RELIABLE = 0.999
_NEGLIGIBLE = 1e-12  # of the failure allowed, what may lie beyond the table
_LARGEST_TABLE = 1 << 21
_FINE = 32  # up to this many noises each number has its own interval, beyond steps of 2%


@dataclass(frozen=True, slots=True)
class TotalError:
    """A total is the true one plus as many independent noises as published rows are in its subtree."""

    noise: Distribution
    threshold: int

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Counts, Counts]:
        """Return the bounds for one node chosen before seeing the result.

        The rows below it are taken to be published almost surely.
        """
        sizes, place = np.unique(subtree_sizes(rows.parents), return_inverse=True)
        widths = [sum_within(self.noise, stepped(size), 1 - confidence) for size in sizes.tolist()]
        width = np.array(widths, dtype=np.int64)[place]
        return rows.totals - width, rows.totals + width

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        noise = self.noise.two_sided(1 - confidence)
        reliable = self.threshold + self.noise.least_tail(1 - RELIABLE)
        return (
            f"With confidence {confidence:g} the true residual of a node chosen before seeing the result lies"
            f" within {noise} of its residual; a total sums the residuals of its subtree, and their noises.",
            f"Nodes whose true residual is at least {reliable} are published with probability {RELIABLE:g};"
            " closer to the threshold only upward noise is published, so published values there are too"
            " high on average, and so are totals made of many of them.",
        )


def subtree_sizes(parents: Counts) -> Counts:
    """Return how many published rows each subtree has, its own included; rows in depth-first order.

    >>> subtree_sizes(np.array([-1, 0, 1, 0])).tolist()
    [4, 2, 1, 1]
    """
    sizes = [1] * len(parents)
    for row, parent in reversed(list(enumerate(parents.tolist()))):
        if parent >= 0:
            sizes[parent] += sizes[row]
    return np.array(sizes, dtype=np.int64)


def stepped(count: int) -> int:
    """Return the next number of noises that has its own interval."""
    if count <= _FINE:
        return count
    return math.ceil(_FINE * 1.02 ** math.ceil(math.log(count / _FINE) / math.log(1.02)))


@lru_cache(maxsize=4096)
def sum_within(noise: Distribution, count: int, p: float) -> int:
    """Return a width r with P[|sum of `count` noises| > r] <= p, the smallest unless tables grow too long."""
    if count == 1:
        return noise.two_sided(p)
    widest = _chernoff(noise, count, p * _NEGLIGIBLE)
    if 2 * widest >= _LARGEST_TABLE:
        return _chernoff(noise, count, p)
    table = 1 << (2 * widest).bit_length()
    central = _wrapped(noise, count, table)
    outside = 1 - np.cumsum(np.concatenate((central[:1], 2 * central[1 : widest + 1])))
    enough = outside <= p * (1 - 1e-6) - 1e-13
    return int(np.argmax(enough)) if enough.any() else _chernoff(noise, count, p)


def _wrapped(noise: Distribution, count: int, table: int) -> Floats:
    """Return P[sum = s] for s = 0 .. table / 2, on a circle so large that what comes round is negligible."""
    angles: Floats = np.linspace(0, math.pi, table // 2 + 1)
    return np.fft.irfft(_characteristic(noise, angles) ** count, table)[: table // 2 + 1]


def _characteristic(noise: Distribution, angles: Floats) -> Floats:
    """Return E[cos(angle w)]."""
    if isinstance(noise, DiscreteLaplace):
        rate = float(noise.epsilon)
        half = math.sinh(rate / 2) ** 2
        return half / (half + np.sin(angles / 2) ** 2)
    reach = noise.two_sided(1e-18)
    z = np.arange(1, reach + 1)
    folded = np.zeros(2 * (len(angles) - 1))
    np.add.at(folded, np.concatenate((z, -z)) % len(folded), np.tile(noise.pmf(z), 2))
    folded[0] += noise.pmf(0)
    return np.asarray(np.fft.rfft(folded).real)


def _chernoff(noise: Distribution, count: int, p: float) -> int:
    """Return a width from P[|sum| > r] <= 2 E[exp(x w)]^count exp(-x r), at a good x."""
    far = math.log(2 / p)
    if isinstance(noise, DiscreteGaussian):  # E[exp(x w)] <= exp(x^2 sigma^2 / 2)
        return math.ceil(float(noise.sigma) * math.sqrt(2 * count * far))
    rate = float(noise.epsilon)
    half = math.sinh(rate / 2) ** 2
    x = rate * np.arange(1, 1000) / 1000  # E[exp(x w)] = sinh(rate/2)^2 / (sinh(rate/2)^2 - sinh(x/2)^2)
    log_moment = -np.log1p(-(np.sinh(x / 2) ** 2) / half)
    return math.ceil(float(np.min((count * log_moment + far) / x)))
