"""Estimators of g(count) from what a release by `truncated-geometric` or `sample` publishes.

Such a release publishes a key of count i with the value j (1 <= j <= i) with a known probability pi_ij, and
leaves it out with probability 1 - pi_i. An estimator is a number a_j for each value j; the sum of the a_j of
the published keys estimates the sum of g(count) over all keys. Derivations: docs/estimators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError

Weight = Callable[[Floats], Floats]

ESTIMATORS = ("mle", "biased-down", "unbiased")
LARGEST_UNBIASED = 4096  # values; beyond it the table is far beyond what floating point can hold
ROUNDING = 2.0**-50  # relative, of one step of the recursion of the unbiased estimator
MEANINGFUL = 1e-3  # rounding error of an estimate, relative to the g it stands for, that is still accepted
KNOTS = 128  # counts at which moments are computed, between which they are interpolated
FEWEST_KNOTS = 8
WORK = 3e7  # elements of the tables behind the knots, so that a small epsilon takes fewer knots
LARGEST_TABLE = 1024  # values of the biased-down table, which needs memory for depth + 1024 counts each


class RowDistribution(Protocol):
    """How likely each published value is for each count."""

    @property
    def depth(self) -> int:
        """A bound on how far a published value lies below the count: value > count - depth."""
        ...

    def reporting(self, counts: npt.ArrayLike) -> Floats:
        """Return the probability that a key of each count is published."""
        ...

    def row(self, count: int) -> tuple[Counts, Floats]:
        """Return the values of positive probability for one count, and their probabilities."""
        ...

    def rows(self, last: int) -> Iterator[Floats]:
        """Yield the probabilities of the values 1..i for the counts i = 1..last."""
        ...

    def rows_at(self, counts: Counts) -> Floats:
        """Return one row for each count i: the probabilities of the values i - depth + 1, ..., i."""
        ...

    def most_likely(self, values: npt.ArrayLike) -> Counts:
        """Return the count under which each value is most probable."""
        ...

    def reliable_from(self, share: float) -> int:
        """Return the smallest count of which, as of larger ones, this share of the sample is published."""
        ...


class Estimator(Protocol):
    """a_j, the estimate of g(count) for a key published with value j."""

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """Return a_j for each value j."""
        ...


@dataclass(frozen=True, slots=True)
class MaximumLikelihood:
    """g(i) / pi_i for the count i that makes the value most likely; never negative."""

    # Cohen et al. 2021, (11)
    distribution: RowDistribution
    g: Weight

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """Return a_j for each value j."""
        distinct, inverse = np.unique(np.asarray(values, dtype=np.int64), return_inverse=True)
        counts = self.distribution.most_likely(distinct)
        weights, reporting = self.g(counts.astype(np.float64)), self.distribution.reporting(counts)
        # A table of probabilities may leave small counts out: their values are never published.
        return np.divide(weights, reporting, out=np.zeros(len(counts)), where=reporting > 0)[inverse]


@dataclass(frozen=True, slots=True)
class Tabled:
    """An estimator given by its table for the values 1..m."""

    table: Floats

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """Return a_j for each value j."""
        return self.table[np.asarray(values, dtype=np.int64) - 1]


@dataclass(frozen=True, slots=True)
class BiasedDown:
    """An estimator that is never above g(count) in expectation and never negative.

    Small values have the table of Cohen et al. 2021, (41). Larger ones, where that table needs all smaller
    values, have the maximum likelihood estimate times the largest factor that keeps the expectation below g
    for every count that can have produced the value (docs/estimators.md, section 3).
    """

    likely: MaximumLikelihood
    table: Floats
    knots: Counts = field(repr=False)  # counts above the table, in ascending order
    factors: Floats = field(repr=False)  # of the estimate of the values above the table, at each knot

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """Return a_j for each value j."""
        wanted = np.asarray(values, dtype=np.int64)
        found: Floats = self.table[np.minimum(wanted, len(self.table)) - 1]
        large = wanted > len(self.table)
        if large.any():
            found[large] = self._factor(wanted[large]) * self.likely(wanted[large])
        return found

    def _factor(self, values: Counts) -> Floats:
        """Return the smallest factor of all knots next to a count that can have produced each value."""
        last = len(self.knots) - 1
        first = np.clip(np.searchsorted(self.knots, values, side="right") - 1, 0, last)
        reach = values + self.likely.distribution.depth
        after = np.clip(np.searchsorted(self.knots, reach, side="left"), 0, last)
        smallest = self.factors[first]
        for ahead in range(1, int((after - first).max(initial=0)) + 1):
            smallest = np.minimum(smallest, self.factors[np.minimum(first + ahead, after)])
        return smallest


def biased_down(distribution: RowDistribution, g: Weight, largest: int) -> BiasedDown:
    """Return the biased-down estimator for values up to `largest`."""
    depth = distribution.depth
    stop = min(2 * depth, LARGEST_TABLE)  # beyond 2 depth the distribution of count - value hardly changes
    table = _greedy(distribution, g, stop)
    likely = MaximumLikelihood(distribution, g)
    near = np.arange(stop + 1, stop + 2 * depth + 1, dtype=np.int64)
    far = np.geomspace(stop + 2 * depth + 1, max(largest, stop) + 4 * depth, knots_for(depth))
    knots = np.concatenate((_thinned(near, knots_for(depth)), np.unique(far.astype(np.int64))))
    return BiasedDown(likely, table, knots, _factors(likely, knots, stop))


def _greedy(distribution: RowDistribution, g: Weight, stop: int) -> Floats:
    """Return a_1 .. a_stop of Cohen et al. 2021, (41), leaving larger values their share of g."""
    # a_j = min over i of (g(i) - sum of a_h pi_ih over h < j) / (pi_i - sum of pi_ih over h < j)
    columns = np.zeros((stop, stop + distribution.depth))
    for count, row in enumerate(distribution.rows(columns.shape[1])):
        columns[: min(len(row), stop), count] = row[:stop]
    counts = np.arange(1, columns.shape[1] + 1)
    left = columns.sum(axis=0)
    share = left / np.maximum(distribution.reporting(counts), 1e-300)
    lacking = g(counts.astype(np.float64)) * np.minimum(share, 1.0)
    table = np.zeros(stop)
    for value, column in enumerate(columns):
        possible = (column > 0) & (left > 1e-9)  # smaller masses are mostly rounding errors
        before = table[value - 1] if value else 0.0
        largest = (lacking[possible] / left[possible]).min() if possible.any() else before
        table[value] = before if abs(largest - before) <= 1e-9 * before else max(largest, 0.0)
        lacking -= table[value] * column
        left -= column
    return table


def _factors(likely: MaximumLikelihood, knots: Counts, stop: int) -> Floats:
    """Return g(i) over the expected estimate, at most 1, for keys of count i with a value above `stop`."""
    masses, means = above(likely, knots, stop)
    fair = likely.g(knots.astype(np.float64)) * masses / likely.distribution.reporting(knots)
    return np.minimum(fair / np.maximum(means, 1e-300), 1.0)


def above(estimator: MaximumLikelihood, counts: Counts, stop: int) -> tuple[Floats, Floats]:
    """Return the probability of a value above `stop`, and the expected estimate from those values alone."""
    rows = estimator.distribution.rows_at(counts)
    values = _values(counts, rows.shape[1])
    rows = np.where(values > stop, rows, 0.0)
    return rows.sum(axis=1), (rows * _estimates(estimator, values)).sum(axis=1)


def two_moments(distribution: RowDistribution, estimator: Estimator, counts: Counts) -> tuple[Floats, Floats]:
    """Return the expectation of the estimate and of its square for one key of each count."""
    rows = distribution.rows_at(counts)
    estimates = _estimates(estimator, _values(counts, rows.shape[1]))
    return (rows * estimates).sum(axis=1), (rows * estimates**2).sum(axis=1)


def _values(counts: Counts, depth: int) -> Counts:
    return counts[:, None] + np.arange(1 - depth, 1, dtype=np.int64)


def _estimates(estimator: Estimator, values: Counts) -> Floats:
    """Return the estimates of a table of values; 0 where a value is below 1, which is never published."""
    distinct, inverse = np.unique(np.maximum(values, 1), return_inverse=True)
    return estimator(distinct)[inverse].reshape(values.shape)


def unbiased(distribution: RowDistribution, g: Weight, largest: int) -> Tabled:
    """Return the only unbiased estimator; it has negative values and a huge variance. For reference.

    Raises
    ------
    ParameterError
        If rounding errors would outgrow the estimates: they grow exponentially with the value.
    """
    if largest > LARGEST_UNBIASED:
        raise _meaningless()
    table, lost = np.zeros(largest), np.zeros(largest)
    for row in distribution.rows(largest):
        last = len(row) - 1
        wanted = float(g(np.array([last + 1.0]))[0])
        table[last] = (wanted - float(row[:last] @ table[:last])) / row[last]
        scale = abs(wanted) + float(row[:last] @ (np.abs(table[:last]) + lost[:last] / ROUNDING))
        lost[last] = ROUNDING * scale / row[last]
        if not lost[last] <= MEANINGFUL * max(abs(wanted), 1.0):
            raise _meaningless()
    return Tabled(table)


def _meaningless() -> ParameterError:
    return ParameterError(
        'estimator "unbiased" cannot be computed for counts this large at this budget: its rounding errors'
        ' would exceed the estimate. Use estimator="mle" or estimator="biased-down".'
    )


def make_estimator(name: str, distribution: RowDistribution, g: Weight, largest: int) -> Estimator:
    """Return the estimator of that name for values up to `largest`."""
    if name == "mle":
        return MaximumLikelihood(distribution, g)
    if name == "biased-down":
        return biased_down(distribution, g, largest)
    if name == "unbiased":
        return unbiased(distribution, g, largest)
    raise ParameterError(f"estimator must be one of {', '.join(ESTIMATORS)}, got {name}.")


def knots_for(depth: int) -> int:
    """Return the number of counts at which tables of this depth are computed."""
    return int(min(max(WORK / depth**2, FEWEST_KNOTS), KNOTS))


def _thinned(counts: Counts, most: int) -> Counts:
    return counts[spread(len(counts), most)]


def spread(size: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most so many places, spread evenly over 0 .. size - 1."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.intp))
