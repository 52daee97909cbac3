"""Releases with delta = 0 over a public domain: noise on every key of it, without looking at each."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hushcount.compiled.arrays import Counts, Words
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim, calibrate, check_calibrated, check_shape, needed
from hushcount.noise import tails
from hushcount.noise.extremes import all_draws, largest_draws, uniforms, wanted_above
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.secure import below
from hushcount.shapes import FloorCounters, Public, Shape

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.keys.domains import Domain, Places
    from hushcount.noise.bits import Bits

PROOF = "docs/proofs/histograms/pure.md"
WAY_OUT = "release one SpaceSaving or MisraGries stream"


@dataclass(frozen=True, slots=True)
class PureRelease:
    """The largest noisy counts of a domain, after the reduction of Lebeda and Tětek 2023, Algorithm 3, in
    units of 1/(k+1).

    Theorem: epsilon-DP (delta = 0).
    Neighbours: add or remove one event.
    Assumes: unit updates in stream order; ties as for the floor release; the domain is public.
    Parameters: y = max((k+1) h - sum of all h, 0) for heights h of k candidates, 0 for every other key of the
        domain; DLap(epsilon / (2k - 1)) on each y; the k largest are published, divided by k + 1.
    Proof: docs/proofs/histograms/pure.md. Checked by: tests/privacy/test_pure.py
    """

    budget: Budget
    public: Public
    law: DiscreteLaplace = field(init=False)

    name: ClassVar[str] = "pure"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "space-saving"
    way_out: ClassVar[str] = WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "pure release over a public domain",
        "Reduced counters (Lebeda and Tětek 2023, Algorithm 3) with noise on every key of the "
        "domain are epsilon-DP.",
        PROOF,
        ("unit updates in stream order", "the domain of keys is public"),
    )

    def __post_init__(self) -> None:
        _domain(self)
        size = needed(self.name, "candidates", self.public.candidates)
        calibrate(
            self, law=DiscreteLaplace.shared(self.budget.epsilon, 2 * size - 1, f"units of {size} counters")
        )

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish the largest noisy counts, rounded to whole ones, that are at least 1."""
        check_shape(self, shape)
        size = needed(self.name, "candidates", self.public.candidates)
        check_calibrated("candidates", shape.candidates, size)
        return _publish(self, shape, reduced(shape), size + 1, bits)


@dataclass(frozen=True, slots=True)
class BoundedPureRelease:
    """The largest noisy counts of a domain above the largest floor a public length allows.

    Theorem: epsilon-DP (delta = 0) for streams of at most max_events events.
    Neighbours: add or remove one event.
    Assumes: as `pure`, and a public bound max_events on the length.
    Parameters: y = max(count - max_events // (k + 1), 0) for k candidates, 0 for every other key of the
        domain; DLap(epsilon) on each y; the k largest are published.
    Proof: docs/proofs/histograms/pure.md. Checked by: tests/privacy/test_pure.py
    """

    budget: Budget
    public: Public
    law: DiscreteLaplace = field(init=False)

    name: ClassVar[str] = "pure-bounded"
    accepts: ClassVar[tuple[type[Shape], ...]] = (FloorCounters,)
    sketch: ClassVar[str] = "space-saving"
    way_out: ClassVar[str] = WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "pure release over a public domain, with a public length bound",
        "Counters above a public floor with noise on every key of the domain are epsilon-DP.",
        PROOF,
        (*PureRelease.claim.assumptions, "the stream holds at most max_events events"),
    )

    def __post_init__(self) -> None:
        _domain(self)
        needed(self.name, "max_events", self.public.max_events)
        needed(self.name, "parts", self.public.parts)
        calibrate(self, law=DiscreteLaplace(self.budget.epsilon))

    def release(self, shape: FloorCounters, bits: Bits) -> Release:
        """Publish the largest noisy counts that are at least 1."""
        check_shape(self, shape)
        check_calibrated("parts", shape.parts, needed(self.name, "parts", self.public.parts))
        floor = needed(self.name, "max_events", self.public.largest_floor)
        return _publish(self, shape, np.maximum(shape.counts - floor, 0), 1, bits)


def reduced(shape: FloorCounters) -> Counts:
    """Return max((k + 1) h - sum of all h, 0) for the heights h of k candidates."""
    heights = shape.counts - shape.floor
    reduced: Counts = np.maximum((shape.candidates + 1) * heights - heights.sum(), 0)
    return reduced


def _publish(
    mechanism: PureRelease | BoundedPureRelease, shape: FloorCounters, y: Counts, units: int, bits: Bits
) -> Release:
    """Return the release of the largest noisy counts; y is in units of 1 / `units`."""
    domain = _domain(mechanism)
    places, noisy = largest(domain, (shape.keys, y), mechanism.law.exact_epsilon, shape.candidates, bits)
    counts = (2 * noisy + units) // (2 * units)  # to the nearest whole count
    kept = counts >= 1
    parameters: dict[str, int | float | str] = {"domain_size": domain.size, "candidates": shape.candidates}
    if mechanism.public.max_events is not None:
        parameters["max_events"] = mechanism.public.max_events
    guarantee = mechanism.claim.guarantee(mechanism.budget, shape.unit, parameters)
    error = PureError(mechanism.law, units, domain, mechanism.public.largest_floor)
    return Release.of(domain.keys(places[kept]), counts[kept], guarantee, error)


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
    return _others(size, seen, len(values), bits), values, tags


def _others(size: int, seen: Places, count: int, bits: Bits) -> Places:
    """`count` different places that are not seen: every list of them is equally likely."""
    found = seen
    while len(found) < len(seen) + count:
        more = np.concatenate((found, uniforms(size, len(seen) + count - len(found), bits)))
        _, first = np.unique(more, return_index=True)
        found = more[np.sort(first)]
    return found[len(seen) :]


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


def _domain(mechanism: PureRelease | BoundedPureRelease) -> Domain:
    """Return the public domain, or raise if there is none."""
    if mechanism.public.domain is None:
        raise ParameterError(f"{mechanism.name} needs domain, a public list of keys, got None.")
    return mechanism.public.domain


@dataclass(frozen=True, slots=True)
class PureError:
    """The count is y / units + noise, rounded, and y / units <= true <= y / units + left out.

    For keys of the domain: nothing is said about others.
    """

    law: DiscreteLaplace
    units: int
    domain: Domain
    left_out: int | None

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """Return the widths for one key chosen before seeing the result.

        No upper end without a public length.
        """
        return self._bounds(1 - confidence)

    def simultaneous(self, confidence: float) -> tuple[int, int | None]:
        """Return the widths that hold for all keys of the domain at once."""
        return self._bounds(tails.one_of(self.domain.size, 1 - confidence))

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below_count, above = self.interval(confidence)
        named = (
            f"With confidence {confidence:g} the true count of a key of the domain, chosen before seeing the"
            " result,"
        )
        last = "A large domain always shows some keys that never occurred: compare counts with the bounds."
        if above is None:
            unknown = "count is a lower estimate; max_events would bound what the sketch left out of it."
            return (f"{named} is at least count - {below_count}.", unknown, last)
        left_out = f"the sketch may have left out up to {self.left_out:,} of it"
        known = f"{named} lies between count - {below_count} and count + {above}."
        return (known, f"count is a lower estimate; {left_out}, by max_events and its counters.", last)

    def _bounds(self, failure: float) -> tuple[int, int | None]:
        """Return the widths below and above the count that hold but for `failure`."""
        rounding = 1 if self.units > 1 else 0
        if self.left_out is None:
            noise = max(self.law.least_tail(failure) - 1, 0)
            return -(-noise // self.units) + rounding, None
        noise = -(-self.law.two_sided(failure) // self.units) + rounding
        return noise, self.left_out + noise + rounding
