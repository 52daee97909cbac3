"""Output distributions in floating point, for estimates: how likely each value is for each count.

Nothing here is drawn from; the draws use the integers of rows.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.compiled.late import late
from hushcount.mechanisms.sampling.gentle import GentleRows
from hushcount.mechanisms.sampling.rows import stationary_masses, values_grid
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Scheme
from hushcount.privacy import Budget

kernels = late("hushcount.mechanisms.sampling._kernels.walks")

LARGEST_RANGE = 1 << 20  # counts looked at together
AROUND_PEAK = range(-1, 4)  # counts above the peak at which a value can be most likely
Predicate = Callable[[Counts, Mask], Mask]


@dataclass(frozen=True, slots=True)
class SampleDistribution:
    """pi_ij for a budget and a sampling scheme. Proof: docs/proofs/sampling/sample.md, sections 1 to 3."""

    ratio: float
    step: float
    warm_up: int
    depth: int
    gentle: GentleRows
    scheme: Scheme = EVERY_KEY

    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, budget: Budget, scheme: Scheme = EVERY_KEY) -> SampleDistribution:
        """Return the distribution of the release with this budget and scheme."""
        grid = values_grid(budget)
        warm_up = len(stationary_masses(grid)) - 1
        gentle = GentleRows.of(grid, scheme, warm_up)
        ratio, _, step = grid.floats
        return cls(ratio, step, warm_up, grid.depth, gentle, scheme)

    def reporting(self, counts: npt.ArrayLike) -> Floats:
        """Return pi_i, the probability that a key of this count is published."""
        wanted = np.asarray(counts, dtype=np.int64)
        distinct, inverse = np.unique(wanted, return_inverse=True)
        mass = self.scheme.probability(distinct)
        places = np.flatnonzero(~self.gentle.within(distinct, distinct))  # elsewhere pi is q
        for block in _near(distinct[places], self.warm_up):
            inside = distinct[places[block]]
            first = int(inside[0])
            mass[places[block]] = self._range(first, int(inside[-1]))[inside - first]
        return mass[inverse].reshape(wanted.shape)

    def row(self, count: int) -> tuple[Counts, Floats]:
        """Return the values of positive probability for one count, and their probabilities."""
        probabilities = self.rows_at(np.array([count]))[0]
        kept = probabilities > 0
        return np.arange(count - self.depth + 1, count + 1)[kept], probabilities[kept]

    def rows(self, last: int) -> Iterator[Floats]:
        """Yield probabilities of the values 1..i for the counts i = 1..last, one row after the other."""
        above, before = np.zeros(0), 0.0
        for count in range(1, last + 1):
            after = float(self._report(np.array([before]), np.array([count]))[0])
            above = self._move(np.append(above, 0.0), before, after)
            before = after
            yield above - np.append(above[1:], 0.0)

    def rows_at(self, counts: Counts) -> Floats:
        """Return one row for each count i: the probabilities of the values i - depth + 1, ..., i."""
        start = counts - self.depth  # below count 0 nothing is published, so that rows may begin there
        above = np.zeros((len(counts), self.depth))
        before = self.reporting(start)
        for step in range(self.depth):
            after = self._report(before, start + step + 1)
            above[:, : step + 1] = self._move(above[:, : step + 1], before[:, None], after[:, None])
            before = after
        above[:, :-1] -= above[:, 1:].copy()
        return above

    def reliable_from(self, share: float) -> int:
        """Return the smallest count from which at least `share` of the sampled keys are published."""
        counts = np.arange(1, 2 * self.warm_up + 2)
        short = np.flatnonzero(self.reporting(counts) < share * self.scheme.probability(counts))
        return int(short[-1]) + 2 if len(short) else 1

    def most_likely(self, values: npt.ArrayLike) -> Counts:
        """Return the count under which each published value is most probable (the smallest of several)."""
        return self.estimates(values, 1.0)[0]

    def bounds(self, values: npt.ArrayLike, failure: float) -> tuple[Counts, Counts]:
        """Return (low, high): others publish so extreme a value with probability at most failure / 2."""
        _, least, most = self.estimates(values, failure)
        return least, most

    def estimates(self, values: npt.ArrayLike, failure: float) -> tuple[Counts, Counts, Counts]:
        """Return `most_likely` and both `bounds` of published values."""
        wanted = np.asarray(values, dtype=np.int64)
        easy = gentle_values(self.gentle, wanted)
        found = np.empty((3, len(wanted)), dtype=np.int64)
        found[0, easy] = gentle_most_likely(self.gentle, wanted[easy])
        found[1, easy], found[2, easy] = gentle_bounds(self.gentle, wanted[easy], failure)
        found[:, ~easy] = self._estimates(wanted[~easy], failure)
        return found[0], found[1], found[2]

    def _estimates(self, values: Counts, failure: float) -> Counts:
        """Compute the same for values anywhere, one count after the other."""
        distinct, inverse = np.unique(values, return_inverse=True)
        found = np.zeros((3, len(distinct)), dtype=np.int64)
        for block in _near(distinct, self.depth):
            inside = distinct[block]
            first = int(inside[0]) - 1
            masses, numbers = self._range(first, int(inside[-1]) + self.depth), (self.ratio, self.step)
            places = kernels.likelihoods(inside - first, masses, numbers, self.depth, failure)
            places[1] = np.where(places[1] < 0, places[2], np.minimum(places[1], places[2]))
            found[:, block] = first + places.astype(np.int64)
        return found[:, inverse]

    def _range(self, first: int, last: int) -> Floats:
        """Return pi for all counts of a range; below count 1 nothing is published."""
        counts = np.arange(first - self.warm_up, last + 1)
        masses: Floats = kernels.report_range(0.0, self.scheme.probability(counts), self.ratio, self.step)
        return masses[self.warm_up :]

    def _report(self, before: Floats, counts: Counts) -> Floats:
        """Return Grid.report in floats: pi of the next counts."""
        limit = 1 - np.maximum(1 - before - self.step, 0.0) / self.ratio
        return np.minimum(self.scheme.probability(counts), np.minimum(self.step + self.ratio * before, limit))

    def _move(self, mass: Floats, before: Floats | float, after: Floats | float) -> Floats:
        """Return Grid.move in floats: the mass above a value in the next row."""
        rest = np.clip(self.step - (1 - before) + self.ratio * (1 - after), 0.0, self.step)
        lower = np.maximum(before - mass - rest, 0.0) / self.ratio
        moved: Floats = np.maximum(np.minimum(self.step + self.ratio * mass, after - lower), 0.0)
        return moved


def _near(counts: Counts, gap: int) -> Iterator[slice]:
    """Yield slices of sorted counts in which no two neighbours lie further apart than `gap`."""
    if not len(counts):
        return
    cuts = np.flatnonzero(np.diff(counts) > gap) + 1
    for first, stop in pairwise([0, *cuts.tolist(), len(counts)]):
        start = first
        while start < stop:  # in ranges that fit into memory
            end = start + int(np.searchsorted(counts[start:stop], counts[start] + LARGEST_RANGE))
            yield slice(start, end)
            start = end


def gentle_values(rows: GentleRows, values: Counts) -> Mask:
    """Return which values can come only from counts of one stretch of slowly varying probabilities."""
    return rows.within(values - 1, values + rows.warm_up + 1)


def gentle_most_likely(rows: GentleRows, values: Counts) -> Counts:
    """Return the count under which each value is most probable, the smallest of several."""
    peak = rows.peak(values - 1)
    best, found = np.zeros(len(values)), values.copy()
    for ahead in AROUND_PEAK:
        counts = values - 1 + np.clip(peak + ahead, 1, rows.warm_up + 1)
        likelihood = rows.above(values - 1, counts) - rows.above(values, counts)
        better = likelihood > best * (1 + 1e-9)
        best, found = np.where(better, likelihood, best), np.where(better, counts, found)
    return found


def gentle_bounds(rows: GentleRows, values: Counts, failure: float) -> tuple[Counts, Counts]:
    """Return (low, high): others publish so extreme a value with probability at most failure / 2."""
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
    """Return the first number of steps at which a property holds that is kept from there on."""
    steps, chosen = guess.copy(), every.copy()
    while chosen.any():
        here = steps[chosen]
        short = ~holds(here, chosen)
        beyond = ~short & holds(np.maximum(here - 1, 0), chosen)
        moved = np.clip(here + short.astype(np.int64) - beyond, 1, rows.warm_up + 1)
        steps[chosen] = moved
        chosen[chosen] = moved != here
    return steps
