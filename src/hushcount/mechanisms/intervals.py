"""Intervals around noisy counts: how far a published count may lie from the truth, by public numbers only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.noise import tails

if TYPE_CHECKING:
    from hushcount.noise.gaussian import Distribution


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
    such bound. `added` is one on what the sketch added to it.
    """

    noise: Distribution
    candidates: int | None = None
    left_out: int | None = 0
    added: int = 0

    def bounds(self, failure: float, keys: int) -> tuple[int, int | None]:
        """Return the widths below and above the count that hold for `keys` keys at once but for `failure`."""
        if self.left_out is None:
            return self.added + self._one_sided(failure, keys), None
        width = self._two_sided(failure, keys)
        return self.added + width, self.left_out + width

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        if above is None:
            return (
                f"With confidence {confidence:g} the true count of a key chosen before seeing the result is"
                f" at least count - {below}.",
                "count is a lower estimate; max_events would bound what the sketch left out of it.",
            )
        return lies_between(confidence, below, above), self._sketch()

    def _sketch(self) -> str:
        """Say what the sketch did to the counts."""
        if self.added:
            return f"The sketch may have added up to {self.added}, max_events divided by its counters."
        if self.left_out:
            left_out = f"the sketch may have left out up to {self.left_out:,} of it"
            return f"count is a lower estimate; {left_out}, by max_events and its counters."
        return "Counts are exact up to noise."

    def _one_sided(self, failure: float, keys: int) -> int:
        """Return a width that none of `keys` noises exceeds but for `failure`."""
        return max(self.noise.least_tail(tails.one_of(keys, failure)) - 1, 0)

    def _two_sided(self, failure: float, keys: int) -> int:
        """Return a width that none of `keys` noises exceeds in size but for `failure`."""
        return self.noise.two_sided(tails.one_of(keys, failure))


def lies_between(confidence: float, below: int, above: int | None) -> str:
    """Return the sentence of an interval that has both ends."""
    return (
        f"With confidence {confidence:g} the true count of a key chosen before seeing the result lies between"
        f" count - {below} and count + {above}."
    )
