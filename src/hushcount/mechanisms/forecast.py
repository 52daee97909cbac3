"""What a mechanism will publish, from its own calibration, before any data are read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.lattice import smallest_integer
from hushcount.releases.accuracy import RELIABLE

if TYPE_CHECKING:
    from hushcount.mechanisms.base import Mechanism, Released
    from hushcount.shapes import Shape

NEGLIGIBLE = 1e-12  # what a bound on the mean leaves out
MOST_SIZES = 1 << 20  # that are looked at one by one: a small epsilon has more than memory could hold

Tail = Callable[[Counts], Floats]
"""Takes whole numbers m and returns P[Z >= m] for each."""


@dataclass(frozen=True, slots=True)
class KeyForecast:
    """How likely a count is to be published, and how far it will lie from the truth.

    A key is published where its count, or what it has above the floor of its sketch, plus noise reaches the
    threshold.

    Parameters
    ----------
    threshold : int
        What the noisy value must reach.
    deciding : callable
        The tail of the noise that decides whether a key is published.
    added : callable, optional
        The tail of the noise in a published count; None if no counts are published.
    above_floor : bool
        Whether the value is what a key has above the floor of its sketch.
    lowered : bool
        Whether published counts are lower than the truth by that floor.
    least_value : float
        Smaller values are never published.
    domain_size : int
        How many keys can be published, if they are those of a public domain; otherwise 0.
    most : int, optional
        The largest number of keys that are published, if that is known.
    every_key : bool
        Whether anybody may ask for the count of any key, so that no threshold decides.
    """

    threshold: int
    deciding: Tail
    added: Tail | None
    above_floor: bool = False
    lowered: bool = False
    least_value: float = 1
    domain_size: int = 0
    most: int | None = None
    every_key: bool = False

    def published(self, counts: Floats, floor: float) -> Floats:
        """Return the probabilities with which keys of these counts are published.

        Parameters
        ----------
        counts : array
            True counts; fractions are rounded.
        floor : float
            The floor that the sketch is expected to reach.
        """
        values = np.rint(counts - floor if self.above_floor else counts).astype(np.int64)
        return np.where(values >= self.least_value, self.deciding(self.threshold - values), 0.0)

    def smallest(self, probability: float, floor: float) -> int:
        """Return the smallest count that is published with at least this probability.

        Parameters
        ----------
        probability : float
            Below 1.
        floor : float
            The floor that the sketch is expected to reach.
        """

        def reached(count: int) -> bool:
            return float(self.published(np.array([float(count)]), floor)[0]) >= probability

        return max(smallest_integer(reached), 1)

    def error(self, confidence: float, floor: float) -> int:
        """Return a bound on the error of a published count, or raise if there are no counts.

        Parameters
        ----------
        confidence : float
            Of one count.
        floor : float
            The floor that the sketch is expected to reach.
        """
        added = self.added
        if added is None:
            raise ParameterError("Only keys are published, without counts, so no count can be wrong.")

        def holds(width: int) -> bool:
            beyond, within = added(np.array([width + 1, -width]))
            return width >= 0 and float(beyond + 1 - within) <= 1 - confidence

        return smallest_integer(holds) + (round(floor) if self.lowered else 0)

    def mean_squared_error(self, floor: float) -> float:
        """Return a bound on the mean squared error of the count of any key, 0 if it is not published.

        The statement of Lebeda and Tětek 2023, Theorem 14, from the calibration in place of its constants;
        proof: docs/proofs/intervals.md, section 5. Raise if there are no counts.

        Parameters
        ----------
        floor : float
            The floor that the sketch reaches at most.
        """
        added, lost = self.added, round(floor) if self.above_floor or self.lowered else 0
        if added is None:
            raise ParameterError("Only keys are published, without counts, so no count can be wrong.")
        reach = self.error(1 - NEGLIGIBLE, 0.0)
        step = 1 + reach // MOST_SIZES  # of several sizes, the first is exceeded, and the last counts
        sizes = np.arange(1, reach + 1, step)
        beyond = added(sizes) + 1 - added(1 - sizes)  # P[|noise| >= size]
        noisy = lost**2 + step * float(np.sum((2.0 * (sizes + step - 1 + lost) - 1) * beyond))
        values = np.arange(0.0, max(self.threshold, 1) + 2 * reach, step)
        hidden = 1 - self.published(values + (lost if self.above_floor else 0), lost)
        return noisy + float(np.max(hidden * (values + step - 1 + lost) ** 2))


def noise_words(noise: Distribution) -> str:
    """Return a distribution of noise in words.

    >>> noise_words(DiscreteGaussian(2.5))
    'discrete Gaussian of sigma 2.5'
    """
    if isinstance(noise, DiscreteGaussian):
        return f"discrete Gaussian of sigma {float(noise.exact_sigma):g}"
    return f"discrete Laplace of scale {float(1 / noise.exact_epsilon):g}"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a mechanism is expected to publish, by its calibration alone; None is not known.

    Parameters
    ----------
    smallest_count : int, optional
        The smallest count that is published with probability 0.95, above the floor of the sketch if it has
        one; None too if anybody may ask for any key.
    error : int, optional
        A bound on the error of a published count that noise causes, with confidence 0.95; None too if no
        counts are published.
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
