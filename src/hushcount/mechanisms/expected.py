"""What a calibrated mechanism is expected to publish, in numbers and in words, before any data are read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.releases.accuracy import RELIABLE

if TYPE_CHECKING:
    from hushcount.mechanisms.base import Mechanism, Released
    from hushcount.shapes import Shape


@dataclass(frozen=True, slots=True)
class Expected:
    """What a mechanism is expected to publish, by its calibration alone; None is not known.

    Parameters
    ----------
    smallest_count : int, optional
        The smallest count that is published with probability 0.95, above the floor of the sketch if it has
        one; None too if anybody may ask for any key.
    error : int, optional
        What a published count is at most away from the truth because of noise, with confidence 0.95; None too
        if no counts are published.
    above_floor : bool
        Whether the counts of the sketch have a floor, which only the data tell.
    """

    smallest_count: int | None = None
    error: int | None = None
    above_floor: bool = False

    @classmethod
    def of(cls, mechanism: Mechanism[Shape, Released]) -> Expected:
        """Return what a calibrated mechanism is expected to publish."""
        with suppress(ParameterError):
            known = mechanism.forecast()
            smallest = None if known.every_key else known.smallest(RELIABLE, 0.0)
            error = None if known.added is None else known.error(RELIABLE, 0.0)
            return cls(smallest, error, known.above_floor)
        return cls()

    def words(self, noun: str) -> str:
        """Say what is expected, where counts are numbers of `noun`."""
        if self.smallest_count is None and self.error is None:
            return "not known before data are read"
        return " ".join((self._which(noun), self._how_exact()))

    def _which(self, noun: str) -> str:
        """Say which keys are published."""
        if self.smallest_count is None:
            return "Any key can be looked up."
        above = ", counted above the floor of its sketch," if self.above_floor else ""
        smallest = f"{self.smallest_count:,} {noun}{above}"
        return f"A key or node of {smallest} is published with probability {RELIABLE:g}."

    def _how_exact(self) -> str:
        """Say how far published counts will lie from the truth."""
        if self.error is None:
            return "Counts are not published."
        return f"Noise changes a published count by at most {self.error:,} with confidence {RELIABLE:g}."
