"""How far sums of a feed may lie from the counts. Derivations: docs/proofs/continual/gate.md, section 5.

Each side of an interval may fail with half of what is left. That is shared by the entry of a key and the
nodes after it, and if keys may retire by the lives of a key and the times at which a life may end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.mechanisms.continual.gate import Watching
from hushcount.mechanisms.continual.thresholds import overshoot, undershoot
from hushcount.mechanisms.hierarchy.totals import stepped, sum_within
from hushcount.noise.laplace import DiscreteLaplace

Bound = Callable[[Fraction, float, int], int]


@dataclass(frozen=True, slots=True)
class Summed:
    """What was added up for each key, one number for each row of a table.

    Attributes
    ----------
    nodes : Counts
        The sum of the published nodes.
    draws : Counts
        How many nodes that were.
    entries : Counts
        The sum of the entries of lives that began within the time.
    reached : Counts
        The sum of the entries of lives that began before it.
    whole, cut : Counts
        How many entries there were of either kind.
    retired : Counts
        How often the key retired within the time.
    past, past_draws : Counts
        The sum of the past nodes of lives that began before the time or entered after it, and how many they
        are.
    backed : Counts
        Of how many lives these nodes say all that is in the time. Their entries are left out of `reached`,
        though `cut` counts them.
    """

    nodes: Counts
    draws: Counts
    entries: Counts
    reached: Counts
    whole: Counts
    cut: Counts
    retired: Counts
    past: Counts
    past_draws: Counts
    backed: Counts


@dataclass(frozen=True, slots=True)
class FeedBounds:
    """Intervals of sums.

    Parameters
    ----------
    watching : Watching
        The mechanism of the feed.
    failure : float
        The probability with which one side of an interval may fail.
    ends : int
        At how many times within the time that is summed a key may retire.
    """

    watching: Watching
    failure: float
    ends: int

    def estimates(self, summed: Summed) -> Counts:
        """Return the published sums.

        The life of a key that entered within the time may have begun before it. Of its entry all but the
        threshold less one is counted: about so much belongs to the period of entry itself.
        """
        return summed.nodes + summed.past + summed.entries + self._recent(summed)

    def _recent(self, summed: Summed) -> Counts:
        """Return what is counted of entries of lives that began earlier."""
        return summed.reached - (summed.cut - summed.backed) * (self.watching.gate.tau - 1)

    def lower(self, summed: Summed) -> Counts:
        """Return the lower ends."""
        over = self._gates(summed, overshoot)
        late = self._gates(summed, _late)
        found = (
            summed.nodes
            + summed.past
            - self._widths(summed)
            + (summed.entries - summed.whole * over)
            + np.maximum(self._recent(summed) - (summed.cut - summed.backed) * late, 0)
        )
        return found.clip(min=0)

    def upper(self, summed: Summed) -> Counts:
        """Return the upper ends."""
        under = self._gates(summed, lambda epsilon, failure, periods: undershoot(epsilon, failure))
        entries = summed.entries + summed.reached + (summed.whole + summed.cut - summed.backed) * under
        return (summed.nodes + summed.past + self._widths(summed) + entries + self._unseen(summed)).clip(
            min=0
        )

    def _unseen(self, summed: Summed) -> Counts:
        """Return what keys that retired may have had since then without being published."""
        hidden = self.watching.gate.tau - 1 + self._gates(summed, lambda *rate: _late(rate[0], rate[1], 1))
        unknown = (summed.retired > 0) & (summed.retired >= summed.whole + summed.cut)
        return np.where(unknown, hidden, 0)

    def _lives(self, summed: Summed) -> Counts:
        """Return how many lives of a key lie in the time, at most."""
        entries = summed.whole + summed.cut
        lives: Counts = np.maximum(entries, summed.retired) + (entries == summed.retired)
        return lives

    def _failure(self, lives: int, gated: bool) -> float:
        """Return the failure of one part of one life: of several, life j has a share of 2^-(j + 1)."""
        shared = self.failure * (0.5 if gated else 1.0)
        return shared * 0.5 ** (lives + 1) if self.ends else shared

    def _gates(self, summed: Summed, bound: Bound) -> Counts:
        """Return a bound of the gate for each key."""
        rate, periods = self.watching.gate.epsilon, self.watching.levels.periods
        return _by(self._lives(summed), lambda lives: bound(rate, self._failure(lives, True), periods))

    def _widths(self, summed: Summed) -> Counts:
        """Return how far the nodes of each key may be off together."""
        lives = self._lives(summed)
        gated = (summed.whole + summed.cut) > 0
        coded = (summed.draws * 2 + gated) * 64 + lives.clip(max=63)
        found = _by(coded, lambda code: self._width(code // 128, code % 64, bool(code // 64 % 2)))
        backed = np.where(summed.backed > 0, summed.past_draws, 0) * 64 + lives.clip(max=63)
        return found + _by(backed, lambda code: self._past_width(code // 64, code % 64))

    def _width(self, draws: int, lives: int, gated: bool) -> int:
        """Return how far the nodes of one key may be off; several lives are bounded one by one."""
        if not draws:
            return 0
        failure = self._failure(lives, gated) / (1 + self.ends)
        noise = DiscreteLaplace(min(self.watching.levels.epsilons))
        return lives * sum_within(noise, stepped(draws), 2 * failure)

    def _past_width(self, draws: int, lives: int) -> int:
        """Return how far past nodes may be off: they take the share of the failure that the entry had."""
        past = self.watching.past
        if not draws or past is None:
            return 0
        return sum_within(DiscreteLaplace(min(past.epsilons)), stepped(draws), 2 * self._failure(lives, True))


def _late(epsilon: Fraction, failure: float, periods: int) -> int:
    """Return the least k such that the v of an entry exceeds k with at most `failure`, in so many periods."""
    each = -math.expm1(math.log1p(-failure) / periods)
    return math.ceil(-math.log(each) / float(epsilon) + 1e-9) - 1


def _by(numbers: Counts, function: Callable[[int], int]) -> Counts:
    """Apply a slow function of one number to many."""
    values, places = np.unique(numbers, return_inverse=True)
    return np.array([function(int(value)) for value in values], dtype=np.int64)[places]
