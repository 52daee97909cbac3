"""Bounds in floating point of the integers of rows.py, each wider than its rounding error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.mechanisms.sampling.rows import SampleRows
from hushcount.mechanisms.sampling.schemes import RELATIVE_ERROR

SHORT = 16  # counts that often suffice to warm up
TIGHT = 2.0**-36  # bounds so close lead to no more open keys
WIDEN = 2.0**-48  # a step makes fewer than sixteen roundings of 2^-53, of numbers up to 1 + E


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower and upper bounds, element by element."""

    low: Floats
    high: Floats

    def where(self, chosen: Mask) -> Bounds:
        """Return the bounds of some elements."""
        return Bounds(self.low[chosen], self.high[chosen])


@dataclass(frozen=True, slots=True)
class Window:
    """Bounds of pi at some counts and at the `size` counts before each, kept in pieces of `size` counts."""

    size: int
    pieces: Counts
    low: Floats
    high: Floats

    @classmethod
    def of(cls, rows: SampleRows, counts: Counts) -> Window:
        """Return the window of some counts.

        Each piece warms up on the counts before it, on few if possible.
        """
        size = rows.warm_up
        pieces = np.unique(np.concatenate([counts // size, (counts - size) // size]))
        start = warmed_up(rows, pieces * size, min(SHORT, size))
        if (start.high - start.low > TIGHT * start.high).any():
            start = warmed_up(rows, pieces * size, size)
        low, high = np.empty((size, len(pieces))), np.empty((size, len(pieces)))
        for place in range(size):
            start = report_bounds(rows, start, sampling_bounds(rows, pieces * size + place))
            low[place], high[place] = start.low, start.high
        return cls(size, pieces, low.ravel(), high.ravel())

    def at(self, counts: Counts) -> Bounds:
        """Return the bounds at counts of the window."""
        piece, place = np.divmod(counts, self.size)
        where = place * len(self.pieces) + np.searchsorted(self.pieces, piece)
        return Bounds(self.low[where], self.high[where])


def warmed_up(rows: SampleRows, counts: Counts, steps: int) -> Bounds:
    """Return bounds of pi just before some counts, by `steps` steps from q (warm_up earlier) <= pi <= q."""
    before = counts - 1 - steps
    earlier = sampling_bounds(rows, before - rows.warm_up).low
    bounds = Bounds(earlier, sampling_bounds(rows, before).high)
    for step in range(steps):
        bounds = report_bounds(rows, bounds, sampling_bounds(rows, before + 1 + step))
    return bounds


def sampling_bounds(rows: SampleRows, counts: Counts) -> Bounds:
    """Return bounds of the integer sampling probabilities."""
    probability = rows.scheme.probability(counts)
    low = np.maximum(probability * (1 - RELATIVE_ERROR) - 2.0 ** (2 - rows.grid.width), 0.0)
    certain = rows.scheme.certain_from(rows.grid.width)
    if certain is not None:
        low = np.where(counts >= certain, 1.0, low)
    return Bounds(low, np.minimum(probability * (1 + RELATIVE_ERROR), 1.0))


def report_bounds(rows: SampleRows, before: Bounds, sampling: Bounds) -> Bounds:
    """Return bounds of Grid.report: relative widening where values are small, absolute near 1."""
    ratio, _, step = rows.grid.floats
    least = 1 - np.maximum(1 - before.low - step, 0.0) / ratio - WIDEN
    most = 1 - np.maximum(1 - before.high - step, 0.0) / ratio + WIDEN
    low = np.minimum((step + ratio * before.low) * (1 - WIDEN), least)
    high = np.minimum((step + ratio * before.high) * (1 + WIDEN), most)
    full = before.low + step >= 1 + WIDEN  # nothing is left to withhold
    low = np.where(full, 1.0, np.maximum(low, 0.0))
    return Bounds(np.minimum(sampling.low, low), np.minimum(sampling.high, high))


def back_bounds(rows: SampleRows, mass: Bounds, before: Bounds, after: Bounds) -> Bounds:
    """Return bounds of Grid.back."""
    ratio, _, step = rows.grid.floats
    margin = WIDEN * (1 + ratio)
    least, most = _rest_bounds(rows, before, after)
    rising_low = (mass.low - step) / ratio - WIDEN * (mass.low + step)
    rising_high = (mass.high - step) / ratio + WIDEN * (mass.high + step)
    falling_low = before.low - most - ratio * (after.high - mass.low) - margin
    falling_high = before.high - least - ratio * (after.low - mass.high) + margin
    return Bounds(np.maximum(rising_low, falling_low), np.maximum(rising_high, falling_high))


def entered_bounds(rows: SampleRows, before: Bounds, after: Bounds) -> Bounds:
    """Return bounds of Grid.move(0), the mass of the highest value."""
    ratio, _, step = rows.grid.floats
    margin = WIDEN * (1 + ratio)
    least, most = _rest_bounds(rows, before, after)
    low = after.low - np.maximum(before.high - least, 0.0) / ratio - margin
    high = after.high - np.maximum(before.low - most, 0.0) / ratio + margin
    return Bounds(np.maximum(np.minimum(step * (1 - WIDEN), low), 0.0), np.minimum(step * (1 + WIDEN), high))


def _rest_bounds(rows: SampleRows, before: Bounds, after: Bounds) -> tuple[Floats, Floats]:
    """Return bounds of Grid.rest."""
    ratio, _, step = rows.grid.floats
    margin = WIDEN * (1 + ratio)
    least = np.clip(step - (1 - before.low) + ratio * (1 - after.high) - margin, 0.0, step)
    most = np.clip(step - (1 - before.high) + ratio * (1 - after.low) + margin, 0.0, step)
    return least, most
