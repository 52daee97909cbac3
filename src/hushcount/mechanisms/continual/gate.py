"""The gate and the levels: a table that goes on, for keys that nobody knew before.

Everything here works on arrays of numbers. Which key has which number is the business of whoever keeps the
state of a watch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim
from hushcount.mechanisms.continual.thresholds import threshold
from hushcount.noise.bits import Bits
from hushcount.noise.geometric import Geometric
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.lattice import typed
from hushcount.privacy import Budget

# Of epsilon, the share of the gate where past nodes are published at entry; the rest is theirs.
GATE_SHARE = Fraction(3, 4)
WHOLE = Fraction(1)


class Passed(NamedTuple):
    """The waiting keys that pass in a period, by their places, and the number published of each."""

    places: Counts
    values: Counts


@dataclass(frozen=True, slots=True)
class Gate:
    """The test that unknown keys take at the end of every period.

    Parameters
    ----------
    epsilon : Fraction
        The privacy loss of the gate.
    tau : int
        The threshold of a period.
    least : int
        Keys with fewer events wait untested.
    """

    epsilon: Fraction
    tau: int
    least: int = 1

    def secrets(self, size: int, bits: Bits) -> Counts:
        """Draw z, the secret of each of `size` keys that became unknown."""
        return Geometric(self.epsilon).sample(size, bits)

    def entries(self, events: Counts, secrets: Counts, bits: Bits) -> Passed:
        """Test keys that have at least `least` events: r + v - z >= tau, with a fresh v for each of them.

        The deficit of a key is d = tau + z - r. Given that v >= d, what v has above d is geometric again, so
        v is drawn for those that pass only.
        """
        less = events - secrets
        places = Geometric(self.epsilon).reached(self.tau - less, bits)
        return Passed(places, self.values(less[places], bits))

    def passing(self, less: Counts, sizes: Counts, bits: Bits) -> list[Counts]:
        """Return which keys of groups pass, by their places in each; all of a group have the same r - z."""
        return Geometric(self.epsilon).chosen(self.tau - less, sizes, bits)

    def values(self, less: Counts, bits: Bits) -> Counts:
        """Draw what is published of keys that pass, from their r - z."""
        return np.maximum(less, self.tau) + Geometric(self.epsilon).sample(len(less), bits)


class Node(NamedTuple):
    """A node of a level that ends: the level's place, and its periods, the last of them excluded."""

    level: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Levels:
    """The public calendar in which known keys are counted.

    Parameters
    ----------
    lengths : tuple of int
        The periods of a node, for each level. Nodes follow one another from period 0 on; the last one may
        be cut by the end of the watch.
    epsilons : tuple of Fraction
        The privacy loss of each level; they add up to that of the watch.
    periods : int
        The number of all periods.
    """

    lengths: tuple[int, ...]
    epsilons: tuple[Fraction, ...]
    periods: int

    def ending(self, period: int) -> Iterator[Node]:
        """Return the nodes that end with a period."""
        for level, length in enumerate(self.lengths):
            if (period + 1) % length == 0 or period + 1 == self.periods:
                yield Node(level, period - period % length, period + 1)

    def noisy(self, level: int, counts: Counts, bits: Bits) -> Counts:
        """Return the counts of a node with its noise, zeros too."""
        return counts + DiscreteLaplace(self.epsilons[level]).sample(len(counts), bits)


def claim_for(protected: str) -> Claim:
    """Return the claim of a watch, for what is protected in words."""
    return Claim(
        "the feed of a watch",
        "A key is published once its count with noise reaches a threshold, and is then counted in the nodes"
        f" of a public calendar: all periods together are (epsilon, delta)-DP for {protected}.",
        "docs/proofs/continual/gate.md" if protected == "one event" else "docs/proofs/continual/users.md",
        ("every period is closed once, in order", "the times of closing do not depend on the data"),
    )


# What is explained and audited under the name of a mechanism, with the keys of a user.
WATCHES = {"gate": 1, "gate-users": 2}


class Watching:
    """A whole watch, calibrated: the gate, the levels, and what is published of the past at entry.

    Theorem: all that a watch publishes is (epsilon, delta)-DP together.
    Neighbours: one event more; the events after it may depend on what was published.
    Assumes: every period is closed once, in order, at times that no data change; what retires a key is a
        function of published numbers.
    Parameters: one secret z ~ Geom(epsilon) of each unknown key and a fresh v in each period; an entry
        r + v - z from tau on; then discrete Laplace noise of epsilon_l on the nodes of each level.
    Proof: docs/proofs/continual/gate.md. Checked by: tests/privacy/test_continual.py
    """

    def __init__(
        self,
        budget: Budget,
        periods: int,
        lengths: tuple[int, ...] = (1,),
        least: int = 1,
        backfill: bool = False,
    ) -> None:
        if periods < 1 or least < 1 or not lengths or min(lengths) < 1 or len(set(lengths)) < len(lengths):
            raise ParameterError("a watch needs periods, least and levels of at least 1, no level twice.")
        if budget.rho is not None or budget.delta <= 0:
            raise ParameterError("a watch needs an epsilon and a delta above 0: its keys are not known.")
        whole, count = typed(budget.epsilon), len(lengths)
        rate = whole * (GATE_SHARE if backfill else WHOLE)
        self.budget, self.backfill = budget, backfill
        self.gate = Gate(rate, threshold(rate, budget.delta, periods, least), least)
        self.levels = Levels(lengths, (whole / count,) * count, periods)
        # Past nodes of all levels share what the gate leaves.
        self.past = Levels(lengths, ((whole - rate) / count,) * count, periods) if backfill else None

    @property
    def reliable(self) -> int:
        """The least count that is published with 95% if all its events are in one period."""
        return self.gate.tau + DiscreteLaplace(self.gate.epsilon).least_tail(0.05) - 1
