"""Intervals around noisy counts: how far a published count may lie from the truth, by public numbers only.

A key is published because its noisy value reached a threshold, so noise has raised those near it more often
than not. The lower end of a published row takes that into account (docs/proofs/intervals.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.noise import tails
from hushcount.noise.lattice import smallest_integer

if TYPE_CHECKING:
    from hushcount.noise.gaussian import Distribution

ROUNDING = 1e-9  # by which a ratio of tails may exceed its bound: far more than floats round, and no more


@dataclass(frozen=True, slots=True)
class Selection:
    """Which noisy values are published: those of at least `threshold`.

    `log_tail(m)` is log P[noise >= m], which must be concave, as it is for all noise that is used here.
    """

    log_tail: Callable[[Counts], Floats]
    threshold: int

    def lower(self, noisy: Counts, ends: Counts, failure: float, least: int = 0) -> Counts:
        """Return the lower ends of values, given that they are published; at most `ends`, at least `least`.

        An end is the smallest value with P[noisy value at least this one | published] > failure.
        """
        high = np.maximum(ends, least)
        narrow = self._likely(noisy, high - 1, failure) & (high > least)
        if not narrow.any():
            return high
        shown, above, below = noisy[narrow], high[narrow] - 1, np.full(int(narrow.sum()), least - 1)
        while (above - below > 1).any():
            middle = (above + below) // 2
            likely = self._likely(shown, middle, failure)
            above, below = np.where(likely, middle, above), np.where(likely, below, middle)
        found: Counts = high.copy()
        found[narrow] = above
        return found

    def steady(self, width: int, failure: float) -> int:
        """Return the smallest noisy value from which on a width below holds although values are selected."""

        def holds(noisy: int) -> bool:
            values = np.array([noisy])
            return noisy >= self.threshold and not self._likely(values, values - width - 1, failure)[0]

        return smallest_integer(holds)

    def _likely(self, noisy: Counts, values: Counts, failure: float) -> Mask:
        """Return whether published values of this size reach the noisy ones with more than `failure`."""
        with np.errstate(invalid="ignore"):  # a value that cannot be published is not likely either
            excess = self.log_tail(noisy - values) - self.log_tail(self.threshold - values)
        return np.asarray(excess > math.log(failure) + ROUNDING)


class KeyIntervals(ABC):
    """Intervals for one key, and for all keys that may be published at once.

    `candidates` is the largest number of keys that may be published, None if no public number tells.
    """

    candidates: int | None

    @abstractmethod
    def bounds(self, failure: float, keys: int) -> tuple[int, int | None]:
        """Return the widths below and above the count that hold for `keys` keys at once but for `failure`.

        The second is None if no public number bounds the count from above.
        """

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """Return the widths for one key chosen before seeing the result."""
        return self.bounds(1 - confidence, 1)

    def simultaneous(self, confidence: float) -> tuple[int, int | None] | None:
        """Return the widths that hold for all candidates at once, so also for those published."""
        if self.candidates is None:
            return None
        return self.bounds(1 - confidence, self.candidates)


@dataclass(frozen=True, slots=True)
class EstimateError(KeyIntervals):
    """The count is c + noise, and c - `added` <= true <= c + `left_out`; the noise of each key is its own.

    `left_out` is a public bound on what the sketch left out of a count: 0 if nothing, None if there is no
    such bound. `added` is one on what the sketch added to it. Counts of at least `threshold` are published,
    of keys with c >= `least`; None, in files of earlier versions, if that is not known.
    """

    noise: Distribution
    candidates: int | None = None
    left_out: int | None = 0
    added: int = 0
    threshold: int | None = None
    least: int | None = None

    def bounds(self, failure: float, keys: int) -> tuple[int, int | None]:
        """Return the widths below and above the count that hold for `keys` keys at once but for `failure`."""
        if self.left_out is None:
            return self.added + self._one_sided(failure, keys), None
        width = self._two_sided(failure, keys)
        return self.added + width, self.left_out + width

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts | None]:
        """Return the ends of published rows, the lower ones given that they were published."""
        below, above = self.interval(confidence)
        certain, lower = self.least or 0, counts - (below - self.added)
        if self.threshold is not None:
            chosen = Selection(self.log_tail, self.threshold)
            lower = chosen.lower(counts, lower, self._failure(confidence), certain)
        upper = None if above is None else np.maximum(counts + above, 0)
        return np.maximum(lower - self.added, 0 if self.added else certain), upper

    def full_from(self, confidence: float) -> int | None:
        """Return the smallest count from which on the lower end is that of a key chosen beforehand."""
        if self.threshold is None:
            return None
        width = self.interval(confidence)[0] - self.added
        return Selection(self.log_tail, self.threshold).steady(width, self._failure(confidence))

    def log_tail(self, m: Counts) -> Floats:
        """Return log P[noise of one count >= m]."""
        return self.noise.log_tail(m)

    def mean_squared_error(self, confidence: float) -> float | None:
        """Return a bound on the mean squared error of every key; None if nothing bounds what was left out.

        Lebeda and Tětek 2023, Theorem 14; proof: docs/proofs/intervals.md, section 5.
        """
        if self.left_out is None or self.threshold is None:
            return None
        tail, lost = self._tail, max(self.left_out, self.added)
        least = max(self.least or 0, 0)
        known = KeyForecast(self.threshold, tail, tail, above_floor=True, lowered=True, least_value=least)
        return known.mean_squared_error(lost)

    def _tail(self, m: Counts) -> Floats:
        """Return P[noise of one count >= m]."""
        return np.exp(self.log_tail(m))

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        said = interval_sentences(confidence, below, above, self.full_from(confidence))
        if above is None:
            return (
                *said,
                "count is a lower estimate; max_events would bound what the sketch left out of it.",
            )
        return (*said, self._sketch())

    def _sketch(self) -> str:
        """Say what the sketch did to the counts."""
        if self.added:
            return f"The sketch may have added up to {self.added}, max_events divided by its counters."
        if self.left_out:
            left_out = f"the sketch may have left out up to {self.left_out:,} of it"
            return f"count is a lower estimate; {left_out}, by max_events and its counters."
        return "Counts are exact up to noise."

    def _failure(self, confidence: float) -> float:
        """Return the part of the failure that the lower end has."""
        return (1 - confidence) / (1 if self.left_out is None else 2)

    def _one_sided(self, failure: float, keys: int) -> int:
        """Return a width that none of `keys` noises exceeds but for `failure`."""
        return max(self.noise.least_tail(tails.one_of(keys, failure)) - 1, 0)

    def _two_sided(self, failure: float, keys: int) -> int:
        """Return a width that none of `keys` noises exceeds in size but for `failure`."""
        return self.noise.two_sided(tails.one_of(keys, failure))


def interval_sentences(
    confidence: float, below: int, above: int | None, full_from: int | None
) -> tuple[str, ...]:
    """Say between which ends a true count lies, and what is different close to the threshold.

    `full_from` is the count from which on both widths hold for whatever was published; without it they hold
    for a key chosen before seeing the result.
    """
    ends = f"is at least count - {below}" if above is None else f"lies {between(below, above)}"
    if full_from is None:
        return (
            f"With confidence {confidence:g} the true count of a key chosen before seeing the result {ends}.",
        )
    return (
        f"With confidence {confidence:g} the true count of a published key {ends}, if count is {full_from:,}"
        " or more.",
        "A smaller count may be in the table only because noise raised it: its lower end is further down.",
    )


def between(below: int, above: int) -> str:
    """Return the ends of an interval in words."""
    return f"between count - {below} and count + {above}"
