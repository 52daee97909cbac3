"""Order statistics from a release by `truncated-geometric` or `sample`: ranks, quantiles, Kendall's tau.

The k largest keys are `release.limit(k)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.releases.estimators import RowDistribution
from hushcount.releases.sums import check_sanitised

if TYPE_CHECKING:
    from hushcount.releases.release import Release


LARGEST_GRID = 32


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of a key among the published ones, 1 for the largest; ties share a range."""

    first: int
    last: int
    of: int


def rank(release: Release, *key: object) -> Rank | None:
    """Return the rank of a key by what was published; None if it was not published.

    Parameters
    ----------
    release : Release
        Any release.
    *key
        The key, one value for each key column.
    """
    import pyarrow.compute as pc

    mask = np.ones(len(release), dtype=np.bool_)
    for column, part in zip(release.keys.columns, key, strict=True):
        mask &= pc.equal(column, part).to_numpy()
    found = np.flatnonzero(mask)
    if not len(found):
        return None
    counts = release.counts.to_numpy()
    larger = int((counts > counts[found[0]]).sum())
    return Rank(larger + 1, larger + int((counts == counts[found[0]]).sum()), len(release))


def quantiles(release: Release, fractions: Sequence[float]) -> Counts:
    """Estimate quantiles of the counts of all keys; a published key of probability p stands for 1/p keys.

    Keys too rare to be published are not in it (docs/estimators.md, section 2).

    Parameters
    ----------
    release : Release
        A release by "truncated-geometric" or "sample" with at least one row.
    fractions : sequence of float
        Which quantiles: 0.5 is the median.

    Returns
    -------
    array of int64
        One count for each fraction.
    """
    error = check_sanitised(release)
    if not len(release):
        raise ParameterError("quantiles need at least one published key, got none.")
    for fraction in fractions:
        if not 0 <= fraction <= 1:
            raise ParameterError(f"fractions must lie between 0 and 1, got {fraction}.")
    counts = np.sort(error.distribution.most_likely(error.values(release.counts.to_numpy())))
    weights = np.cumsum(1 / error.distribution.reporting(counts))
    places = np.searchsorted(weights, np.asarray(fractions) * weights[-1], side="left")
    found: Counts = counts[np.minimum(places, len(counts) - 1)] + error.offset
    return found


def concordance(distribution: RowDistribution, count: int, other: int) -> float:
    """Return the probability that two keys are published in the order of their counts, ties counting half."""
    # Cohen et al. 2021, (39) for integer values
    low, high = _with_zero(distribution, min(count, other)), _with_zero(distribution, max(count, other))
    values = np.union1d(low[0], high[0])
    below = np.zeros(len(values))
    above = np.zeros(len(values))
    below[np.searchsorted(values, low[0])] = low[1]
    above[np.searchsorted(values, high[0])] = high[1]
    less = np.cumsum(below) - below
    return float(above @ (less + below / 2))


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


def kendall_tau(release: Release) -> float:
    """Estimate the rank correlation of true and published order, taking the most likely counts as true.

    Parameters
    ----------
    release : Release
        A release by "truncated-geometric" or "sample"; of more than 32 different counts, 32 spread over them
        stand for all.
    """
    error = check_sanitised(release)
    counts = np.unique(error.distribution.most_likely(error.values(release.counts.to_numpy())))
    if len(counts) > LARGEST_GRID:
        counts = counts[np.linspace(0, len(counts) - 1, LARGEST_GRID).astype(np.intp)]
    return expected_kendall_tau(error.distribution, counts)


def _with_zero(distribution: RowDistribution, count: int) -> tuple[Counts, Floats]:
    """Return the published values of a count and their probabilities, with 0 for an unpublished key."""
    values, probabilities = distribution.row(count)
    unpublished = max(1 - probabilities.sum(), 0.0)
    return np.append(0, values), np.append(unpublished, probabilities)
