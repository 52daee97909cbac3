"""Algorithm 4 of Cohen et al. 2021 in integers: row after row, each a band of masses, for counts in
increasing order.

It keeps to integer values where Algorithm 5 works on a continuum, and has to pass every smaller count, which
mechanisms/sampling/rows.py does not. Kept as the paper's own alternative.
Proof: docs/proofs/sampling/sample.md, section 5.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from hushcount.errors import ParameterError
from hushcount.mechanisms.base import keep
from hushcount.mechanisms.sampling.rows import Grid, keys_grid, stationary_masses, values_grid
from hushcount.mechanisms.sampling.sample import PrivateSample, SampleError
from hushcount.mechanisms.sampling.schemes import Scheme
from hushcount.privacy import Budget
from hushcount.releases.release import Release
from hushcount.secure import below
from hushcount.shapes import Histogram

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

LARGEST_COUNT = 1 << 16  # rows passed one by one


@dataclass(frozen=True, slots=True)
class BandedRow:
    """Masses of the values count, count - 1, ... from the top; what is left of 2^width is not published."""

    count: int
    masses: tuple[int, ...]
    published: int

    def draw(self, uniform: int) -> int:
        """The value at a uniform integer below 2^width; 0 is not published."""
        if uniform >= self.published:
            return 0
        return self.count - bisect_right(list(accumulate(self.masses)), uniform)

    def by_value(self, whole: int) -> dict[int, int]:
        """Masses by value, 0 for not published; zero masses left out."""
        cells = {self.count - place: mass for place, mass in enumerate(self.masses)}
        return {value: mass for value, mass in {**cells, 0: whole - self.published}.items() if mass}


def banded_rows(grid: Grid, scheme: Scheme, settled: tuple[int, ...]) -> Iterator[BandedRow]:
    """The rows of counts 0, 1, 2, ..., each from the one before; only one is held.

    `settled` are the masses of the stationary row. Where every larger count is sampled for certain and the
    stationary row may follow in integers, with no divergence above the step, it does, for good.
    """
    row = BandedRow(0, (), 0)
    certain = scheme.certain_from(grid.width)
    while certain is None or row.count < certain or not may_follow(grid, row, settled):
        yield row
        row = next_row(grid, row, scheme.integer_probability(row.count + 1, grid.width))
    yield row
    while True:
        row = BandedRow(row.count + 1, settled, grid.whole)
        yield row


def may_follow(grid: Grid, row: BandedRow, settled: tuple[int, ...]) -> bool:
    """Whether the stationary row is private beside this one."""
    if row.published < grid.whole:
        return False
    here, there = row.by_value(grid.whole), BandedRow(row.count + 1, settled, grid.whole).by_value(grid.whole)
    return max(grid.excess(here, there), grid.excess(there, here)) <= grid.step


def settled_masses(budget: Budget) -> tuple[int, ...]:
    """The masses of the stationary row from the top: those of the truncated geometric."""
    return tuple(high - low for low, high in pairwise(stationary_masses(values_grid(budget))))


def next_row(grid: Grid, row: BandedRow, probability: int) -> BandedRow:
    """Push as much mass up as the row below allows."""
    highest = [grid.step, *map(grid.up, row.masses)]
    limit = grid.whole - grid.down(max(grid.whole - row.published - grid.step, 0))
    published = min(probability, sum(highest), limit)
    lowest = _lowest(grid, row, grid.rest(row.published, published))
    spare = published - sum(lowest)
    masses = []
    for low, high in zip(lowest, highest, strict=True):
        masses.append(low + min(high - low, spare))
        spare -= masses[-1] - low
    while masses and not masses[-1]:
        masses.pop()
    return BandedRow(row.count + 1, tuple(masses), published)


def _lowest(grid: Grid, row: BandedRow, rest: int) -> list[int]:
    """The smallest masses: nothing of the lowest `rest` of mass, 1/E of the other cells, rounded up."""
    lowest = []
    for mass in reversed(row.masses):
        dropped = min(rest, mass)
        rest -= dropped
        lowest.append(grid.down(mass - dropped))
    return [0, *reversed(lowest)]


class PrivateSampleBanded(PrivateSample):
    """Keys sampled by count with sanitised counts, by Algorithm 4 of Cohen et al. 2021.

    Theorem: (epsilon, delta)-DP, sampling included.
    Neighbours: add or remove one event.
    Assumes: as PrivateSample; a scheme that samples counts above 65536 for certain.
    Parameters: the scheme; rows of banded_rows.
    Proof: docs/proofs/sampling/sample.md, section 5. Checked by: tests/privacy/test_sample_integers.py
    """

    name = "sample-banded"
    claim = replace(
        PrivateSample.claim,
        mechanism="private weighted sampling, row by row",
        theorem="Private weighted sampling (Cohen et al. 2021, Algorithm 4) is (epsilon, delta)-DP end to"
        " end.",
    )

    def calibrate(self) -> None:
        """Set the grid, and refuse a scheme that would need too many rows."""
        self.grid = keys_grid(self.budget)
        certain = self.scheme.certain_from(self.grid.width)
        if certain is None or certain > LARGEST_COUNT:  # refused now: later it would depend on the counts
            raise ParameterError(
                f"sample-banded needs a scheme that samples counts above {LARGEST_COUNT} for certain,"
                f" got {self.scheme.name}; use PrivateSample."
            )

    def draw(self, shape: Histogram, bits: Bits) -> Release:
        """Pass the rows in increasing order and draw each key at its count."""
        values = np.zeros(len(shape.counts), dtype=np.int64)
        rows = _RowsInOrder(self.budget, self.grid, self.scheme)
        for place in np.argsort(shape.counts, kind="stable").tolist():
            row = rows.at(int(shape.counts[place]))
            values[place] = row.draw(below(self.grid.whole, bits))
        published = values >= 1
        guarantee = self.guarantee(self.public.unit, scheme=self.scheme.name)
        error = SampleError(self.budget, self.scheme)
        return Release.of(keep(shape.keys, published), values[published], guarantee, error)


class _RowsInOrder:
    """Rows asked for in increasing order; from the stationary one on any count is reached at once."""

    def __init__(self, budget: Budget, grid: Grid, scheme: Scheme) -> None:
        self._settled = settled_masses(budget)
        self._rows = banded_rows(grid, scheme, self._settled)
        self._row = next(self._rows)

    def at(self, count: int) -> BandedRow:
        """The row of a count, at least as large as the one before.

        Should rows not be stationary after 2 LARGEST_COUNT of them, larger counts share the last one: which
        rows are is public, and a limit on counts keeps neighbours neighbours.
        """
        while self._row.count < min(count, 2 * LARGEST_COUNT) and self._row.masses is not self._settled:
            self._row = next(self._rows)
        if self._row.masses is not self._settled:
            return self._row
        return BandedRow(count, self._row.masses, self._row.published)
