"""What holds for all nodes of a tree at once, whatever is published: its error, and what cannot be missing.

Two things can go wrong, and each may happen with half of the failure probability that is allowed. First, a
node whose value is at least threshold + `margin` is not published, because its noise is below -margin.
Second, a node is published with noise above `error`. Both bounds count all nodes, whichever are published, so
they also hold for rows near the threshold. Proofs: docs/proofs/hierarchy/together.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hushcount.noise.gaussian import Distribution
from hushcount.noise.lattice import smallest_integer

# Without a public bound on the number of events, what is said here holds for at most this many.
MOST_EVENTS = 10**12
NEGLIGIBLE = 1e-200  # a probability that stays negligible when it is multiplied by any number of nodes


@dataclass(frozen=True, slots=True)
class Together:
    """With the probability asked for, published values are within `error` of the truth, all of them.

    And every node whose true value is at least threshold + `margin` is published.
    """

    error: int
    margin: int


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The nodes that are compared with a public threshold: each of `events` events is in one at each level.

    `stopping` says that a published node takes its events away from its ancestors. `nodes` is the number of
    nodes that exist, if it is known.
    """

    noise: Distribution
    threshold: int
    levels: int
    events: int
    stopping: bool
    nodes: int | None = None

    def heavy(self, margin: int) -> int:
        """Return how many nodes can have at least threshold + margin, up to the first that is missing."""
        most = self.events // (self.threshold + margin) * (1 if self.stopping else self.levels)
        return most if self.nodes is None else min(most, self.nodes)

    def upward(self, error: int) -> float:
        """Return a bound on the probability that a node is published with noise above `error`."""
        most = self.levels * self.events * largest_share(self.noise, self.threshold, error)
        return most if self.nodes is None else min(most, self.nodes * float(self.noise.tail(error + 1)))


@lru_cache(maxsize=256)
def together(tests: Comparisons, confidence: float) -> Together:
    """Return the smallest margin and error that hold for all nodes at once."""
    half = (1 - confidence) / 2
    noise = tests.noise
    margin = _smallest(lambda m: tests.heavy(m) * float(noise.tail(m + 1)) <= half)
    return Together(max(_smallest(lambda error: tests.upward(error) <= half), margin), margin)


def _smallest(holds: Callable[[int], bool]) -> int:
    """Return the smallest whole number, 0 or more, for which `holds` is true."""
    return smallest_integer(lambda number: number >= 0 and holds(number))


def largest_share(noise: Distribution, threshold: int, error: int) -> float:
    """Return the largest P[w > error and R + w >= threshold] / R over all values R >= 1 of a node."""
    first = error + 1
    share = float(noise.tail(first)) / max(threshold - first, 1)
    if threshold - first <= 1 or share < NEGLIGIBLE:
        return share
    # A smaller R needs more noise, threshold - R; from some noise on that is too rare to matter.
    needed = np.arange(first + 1, min(threshold, noise.least_tail(share) + 1))
    return float(np.max(noise.tail(needed) / (threshold - needed), initial=share))
