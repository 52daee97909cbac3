"""Releases with delta = 0 over a public domain: noise on every key of it, without looking at each."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Words
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import UNIT_UPDATES, Claim, Mechanism, ShapeT
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.mechanisms.intervals import EstimateError, between
from hushcount.noise.bits import Bits
from hushcount.noise.extremes import all_draws, largest_draws, other_places, wanted_above
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.secure import below
from hushcount.shapes import FloorCounters, Public

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.keys.domains import Domain, Places


class OverDomain(Mechanism[ShapeT, Release]):
    """A mechanism that publishes the largest noisy counts of a public domain.

    Counts are drawn in units of 1 / `units`.
    """

    sketch = "space-saving"
    noise: DiscreteLaplace
    units: int

    def __init__(self, budget: Budget, public: Public) -> None:
        if public.domain is None:
            raise ParameterError(f"{self.name} needs domain, a public list of keys, got None.")
        self.domain = public.domain
        super().__init__(budget, public)

    @abstractmethod
    def lower_estimates(self, shape: ShapeT) -> tuple[pa.Array, Counts]:
        """Return keys, and what is left of their counts before the noise, at least 0."""

    @abstractmethod
    def sizes(self, shape: ShapeT) -> dict[str, int]:
        """Return the public sizes of a summary that the guarantee names: `candidates` are published."""

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise, in units of 1 / `units` of a count, and the public numbers."""
        sizes = {"candidates": self.public.candidates, "max_events": self.public.max_events}
        return {
            "noise": noise_words(self.noise),
            "units": self.units,
            "domain_size": self.domain.size,
            **sizes,
        }

    @property
    def public_floor(self) -> int:
        """What is taken from every count before the noise, a public number."""
        return 0

    def forecast(self) -> KeyForecast:
        """Return which counts will be among the largest of the domain, most of which is noise alone."""
        units, taken = self.units, self.public_floor
        most = self.public.candidates or self.needed("parts")
        cut, share = self._cut(most)

        def deciding(m: Counts) -> Floats:
            above = cut - units * np.maximum(-m - taken, 0)
            sure = self.noise.tail(above)
            return np.asarray(sure + share * (self.noise.tail(above - 1) - sure))

        def added(m: Counts) -> Floats:
            return self.noise.tail(units * (m + taken) - units // 2)

        by_length, size = self.public_floor == 0, self.domain.size
        # Keys of the domain that never occurred are published by noise, so no value is too small.
        return KeyForecast(0, deciding, added, by_length, by_length, -math.inf, size, most)

    def _cut(self, most: int) -> tuple[int, float]:
        """Return the noisy value that is published, and the share of those just below it, if all is noise."""
        rounded = -(-self.units // 2)  # at least 1 is left, rounded
        wanted = most / self.domain.size
        if wanted >= self.noise.tail(rounded):
            return rounded, 0.0
        cut = self.noise.least_tail(wanted)
        sure, more = float(self.noise.tail(cut)), float(self.noise.tail(cut - 1))
        return cut, (wanted - sure) / (more - sure)

    def draw(self, shape: ShapeT, bits: Bits) -> Release:
        """Publish the largest noisy counts, rounded to whole ones, that are at least 1."""
        counted, sizes = self.lower_estimates(shape), self.sizes(shape)
        rows = sizes["candidates"]
        places, noisy = largest(self.domain, counted, self.noise.exact_epsilon, rows, bits)
        counts = (2 * noisy + self.units) // (2 * self.units)  # to the nearest whole count
        kept = counts >= 1
        size, longest = self.domain.size, self.public.max_events
        left_out = self.public.largest_floor
        error = PureError(self.noise, size, left_out, units=self.units, domain=self.domain)
        unit = shape.public().unit
        guarantee = self.guarantee(unit, domain_size=size, **sizes, max_events=longest)
        return Release.of(self.domain.keys(places[kept]), counts[kept], guarantee, error)


class _OneStream(OverDomain[FloorCounters]):
    """A mechanism that publishes the largest noisy counts of one stream."""

    accepts = (FloorCounters,)
    way_out = "release one SpaceSaving or MisraGries stream"

    def sizes(self, shape: FloorCounters) -> dict[str, int]:
        """Return the size of the sketch."""
        return {"candidates": shape.candidates}


class PureRelease(_OneStream):
    """The largest noisy counts of a domain, after the reduction of Lebeda and Tětek 2023, Algorithm 3, in
    units of 1/(k+1).

    Theorem: epsilon-DP (delta = 0).
    Neighbours: add or remove one event.
    Assumes: every event counts 1, in the order of the stream; keys are evicted as for the floor release; the
        domain is public.
    Parameters: y = max((k+1) h - sum of all h, 0) for heights h of k candidates, 0 for every other key of the
        domain; DLap(epsilon / (2k - 1)) on each y; the k largest are published, divided by k + 1.
    Proof: docs/proofs/histograms/pure.md. Checked by: tests/privacy/test_pure.py
    """

    name = "pure"
    needs = ("candidates",)
    claim = Claim(
        "pure release over a public domain",
        "Reduced counters (Lebeda and Tětek 2023, Algorithm 3) with noise on every key of the "
        "domain are epsilon-DP.",
        "docs/proofs/histograms/pure.md",
        (UNIT_UPDATES, "the domain of keys is public"),
    )

    def calibrate(self) -> None:
        """Set the noise of each reduced count, and the unit in which these are whole numbers."""
        self.noise, self.units = reduced_noise(self.budget, self.needed("candidates"))

    def lower_estimates(self, shape: FloorCounters) -> tuple[pa.Array, Counts]:
        """Return the reduced counts."""
        return shape.keys, reduced(shape)


class BoundedPureRelease(_OneStream):
    """The largest noisy counts of a domain above the largest floor a public length allows.

    Theorem: epsilon-DP (delta = 0) for streams of at most max_events events.
    Neighbours: add or remove one event.
    Assumes: as `pure`, and a public bound max_events on the length.
    Parameters: y = max(count - max_events // (k + 1), 0) for k candidates, 0 for every other key of the
        domain; DLap(epsilon) on each y; the k largest are published.
    Proof: docs/proofs/histograms/pure.md. Checked by: tests/privacy/test_pure.py
    """

    name = "pure-bounded"
    needs = ("max_events", "parts")
    claim = Claim(
        "pure release over a public domain, with a public length bound",
        "Counters above a public floor with noise on every key of the domain are epsilon-DP.",
        "docs/proofs/histograms/pure.md",
        (*PureRelease.claim.assumptions, "the stream holds at most max_events events"),
    )

    def calibrate(self) -> None:
        """Set the noise of each count; counts are whole already."""
        self.noise, self.units = DiscreteLaplace(self.budget.epsilon), 1

    @property
    def public_floor(self) -> int:
        """The largest floor that the public length allows."""
        return self.needed("largest_floor")

    def lower_estimates(self, shape: FloorCounters) -> tuple[pa.Array, Counts]:
        """Return what the counts have above the largest floor."""
        return shape.keys, np.maximum(shape.counts - self.public_floor, 0)


def reduced_noise(budget: Budget, candidates: int) -> tuple[DiscreteLaplace, int]:
    """Return the noise of the reduced counts of k candidates, and k + 1: they are in units of 1 / (k + 1)."""
    words = f"units of {candidates} counters"
    return DiscreteLaplace.shared(budget.epsilon, 2 * candidates - 1, words), candidates + 1


def reduced(shape: FloorCounters) -> Counts:
    """Return max((k + 1) h - sum of all h, 0) for the heights h of k candidates."""
    heights = shape.counts - shape.floor
    reduced: Counts = np.maximum((shape.candidates + 1) * heights - heights.sum(), 0)
    return reduced


def largest(
    domain: Domain, counted: tuple[pa.Array, Counts], epsilon: Fraction, rows: int, bits: Bits
) -> tuple[Places, Counts]:
    """Return the `rows` largest of y + DLap(epsilon) over the whole domain, ties in random order.

    `counted` are the keys with their y; all others have y = 0. Keys outside the domain are left out.
    """
    keys, y = counted
    places, inside = domain.places(keys) if len(keys) else (np.zeros(0, np.uint64), np.zeros(0, np.bool_))
    seen, y = places[y[inside] >= 1], y[inside][y[inside] >= 1]
    values, tags = all_draws(len(seen), epsilon, bits)
    unseen, more, more_tags = _unseen(domain.size, seen, epsilon, rows, bits)
    everything = np.concatenate((seen, unseen))
    noisy = np.concatenate((y + values, more))
    order = _first(noisy, np.concatenate((tags, more_tags)), rows, bits)
    return everything[order], noisy[order]


def _unseen(
    size: int, seen: Places, epsilon: Fraction, rows: int, bits: Bits
) -> tuple[Places, Counts, Words]:
    """Return places and noise of unseen keys: all of them, or those of the largest noise."""
    count = size - len(seen)
    if count < 2 * wanted_above(rows):
        every = np.setdiff1d(np.arange(size, dtype=np.uint64), seen)
        return (every, *all_draws(count, epsilon, bits))
    values, tags = largest_draws(count, epsilon, rows, bits)
    return other_places(size, seen, len(values), bits), values, tags


def _first(values: Counts, tags: Words, rows: int, bits: Bits) -> Counts:
    """Return the order of the `rows` largest (value, tag) pairs; equal pairs come in random order."""
    order = np.lexsort((tags, values))[::-1]
    same = (np.diff(values[order]) == 0) & (np.diff(tags[order]) == 0)
    for index in np.flatnonzero(same).tolist():  # 64 equal bits: almost never
        run = index
        while run > 0 and same[run - 1]:
            run -= 1
        other = run + below(index + 2 - run, bits)
        order[index + 1], order[other] = order[other], order[index + 1]
    first: Counts = order[:rows]
    return first


@dataclass(frozen=True, slots=True)
class PureError(EstimateError):
    """The count is y / `units` + noise, rounded, and y / units <= true <= y / units + `left_out`.

    For keys of the `domain`, of which there are `candidates`: nothing is said about others.
    """

    units: int = 1
    domain: Domain | None = None

    def bounds(self, failure: float, keys: int) -> tuple[int, int | None]:
        """Return the widths below and above the count that hold for `keys` keys at once but for `failure`."""
        rounding = 1 if self.units > 1 else 0
        if self.left_out is None:
            return -(-self._one_sided(failure, keys) // self.units) + rounding, None
        width = -(-self._two_sided(failure, keys) // self.units) + rounding
        return width, self.left_out + width + rounding

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts | None]:
        """Return ends that hold for every key of the domain at once, so also for those that noise chose."""
        below, above = self.bounds(1 - confidence, self.candidates or 1)
        return np.maximum(counts - below, 0), None if above is None else counts + above

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of, and that they are for keys of the domain."""
        below, above = self.bounds(1 - confidence, self.candidates or 1)
        ends = f"are at least count - {below}" if above is None else f"lie {between(below, above)}"
        more = "max_events would bound what the sketch left out of it."
        return (
            f"With confidence {confidence:g} the true counts of all published keys at once {ends}.",
            f"count is a lower estimate; {more}" if above is None else self._sketch(),
            "A large domain always shows some keys that never occurred: the lower end of such a key is 0.",
        )
