"""Estimates of sums over keys from a release by the truncated geometric or by private weighted sampling.

Everything here is a function of published values and public parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from hushcount.errors import NotProvedError, ParameterError

if TYPE_CHECKING:
    from hushcount.releases.release import Release

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Weight = Callable[[Floats], Floats]

LARGEST_TRIANGLE = 4096  # values up to which estimators that need all smaller values are computed
GRID = 128  # counts at which bias and variance are computed, between which they are interpolated


class RowLaw(Protocol):
    """How likely each published value is for each count."""

    def reporting(self, counts: npt.ArrayLike) -> Floats:
        """The probability that a key of each count is published."""
        ...

    def row(self, count: int) -> tuple[Counts, Floats]:
        """The values of positive probability for one count, and their probabilities."""
        ...

    def rows(self, last: int) -> Iterator[Floats]:
        """Probabilities of the values 1..i for the counts i = 1..last."""
        ...

    def most_likely(self, values: npt.ArrayLike) -> Counts:
        """The count under which each value is most probable."""
        ...


@runtime_checkable
class SanitisedError(Protocol):
    """An error model of a release whose law is known row by row."""

    @property
    def law(self) -> RowLaw:
        """The law of the published values."""
        ...

    @property
    def offset(self) -> int:
        """What a public floor took off every count."""
        ...

    def values(self, counts: Counts) -> Counts:
        """The values 1, 2, ... that published counts stand for."""
        ...


class Estimator(Protocol):
    """a_j, the estimate of g(count) for a key published with value j."""

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """a_j for each value j."""
        ...


@dataclass(frozen=True, slots=True)
class MaximumLikelihood:
    """g(i) / pi_i for the count i that makes the value most likely; never negative."""

    # Cohen et al. 2021, (11)

    law: RowLaw
    g: Weight

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """a_j for each value j."""
        distinct, inverse = np.unique(np.asarray(values, dtype=np.int64), return_inverse=True)
        counts = self.law.most_likely(distinct)
        return (self.g(counts.astype(np.float64)) / self.law.reporting(counts))[inverse]


@dataclass(frozen=True, slots=True)
class Tabled:
    """An estimator given by its table for the values 1..m."""

    table: Floats

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """a_j for each value j."""
        wanted = np.asarray(values, dtype=np.int64)
        if wanted.size and wanted.max() > len(self.table):
            raise ParameterError(
                f"values must be at most {len(self.table)} for this estimator, got a larger one;"
                ' use estimator="mle".'
            )
        return self.table[wanted - 1]


def biased_down(law: RowLaw, g: Weight, largest: int) -> Tabled:
    """The estimator that never exceeds g(count) in expectation, does not decrease, and is not negative."""
    # Cohen et al. 2021, (41): a_j = min over i of (g(i) - sum of a_h pi_ih over h < j) / (pi_i - sum of
    # pi_ih over h < j)
    wanted = _triangle(largest)
    rows = list(law.rows(wanted + _reach(law, wanted)))
    weights = g(np.arange(1.0, len(rows) + 1))
    lacking, left = weights.copy(), np.array([row.sum() for row in rows])
    columns = _columns(rows)
    table = np.zeros(wanted)
    for value in range(1, wanted + 1):
        column = columns[value - 1]
        counts = np.flatnonzero(column > 0)
        counts = counts[left[counts] > 1e-12]
        ratio = (lacking[counts] / left[counts]).min() if len(counts) else 0.0
        table[value - 1] = max(ratio, table[value - 2] if value > 1 else 0.0)
        lacking -= table[value - 1] * column
        left -= column
    return Tabled(table)


def unbiased(law: RowLaw, g: Weight, largest: int) -> Tabled:
    """The only unbiased estimator; it has negative values and a huge variance. For reference."""
    wanted = _triangle(largest)
    table = np.zeros(wanted)
    for row in law.rows(wanted):
        last = len(row) - 1
        table[last] = (float(g(np.array([last + 1.0]))[0]) - float(row[:last] @ table[:last])) / row[last]
    return Tabled(table)


@dataclass(frozen=True, slots=True)
class Moments:
    """Expectation and mean square of an estimator's error, count by count."""

    bias: Floats
    variance: Floats

    @property
    def mean_square(self) -> Floats:
        """Mean squared error."""
        return self.variance + self.bias**2


def moments(law: RowLaw, estimator: Estimator, g: Weight, counts: npt.ArrayLike) -> Moments:
    """Bias and variance of the estimate of g(i) for one key of each count i."""
    # Cohen et al. 2021, section 7.1
    wanted = np.asarray(counts, dtype=np.int64)
    distinct, inverse = np.unique(wanted, return_inverse=True)
    knots = distinct if len(distinct) <= GRID else distinct[_spread(len(distinct), GRID)]
    first, second = _two_moments([law.row(count) for count in knots.tolist()], estimator)
    size = g(knots.astype(np.float64))
    variance = np.maximum(second - first**2, 0.0)
    if len(knots) < len(distinct):
        scale = np.maximum(g(distinct.astype(np.float64)), 1e-300)
        relative = np.interp(distinct, knots, (first - size) / size)
        spread = np.interp(distinct, knots, variance / size**2)
        return Moments((relative * scale)[inverse], (spread * scale**2)[inverse])
    return Moments((first - size)[inverse], variance[inverse])


def _two_moments(rows: list[tuple[Counts, Floats]], estimator: Estimator) -> tuple[Floats, Floats]:
    if not rows:
        return np.zeros(0), np.zeros(0)
    distinct = np.unique(np.concatenate([values for values, _ in rows]))
    estimates = estimator(distinct)
    chosen = [estimates[np.searchsorted(distinct, values)] for values, _ in rows]
    first = [float(chances @ found) for (_, chances), found in zip(rows, chosen, strict=True)]
    second = [float(chances @ found**2) for (_, chances), found in zip(rows, chosen, strict=True)]
    return np.array(first), np.array(second)


@dataclass(frozen=True, slots=True)
class SumEstimate:
    """The estimate of a sum with what is known of its error.

    Bias and variance are those of published keys at their most likely counts; keys that were not
    published are not seen, their part of the bias is not in it.
    """

    value: float
    keys: int
    bias: float
    variance: float

    @property
    def nrmse(self) -> float:
        """Root mean square error over the estimate; infinite for an estimate of 0."""
        error = math.sqrt(self.variance + self.bias**2)
        return error / abs(self.value) if self.value else math.inf


def sum_accuracy(law: RowLaw, estimator: Estimator, g: Weight, counts: npt.ArrayLike) -> SumEstimate:
    """The expected estimate of the sum of g over keys of known counts, with its exact bias and variance."""
    # Cohen et al. 2021, (12)
    known = np.asarray(counts, dtype=np.int64)
    per_key = moments(law, estimator, g, known)
    bias, variance = float(per_key.bias.sum()), float(per_key.variance.sum())
    return SumEstimate(float(g(known.astype(np.float64)).sum()), len(known), bias, variance)


def estimate_sum(release: Release, predicate: Any, g: Weight | None, name: str) -> SumEstimate:
    """Estimate the sum of g(count) over the selected keys of a release."""
    error = check_sanitised(release)
    weight = _shifted(identity if g is None else g, error.offset)
    values = error.values(release.counts.to_numpy())[selected(release, predicate)]
    counts = error.law.most_likely(values)
    estimator = make_estimator(name, error.law, weight, int(counts.max(initial=1)))
    per_key = moments(error.law, estimator, weight, counts)
    bias, variance = float(per_key.bias.sum()), float(per_key.variance.sum())
    return SumEstimate(float(estimator(values).sum()), len(values), bias, variance)


def make_estimator(name: str, law: RowLaw, g: Weight, largest: int) -> Estimator:
    """The estimator of that name."""
    if name == "mle":
        return MaximumLikelihood(law, g)
    if name == "biased-down":
        return biased_down(law, g, largest)
    if name == "unbiased":
        return unbiased(law, g, largest)
    raise ParameterError(f"estimator must be one of mle, biased-down, unbiased, got {name}.")


def check_sanitised(release: Release) -> SanitisedError:
    """Return the error model of a release whose law is known row by row, or raise."""
    if not isinstance(release.error, SanitisedError):
        raise NotProvedError(
            "sum and order statistics need a release by truncated-geometric or sample,"
            f" got {release.guarantee.mechanism}."
        )
    return release.error


def selected(release: Release, predicate: Any) -> npt.NDArray[np.bool_]:
    """Which rows a predicate on keys selects; None selects all, a boolean array is taken as it is."""
    if predicate is None:
        return np.ones(len(release), dtype=np.bool_)
    if not callable(predicate):
        return np.asarray(predicate, dtype=np.bool_)
    columns = [column.to_pylist() for column in release.keys.columns]
    return np.fromiter((bool(predicate(*row)) for row in zip(*columns, strict=True)), np.bool_, len(release))


def identity(counts: Floats) -> Floats:
    """g(w) = w, the sum of counts."""
    return counts


def _shifted(g: Weight, offset: int) -> Weight:
    return g if offset == 0 else lambda counts: g(counts + offset)


def _triangle(largest: int) -> int:
    if largest > LARGEST_TRIANGLE:
        raise ParameterError(
            f"values must be at most {LARGEST_TRIANGLE} for this estimator, got a larger one;"
            ' use estimator="mle".'
        )
    return largest


def _reach(law: RowLaw, value: int) -> int:
    """How many counts above a value can still publish it."""
    ahead = 64
    while law.row(value + ahead)[0][0] <= value:
        ahead *= 2
    return ahead


def _columns(rows: list[Floats]) -> Floats:
    matrix = np.zeros((len(rows), len(rows)))
    for count, row in enumerate(rows):
        matrix[: len(row), count] = row
    return matrix


def _spread(size: int, knots: int) -> npt.NDArray[np.intp]:
    return np.unique(np.linspace(0, size - 1, knots).astype(np.intp))
