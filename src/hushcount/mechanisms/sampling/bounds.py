"""Bounds in floating point of the integers of rows.py, each wider than its rounding error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.compiled.late import late
from hushcount.mechanisms.sampling.rows import SampleRows
from hushcount.mechanisms.sampling.schemes import RELATIVE_ERROR

kernels = late("hushcount.mechanisms.sampling._kernels.walks")

SHORT = 16  # counts that often suffice to warm up
TIGHT = 2.0**-36  # bounds so close lead to no more open keys
WIDEN = 2.0**-48  # a step makes fewer than sixteen roundings of 2^-53, of numbers up to 1 + E


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower and upper bounds, element by element."""

    low: Floats
    high: Floats

    def where(self, chosen: Mask | Counts) -> Bounds:
        """Return the bounds of some elements."""
        return Bounds(self.low[chosen], self.high[chosen])


@dataclass(frozen=True, slots=True)
class Window:
    """Bounds of pi at some counts and at the `size` counts before each, kept in pieces of `size` counts.

    Pieces lie one after the other in the order of their counts. So the count below one of the given counts,
    and each of the `size` below it, is one place further down.
    """

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
        low, high = _reported(rows, start, pieces * size, size)
        return cls(size, pieces, low.ravel(), high.ravel())

    def places(self, counts: Counts) -> Counts:
        """Return where counts of the window stand in it."""
        piece, place = np.divmod(counts, self.size)
        found: Counts = place + self.size * np.searchsorted(self.pieces, piece)
        return found

    def at(self, counts: Counts) -> Bounds:
        """Return the bounds at counts of the window."""
        where = self.places(counts)
        return Bounds(self.low[where], self.high[where])

    def back(self, rows: SampleRows, counts: Counts, mass: Bounds) -> tuple[Mask, Counts, Bounds]:
        """Follow masses down from some counts by Grid.back.

        Return which walks end for certain, the counts at which they do, and the masses there.
        """
        ratio, _, step = rows.grid.floats
        after, before = Bounds(self.low[1:], self.high[1:]), Bounds(self.low[:-1], self.high[:-1])
        least, most = _rest_bounds(rows, before, after)
        margin, inverse = WIDEN * (1 + ratio), 1 / ratio
        low, high = np.zeros((2, len(self.low)))  # the second curve at mass 0; the first place is never left
        low[1:] = before.low - most - ratio * after.high - margin
        high[1:] = before.high - least - ratio * after.low + margin
        order = np.argsort(counts, kind="stable")
        places, there = self.places(counts[order]), mass.where(order)
        numbers = (inverse - WIDEN, step * (inverse + WIDEN), ratio)
        fewer = kernels.walk_back(places, there.low, low, numbers, self.size)
        numbers = (inverse + WIDEN, step * (inverse - WIDEN), ratio)
        more = kernels.walk_back(places, there.high, high, numbers, self.size)
        back = np.argsort(order)
        ends = (fewer == more) & (fewer < self.size)
        return ends[back], counts - fewer[back].astype(np.int64), there.where(back)


def warmed_up(rows: SampleRows, counts: Counts, steps: int) -> Bounds:
    """Return bounds of pi just before some counts, by `steps` steps from q (warm_up earlier) <= pi <= q."""
    before = counts - 1 - steps
    earlier = sampling_bounds(rows, before - rows.warm_up).low
    start = Bounds(earlier, sampling_bounds(rows, before).high)
    low, high = _reported(rows, start, before + 1, steps)
    return Bounds(low[:, -1], high[:, -1])


def _reported(rows: SampleRows, start: Bounds, first: Counts, size: int) -> tuple[Floats, Floats]:
    """Return bounds of pi at `size` counts from each of `first` on, given those just before."""
    ratio, _, step = rows.grid.floats
    sampling = sampling_bounds(rows, first[:, None] + np.arange(size))
    both = np.stack([sampling.low, sampling.high])
    low, high = kernels.report_pieces(np.stack([start.low, start.high]), both, (ratio, step), WIDEN)
    return low, high


def sampling_bounds(rows: SampleRows, counts: Counts) -> Bounds:
    """Return bounds of the integer sampling probabilities."""
    probability = rows.scheme.probability(counts)
    low = np.maximum(probability * (1 - RELATIVE_ERROR) - 2.0 ** (2 - rows.grid.width), 0.0)
    certain = rows.scheme.certain_from(rows.grid.width)
    if certain is not None:
        low = np.where(counts >= certain, 1.0, low)
    return Bounds(low, np.minimum(probability * (1 + RELATIVE_ERROR), 1.0))


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
