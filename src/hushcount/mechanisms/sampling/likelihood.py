"""Which counts a published value speaks for, in closed form where sampling is gentle; for estimates only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushcount.mechanisms.sampling.gentle import Counts, GentleRows, Mask

AROUND_PEAK = range(-1, 4)  # counts above the peak at which a value can be most likely
Predicate = Callable[[Counts, Mask], Mask]


def gentle_values(rows: GentleRows, values: Counts) -> Mask:
    """The values all of whose counts are in one gentle stretch."""
    return rows.within(values - 1, values + rows.warm_up + 1)


def most_likely(rows: GentleRows, values: Counts) -> Counts:
    """The count under which each value is most probable, the smallest of several."""
    peak = rows.peak(values - 1)
    best, found = np.zeros(len(values)), values.copy()
    for ahead in AROUND_PEAK:
        counts = values - 1 + np.clip(peak + ahead, 1, rows.warm_up + 1)
        likelihood = rows.above(values - 1, counts) - rows.above(values, counts)
        better = likelihood > best * (1 + 1e-9)
        best, found = np.where(better, likelihood, best), np.where(better, counts, found)
    return found


def bounds(rows: GentleRows, values: Counts, failure: float) -> tuple[Counts, Counts]:
    """(low, high): any other count publishes so extreme a value with probability at most failure / 2."""
    every = np.ones(len(values), dtype=np.bool_)
    share = rows.scheme.probability(values) * (failure / 2)

    def reaches(steps: Counts, chosen: Mask) -> Mask:
        counts = values[chosen] - 1 + steps
        return rows.above(values[chosen] - 1, counts) >= failure / 2 * rows.scheme.probability(counts)

    def passes(steps: Counts, chosen: Mask) -> Mask:
        counts = values[chosen] + steps
        published = rows.scheme.probability(counts)
        return published - rows.above(values[chosen], counts) < failure / 2 * published

    least = _first(rows, reaches, rows.steps_to(values, share), every)
    most = _first(rows, passes, rows.steps_to(values, rows.scheme.probability(values) - share), every)
    return values - 1 + least, np.maximum(values - 1 + most, values)


def _first(rows: GentleRows, holds: Predicate, guess: Counts, every: Mask) -> Counts:
    """The first number of steps at which a property holds that is kept from there on."""
    steps, chosen = guess.copy(), every.copy()
    while chosen.any():
        here = steps[chosen]
        short = ~holds(here, chosen)
        beyond = ~short & holds(np.maximum(here - 1, 0), chosen)
        moved = np.clip(here + short.astype(np.int64) - beyond, 1, rows.warm_up + 1)
        steps[chosen] = moved
        chosen[chosen] = moved != here
    return steps
