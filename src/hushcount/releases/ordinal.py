"""Order statistics from a release by `truncated-geometric` or `sample`: ranks, quantiles, Kendall's tau.

Derivations and what is certain of each: docs/estimators.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.privacy import check_confidence
from hushcount.releases.accuracy import SanitisedError, together
from hushcount.releases.estimators import RowDistribution
from hushcount.releases.sums import check_sanitised

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.releases.release import Release

LARGEST_GRID = 32


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of a key among the published ones, 1 for the largest; ties share a range.

    Attributes
    ----------
    first, last : int
        Its places by what was published.
    of : int
        How many keys were published.
    lower, upper : int
        Its place by true counts among the published keys lies between these, for all keys at once.
    """

    first: int
    last: int
    of: int
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile of the counts of all keys that can be seen, with an interval."""

    value: int
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class Order:
    """What the order of a release tells of the order of the true counts: `release.order`.

    Parameters
    ----------
    release : Release
        A release by "truncated-geometric", "public-floor" or "sample".
    """

    release: Release

    def ranks(self, confidence: float = 0.95) -> pa.Table:
        """Return the keys with their places, and between which places each lies by true counts.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability with which all intervals hold at once.
        """
        import pyarrow as pa

        error = check_sanitised(self.release)
        values = error.values(self.release.counts.to_numpy())
        lower, upper = self._bounds(confidence)
        ascending = np.sort(values)
        places = {
            "rank": len(values) - np.searchsorted(ascending, values, side="right") + 1,
            "rank_lower": len(values) - np.searchsorted(np.sort(lower), upper, side="right") + 1,
            "rank_upper": len(values) - np.searchsorted(np.sort(upper), lower, side="left"),
        }
        table = self.release.keys
        for name, column in places.items():
            table = table.append_column(name, pa.array(column, pa.int64()))
        return table

    def rank(self, *key: object, confidence: float = 0.95) -> Rank | None:
        """Return the place of a key; None if it was not published.

        Parameters
        ----------
        *key
            The key, one value for each key column.
        confidence : float, default 0.95
            The probability with which the intervals of all keys hold at once.
        """
        place = self._place(key)
        if place is None:
            return None
        counts = self.release.counts.to_numpy()
        larger, alike = int((counts > counts[place]).sum()), int((counts == counts[place]).sum())
        row = self.ranks(confidence).slice(place, 1).to_pylist()[0]
        return Rank(larger + 1, larger + alike, len(counts), row["rank_lower"], row["rank_upper"])

    def quantiles(self, fractions: Sequence[float], confidence: float = 0.95) -> list[Quantile]:
        """Estimate quantiles of the counts of all keys; a published key of probability p stands for 1/p keys.

        Keys too rare to be published are not in it. The interval is that of Woodruff: the sampling error of
        the fraction by the normal approximation, and the bounds of the counts found there.

        Parameters
        ----------
        fractions : sequence of float
            Which quantiles: 0.5 is the median.
        confidence : float, default 0.95
            The approximate confidence of each interval.
        """
        error = check_sanitised(self.release)
        if not len(self.release):
            raise ParameterError("quantiles need at least one published key, got none.")
        for fraction in fractions:
            if not 0 <= fraction <= 1:
                raise ParameterError(f"fractions must lie between 0 and 1, got {fraction}.")
        counts = self._likely(error)
        shown = error.distribution.reporting(counts)
        lower, upper = self._bounds(confidence)
        deviations = NormalDist().inv_cdf((1 + check_confidence(confidence)) / 2)
        found = []
        for fraction in fractions:
            value = weighted_quantile(counts, 1 / shown, fraction)
            spread = deviations * _spread(counts <= value, fraction, shown)
            ends = max(fraction - spread, 0.0), min(fraction + spread, 1.0)
            low, high = (
                weighted_quantile(lower, 1 / shown, ends[0]),
                weighted_quantile(upper, 1 / shown, ends[1]),
            )
            found.append(Quantile(value + error.offset, low, high))
        return found

    def concordance(self, *keys: object) -> float:
        """Estimate the probability that keys are published in the order of their true counts.

        The most likely counts are taken for true, keys that are left out count as smallest, and ties are
        broken at random.

        Parameters
        ----------
        *keys
            Two or more published keys of different most likely counts; of several key columns, tuples.
        """
        error = check_sanitised(self.release)
        places = [self._place(key if isinstance(key, tuple) else (key,)) for key in keys]
        if len(places) < 2 or None in places:
            raise ParameterError("concordance needs at least two keys, all of them published.")
        counts = self._likely(error)[[place for place in places if place is not None]]
        return subset_concordance(error.distribution, counts)

    def kendall_tau(self) -> float:
        """Estimate the rank correlation of true and published order, taking the most likely counts as true.

        Of more than 32 different counts, 32 spread over them stand for all.
        """
        error = check_sanitised(self.release)
        counts = np.unique(self._likely(error))
        if len(counts) > LARGEST_GRID:
            counts = counts[np.linspace(0, len(counts) - 1, LARGEST_GRID).astype(np.intp)]
        return expected_kendall_tau(error.distribution, counts)

    def _likely(self, error: SanitisedError) -> Counts:
        """Return the most likely counts, without the public floor."""
        return error.distribution.most_likely(error.values(self.release.counts.to_numpy()))

    def _bounds(self, confidence: float) -> tuple[Counts, Counts]:
        """Return bounds of the true counts of all rows at once."""
        return together(self.release, check_confidence(confidence))

    def _place(self, key: tuple[object, ...]) -> int | None:
        """Return the row of a key; None if it was not published."""
        import pyarrow.compute as pc

        mask = np.ones(len(self.release), dtype=np.bool_)
        for column, part in zip(self.release.keys.columns, key, strict=True):
            mask &= pc.equal(column, part).to_numpy()
        found = np.flatnonzero(mask)
        return int(found[0]) if len(found) else None


def weighted_quantile(counts: Counts, weights: Floats, fraction: float) -> int:
    """Return the smallest count up to which at least this fraction of the weight lies."""
    order = np.argsort(counts, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, fraction * reached[-1] * (1 - 1e-12), side="left"))
    return int(counts[order[min(place, len(order) - 1)]])


def _spread(below: npt.NDArray[np.bool_], fraction: float, shown: Floats) -> float:
    """Return the standard deviation of the estimated fraction of keys below a count, linearised."""
    variance = ((1 - shown) / shown**2 * (below - fraction) ** 2).sum()
    return math.sqrt(variance) / float((1 / shown).sum())


def concordance(distribution: RowDistribution, count: int, other: int) -> float:
    """Return the probability that two keys are published in the order of their counts, ties counting half."""
    # Cohen et al. 2021, (39) for integer values
    return subset_concordance(distribution, np.array([count, other]))


def subset_concordance(distribution: RowDistribution, counts: Counts) -> float:
    """Return the probability that keys are published in the order of their counts, ties broken at random."""
    if len(np.unique(counts)) < len(counts):
        raise ParameterError("concordance needs keys of different most likely counts, got two alike.")
    rows = [dict(zip(*_with_zero(distribution, count), strict=True)) for count in np.sort(counts).tolist()]
    placed = np.zeros(len(rows) + 1)  # the probability that the first keys are in order, up to a value
    placed[0] = 1.0
    for value in sorted(set().union(*rows)):
        after = placed.copy()
        for first in range(len(rows)):
            alike = 1.0
            for last in range(first, len(rows)):  # keys first..last share this value: one order of many
                alike *= rows[last].get(value, 0.0) / (last - first + 1)
                after[last + 1] += placed[first] * alike
        placed = after
    return float(placed[-1])


def placed_concordance(distribution: RowDistribution, count: int, others: npt.ArrayLike) -> float:
    """Return the probability that one key is in its order with each of the others, ties counting half."""
    # Cohen et al. 2021, (40), with half of the ties of keys that are both left out
    own = dict(zip(*_with_zero(distribution, count), strict=True))
    total = np.array(list(own.values()))
    for other in np.asarray(others, dtype=np.int64).tolist():
        values, masses = _with_zero(distribution, other)
        side = 1 if other > count else -1
        agrees = [
            masses[side * (values - value) > 0].sum() + masses[values == value].sum() / 2 for value in own
        ]
        total = total * np.array(agrees)
    return float(total.sum())


def expected_kendall_tau(distribution: RowDistribution, counts: npt.ArrayLike) -> float:
    """Return the expected rank correlation of true and published order, over pairs of distinct counts."""
    distinct, sizes = np.unique(np.asarray(counts, dtype=np.int64), return_counts=True)
    if len(distinct) < 2:
        raise ParameterError(f"counts must hold at least two distinct values, got {len(distinct)}.")
    agreed = pairs = 0.0
    for place, count in enumerate(distinct.tolist()):
        for other in range(place):
            weight = float(sizes[place] * sizes[other])
            agreed += weight * (2 * concordance(distribution, count, int(distinct[other])) - 1)
            pairs += weight
    return agreed / pairs


def _with_zero(distribution: RowDistribution, count: int) -> tuple[Counts, Floats]:
    """Return the published values of a count and their probabilities, with 0 for an unpublished key."""
    values, probabilities = distribution.row(count)
    unpublished = max(1 - probabilities.sum(), 0.0)
    return np.append(0, values), np.append(unpublished, probabilities)
