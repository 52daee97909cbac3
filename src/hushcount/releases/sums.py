"""Sums over keys from a release, with their bias, variance and relative error.

Everything here is a function of published values and public parameters. Derivations: docs/estimators.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import NotProvedError, ParameterError
from hushcount.releases.accuracy import SanitisedError
from hushcount.releases.estimators import (
    Estimator,
    MaximumLikelihood,
    RowDistribution,
    Weight,
    knots_for,
    make_estimator,
    spread,
    two_moments,
)

if TYPE_CHECKING:
    from hushcount.releases.release import Release

Predicate = Callable[..., object] | Sequence[bool] | npt.NDArray[np.bool_]
VISIBLE = 0.9999  # a count is visible if publishing loses at most one in ten thousand of the sampled keys
DEVIATIONS = 3  # by which an estimated total may lie below the true one


@dataclass(frozen=True, slots=True)
class Moments:
    """Bias and variance of an estimator, count by count."""

    bias: Floats
    variance: Floats

    @property
    def mean_square(self) -> Floats:
        """The mean squared error."""
        return self.variance + self.bias**2


def moments(distribution: RowDistribution, estimator: Estimator, g: Weight, counts: npt.ArrayLike) -> Moments:
    """Return bias and variance of the estimate of g(i) for one key of each count i."""
    # Cohen et al. 2021, section 7.1
    distinct, inverse = np.unique(np.asarray(counts, dtype=np.int64), return_inverse=True)
    knots = distinct[spread(len(distinct), knots_for(distribution.depth))]
    first, second = two_moments(distribution, estimator, knots)
    size = g(knots.astype(np.float64))
    bias, variance = first - size, np.maximum(second - first**2, 0.0)
    if len(knots) == len(distinct):
        return Moments(bias[inverse], variance[inverse])
    scale = np.maximum(np.abs(g(distinct.astype(np.float64))), 1e-300)
    unit = np.maximum(np.abs(size), 1e-300)
    relative = np.interp(distinct, knots, bias / unit)
    relative_variance = np.interp(distinct, knots, variance / unit**2)
    return Moments((relative * scale)[inverse], (relative_variance * scale**2)[inverse])


@dataclass(frozen=True, slots=True)
class SumEstimate:
    """The estimate of a sum of g(count), with what is known of its error.

    A key is published with a probability that depends on its count, so a published key of probability p
    stands for 1/p keys: `bias` and `variance` add up those of the published keys, each divided by its p.
    They cover keys of at least `visible_from` events. Rarer keys are hardly ever published: they lower the
    estimate by an amount that no published number shows, at most `hidden`.

    Attributes
    ----------
    value : float
        The estimated sum.
    keys : int
        The number of published keys that were added up.
    bias : float
        The estimated difference between the expectation of `value` and the sum over keys of visible counts.
    variance : float
        The estimated variance of `value`.
    visible_from : int
        The smallest count that is published whenever it is sampled, but for one key in ten thousand.
    hidden : float or None
        A bound on the sum of g over the rarer keys, from the public `max_events`; None without one.
    """

    value: float
    keys: int
    bias: float
    variance: float
    visible_from: int = 1
    hidden: float | None = None

    @property
    def nrmse(self) -> float:
        """The root mean square error over the true sum, if no key is rarer than `visible_from`.

        With rarer keys this is a lower bound in all but odd cases; `nrmse_bounds` holds for any data.
        """
        return self._nrmse(-self.bias)

    @property
    def nrmse_bounds(self) -> tuple[float, float | None]:
        """The smallest and the largest NRMSE for any number of rarer keys; None if nothing bounds it."""
        if not self.value:
            return (0.0, None) if self.hidden is None else (0.0, math.inf)
        fewest = -self.bias  # what the sum is larger than the expected estimate without any rarer key
        most = math.inf if self.hidden is None else fewest + self.hidden
        # where the error relative to the sum is least
        turn = min(max(self.variance / abs(self.value), fewest), most)
        largest = None if self.hidden is None else max(self._nrmse(fewest), self._nrmse(most))
        return self._nrmse(turn), largest

    def _nrmse(self, missing: float) -> float:
        """Return the relative error if the true sum is larger than the expected estimate by `missing`."""
        return _relative(math.hypot(math.sqrt(self.variance), missing), self.value + missing)

    def __str__(self) -> str:
        least, most = self.nrmse_bounds
        rarer = f"keys of fewer than {self.visible_from} events are hardly ever published"
        if most is None:
            return (
                f"{self.value:,.0f} from {self.keys:,} published keys; relative error (NRMSE) at least"
                f" {least:.2g}: {rarer}, and without max_events nothing bounds how many there are"
            )
        return (
            f"{self.value:,.0f} from {self.keys:,} published keys; relative error (NRMSE) between {least:.2g}"
            f" and {most:.2g}: {rarer}, and max_events bounds how many there are"
        )


def estimate_sum(release: Release, predicate: Predicate | None, g: Weight | None, name: str) -> SumEstimate:
    """Estimate the sum of g(count) over the selected keys of a release."""
    error = check_sanitised(release)
    if not release.whole:
        raise ParameterError("sum needs all rows of a release, got one cut by limit or min_count.")
    distribution, weight = error.distribution, _shifted(identity if g is None else g, error.offset)
    published = error.values(release.counts.to_numpy())
    values = published[selected(release, predicate)]
    estimator = make_estimator(
        name, distribution, weight, int(distribution.most_likely(values).max(initial=1))
    )
    made = _summed(distribution, estimator, weight, values)
    if name == "unbiased":
        made = replace(made, bias=0.0)
    elif name != "mle":  # what is published shows how far two estimates of one sum lie apart
        likely = _summed(distribution, MaximumLikelihood(distribution, weight), weight, values)
        made = replace(made, bias=made.value - likely.value + likely.bias)
    visible = distribution.reliable_from(VISIBLE) + error.offset
    if error.max_events is None:
        return replace(made, visible_from=visible)
    plain = g is None and predicate is None and name == "mle" and not error.offset
    events = (
        made
        if plain
        else _summed(distribution, MaximumLikelihood(distribution, identity), identity, published)
    )
    hidden = _hidden(error.max_events, events, identity if g is None else g, visible)
    return replace(made, visible_from=visible, hidden=hidden)


def _summed(distribution: RowDistribution, estimator: Estimator, g: Weight, values: Counts) -> SumEstimate:
    """Return an estimate with the bias and variance of all keys; each published one stands for 1/p keys."""
    # Horvitz-Thompson weights; docs/estimators.md, section 2
    if not len(values):
        return SumEstimate(0.0, 0, 0.0, 0.0)
    counts = distribution.most_likely(values)
    per_key = moments(distribution, estimator, g, counts)
    stands_for = 1 / distribution.reporting(counts)
    bias, variance = float(per_key.bias @ stands_for), float(per_key.variance @ stands_for)
    return SumEstimate(float(estimator(values).sum()), len(values), bias, variance)


def _hidden(max_events: int, events: SumEstimate, g: Weight, visible: int) -> float:
    """Bound the sum of g over keys of counts below `visible`: they have the events that no other key has."""
    seen = events.value - events.bias - DEVIATIONS * math.sqrt(events.variance)
    rare = np.arange(1.0, max(visible, 2))
    return max(max_events - seen, 0.0) * float(np.max(np.abs(g(rare)) / rare))


def check_sanitised(release: Release) -> SanitisedError:
    """Return the error model of a release whose distribution is known row by row, or raise."""
    if not isinstance(release.error, SanitisedError):
        raise NotProvedError(
            "sum and order statistics need a release by truncated-geometric or sample,"
            f" got {release.guarantee.mechanism}."
        )
    return release.error


def selected(release: Release, predicate: Predicate | None) -> npt.NDArray[np.bool_]:
    """Return which rows a predicate on keys selects; None selects all, a boolean array is taken as it is."""
    if predicate is None:
        return np.ones(len(release), dtype=np.bool_)
    if not callable(predicate):
        return np.asarray(predicate, dtype=np.bool_)
    columns = [column.to_pylist() for column in release.keys.columns]
    return np.fromiter((bool(predicate(*row)) for row in zip(*columns, strict=True)), np.bool_, len(release))


def identity(counts: Floats) -> Floats:
    """Return the counts themselves: the sum of g is the number of events."""
    return counts


def _shifted(g: Weight, offset: int) -> Weight:
    return g if offset == 0 else lambda counts: g(counts + offset)


def _relative(error: float, truth: float) -> float:
    return error / abs(truth) if truth else math.inf
