"""The error of a local release: intervals of counts, and the count from which an item is found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, Protocol

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.ldp.wire.response import ResponseDistribution
from hushcount.releases.accuracy import RELIABLE

NEAR_THRESHOLD = (
    "Counts just above the threshold are biased upward: of the items near it, those are published whose noise"
    " was upward."
)


class Step(NamedTuple):
    """One comparison that a search makes of an item: its estimate from `asked` reports with a cut."""

    asked: float
    cut: float


class ErrorOfCounts(Protocol):
    """The distribution of an estimate's error, as a function of the count alone."""

    @property
    def response(self) -> ResponseDistribution:
        """The distribution of a client's response."""
        ...

    @property
    def users(self) -> int:
        """The number of users whose reports were counted."""
        ...

    def deviation(self, counts: Floats) -> Floats:
        """Return the standard deviation of the estimate of each count."""
        ...

    def sentences(self) -> tuple[str, ...]:
        """Say what the standard deviation is made of."""
        ...


@dataclass(frozen=True, slots=True)
class LocalError:
    """Normal estimates of counts, with a standard deviation that depends on the count alone.

    `asked` and `cuts` are the comparisons that an item passes before it is published, if they are known.
    """

    error: ErrorOfCounts
    largest: float  # published count
    rows: int
    asked: tuple[float, ...] | None = None
    cuts: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        asked, cuts = self.asked or (), self.cuts or ()
        known = all(0 < reports <= self.error.users for reports in asked) and all(map(math.isfinite, cuts))
        if not known or len(asked) != len(cuts):
            raise ValueError("asked")

    def columns(self, counts: Counts, confidence: float) -> Mapping[str, Counts]:
        """Return the columns of a table: counts with intervals of their own, clipped at 0."""
        half = _half(confidence) * self.error.deviation(np.asarray(counts, np.float64))
        lower = np.maximum(np.floor(counts - half), 0).astype(np.int64)
        upper = np.maximum(np.ceil(counts + half), 0).astype(np.int64)
        return {"count": np.asarray(counts, np.int64), "lower": lower, "upper": upper}

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return how far below and above an estimate the count of one item, chosen beforehand, may lie."""
        error = math.ceil(_half(confidence) * self._widest())
        return error, error

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the same for all published items at once."""
        return self.interval(1 - (1 - confidence) / max(self.rows, 1))

    def found_from(self, probability: float) -> int | None:
        """Return the count from which on an item is found with this probability; None if none is known.

        Each of k comparisons fails with probability (1 - probability) / k at most, so all succeed but for
        1 - probability. In the last one, of the final estimate, other items in the same cells add to the
        noise. With a standard deviation whose square is linear in the count, an item that passes a
        comparison so surely does so with any larger count.
        """
        if not self.asked or not self.cuts:
            return None
        users = self.error.users
        low, high = math.floor(max(0.0, *self.cuts)), users
        if low >= high or not self._passes(high, probability):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._passes(middle, probability) else (middle, high)
        return high

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the intervals hold, where the error comes from, and which items would have been found."""
        probability = max(confidence, RELIABLE)
        least = self.found_from(probability)
        found = f"An item that at least {least:,} users hold would have been found" if least else ""
        return (
            f"With confidence {confidence:g} the true count of an item chosen before seeing the result"
            " lies between lower and upper (normal approximation).",
            *self.error.sentences(),
            NEAR_THRESHOLD,
            *([f"{found} with probability {probability:g} or more (normal approximation)."] if found else []),
        )

    def _passes(self, count: int, probability: float) -> bool:
        """Return whether an item of this count passes each comparison with its part of the probability."""
        assert self.asked is not None
        assert self.cuts is not None
        z = -NormalDist().inv_cdf((1 - probability) / len(self.cuts))
        users, response = self.error.users, self.error.response
        final = float(self.error.deviation(np.array([float(count)]))[0])
        noise = [math.sqrt(response.variance(float(count), users, asked)) for asked in self.asked[:-1]]
        return all(
            count - z * deviation >= cut for deviation, cut in zip([*noise, final], self.cuts, strict=True)
        )

    def _widest(self) -> float:
        """Return the largest standard deviation of counts from 0 to the largest published."""
        ends: Floats = np.array([0.0, self.largest])
        return float(self.error.deviation(ends).max())


def _half(confidence: float) -> float:
    """Return the normal quantile of a two-sided interval."""
    return -NormalDist().inv_cdf((1 - confidence) / 2)
