"""The rows as floats, for estimates and plans: how likely each published value is for each count.

Nothing here is drawn from; the draws use the integers of sample_rows.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushcount.mechanisms.sampling import likelihood
from hushcount.mechanisms.sampling.gentle import GentleRows
from hushcount.mechanisms.sampling.grid import values_grid
from hushcount.mechanisms.sampling.rows import stationary_masses
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Scheme
from hushcount.privacy import Budget

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SampleLaw:
    """pi_ij for a budget and a sampling scheme. Proof: docs/proofs/sampling/sample.md, sections 1 to 3."""

    ratio: float
    step: float
    warm_up: int
    depth: int
    gentle: GentleRows
    scheme: Scheme = EVERY_KEY

    @classmethod
    def of(cls, budget: Budget, scheme: Scheme = EVERY_KEY) -> SampleLaw:
        """The law of the release with this budget and scheme."""
        grid = values_grid(budget)
        warm_up = len(stationary_masses(grid)) - 1
        gentle = GentleRows.of(grid, scheme, warm_up)
        ratio, step = grid.ratio / (1 << grid.shift), grid.step / grid.whole
        return cls(ratio, step, warm_up, grid.depth, gentle, scheme)

    def reporting(self, counts: npt.ArrayLike) -> Floats:
        """pi_i, the probability that a key of this count is published."""
        wanted = np.asarray(counts, dtype=np.int64)
        distinct, inverse = np.unique(wanted, return_inverse=True)
        mass = np.zeros(len(distinct))
        for back in range(self.warm_up, -1, -1):
            mass = self._report(mass, distinct - back)
        return mass[inverse].reshape(wanted.shape)

    def row(self, count: int) -> tuple[Counts, Floats]:
        """The values of positive probability for one count, and their probabilities."""
        first = max(0, count - self.depth)
        above = np.zeros(0)
        before = float(self.reporting(first))
        for height in range(first, count):
            after = float(self._report(np.array([before]), np.array([height + 1]))[0])
            above = self._move(np.append(above, 0.0), before, after)
            before = after
        probabilities = above - np.append(above[1:], 0.0)
        kept = probabilities > 0
        return np.arange(first + 1, count + 1)[kept], probabilities[kept]

    def rows(self, last: int) -> Iterator[Floats]:
        """Probabilities of the values 1..i for the counts i = 1..last, one row after the other."""
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
        """Return the smallest count from which on at least `share` of the sampled keys are published."""
        counts = np.arange(1, 2 * self.warm_up + 2)
        short = np.flatnonzero(self.reporting(counts) < share * self.scheme.probability(counts))
        return int(short[-1]) + 2 if len(short) else 1

    def most_likely(self, values: npt.ArrayLike) -> Counts:
        """The count under which each published value is most probable (the smallest of several)."""
        wanted = np.asarray(values, dtype=np.int64)
        easy = likelihood.gentle_values(self.gentle, wanted)
        found = np.empty(len(wanted), dtype=np.int64)
        found[easy] = likelihood.most_likely(self.gentle, wanted[easy])
        found[~easy] = self._most_likely(wanted[~easy])
        return found

    def bounds(self, values: npt.ArrayLike, failure: float) -> tuple[Counts, Counts]:
        """(low, high): any other count publishes so extreme a value with probability at most failure / 2."""
        wanted = np.asarray(values, dtype=np.int64)
        easy = likelihood.gentle_values(self.gentle, wanted)
        least, most = np.empty((2, len(wanted)), dtype=np.int64)
        least[easy], most[easy] = likelihood.bounds(self.gentle, wanted[easy], failure)
        least[~easy], most[~easy] = self._bounds(wanted[~easy], failure)
        return least, most

    def _most_likely(self, values: Counts) -> Counts:
        """The same count after count, for values anywhere."""
        best, found = np.zeros(len(values)), values.copy()
        for counts, _, low, high in self._columns(values):
            better = high - low > best * (1 + 1e-9)
            best, found = np.where(better, high - low, best), np.where(better, counts, found)
        return found

    def _bounds(self, values: Counts, failure: float) -> tuple[Counts, Counts]:
        """The same count after count, for values anywhere."""
        least, most = np.full(len(values), np.iinfo(np.int64).max), values.copy()
        for counts, mass, low, high in self._columns(values):
            least = np.where((high >= failure / 2 * mass) & (counts < least), counts, least)
            most = np.where(mass - low >= failure / 2 * mass, np.maximum(counts, most), most)
        return np.minimum(least, most), most

    def _columns(self, values: Counts) -> Iterator[tuple[Counts, Floats, Floats, Floats]]:
        """For counts from each value upwards: pi, mass above the value, mass from the value on."""
        if not len(values):
            return
        before = self.reporting(values - 1)
        low, high = np.full(len(values), -1.0), np.zeros(len(values))
        for ahead in range(self.depth):
            counts = values + ahead
            after = self._report(before, counts)
            high = self._move(high, before, after)
            low = np.zeros(len(values)) if ahead == 0 else self._move(low, before, after)
            yield counts, after, low, high
            before = after

    def _report(self, before: Floats, counts: Counts) -> Floats:
        limit = 1 - np.maximum(1 - before - self.step, 0.0) / self.ratio
        return np.minimum(self.scheme.probability(counts), np.minimum(self.step + self.ratio * before, limit))

    def _move(self, mass: Floats, before: Floats | float, after: Floats | float) -> Floats:
        rest = np.clip(self.step - (1 - before) + self.ratio * (1 - after), 0.0, self.step)
        lower = np.maximum(before - mass - rest, 0.0) / self.ratio
        moved: Floats = np.maximum(np.minimum(self.step + self.ratio * mass, after - lower), 0.0)
        return moved
