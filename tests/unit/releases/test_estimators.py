"""Estimators from a release: known properties of each."""

from __future__ import annotations

import numpy as np
import pytest

from hushcount.errors import ParameterError
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor
from hushcount.privacy import Budget
from hushcount.releases.estimators import (
    MaximumLikelihood,
    biased_down,
    make_estimator,
    two_moments,
    unbiased,
)
from hushcount.releases.sums import identity, moments

BUDGET = Budget(0.5, 1e-3)
SCHEMES = [EVERY_KEY, Ppswor(0.02), Pps(0.01)]
COUNTS = np.arange(1, 60)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_most_likely_counts_maximise_the_column(scheme):
    law = SampleDistribution.of(BUDGET, scheme)
    rows = [law.row(count) for count in range(1, 200)]
    for value in (1, 2, 7, 30, 80):
        column = [dict(zip(v.tolist(), p.tolist(), strict=True)).get(value, 0.0) for v, p in rows]
        found = int(law.most_likely([value])[0])
        assert column[found - 1] == pytest.approx(max(column), rel=1e-8)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bounds_of_the_count_hold_as_often_as_they_say(scheme):
    law = SampleDistribution.of(BUDGET, scheme)
    for count in (3, 10, 25, 60, 150):
        values, probabilities = law.row(count)
        low, high = law.bounds(values, 0.05)
        covered = probabilities[(low <= count) & (count <= high)].sum() / probabilities.sum()
        assert covered >= 0.95 - 1e-9


@pytest.mark.parametrize("scheme", SCHEMES)
def test_biased_down_never_overestimates_and_does_not_decrease(scheme):
    law = SampleDistribution.of(BUDGET, scheme)
    estimator = biased_down(law, identity, 59)
    assert (np.diff(estimator.table) >= 0).all()
    assert (estimator.table >= 0).all()
    assert (moments(law, estimator, identity, COUNTS).bias <= 1e-6).all()


def test_unbiased_has_no_bias_negative_values_and_a_huge_variance():
    law = SampleDistribution.of(BUDGET)
    estimator = unbiased(law, identity, 20)
    result = moments(law, estimator, identity, np.arange(1, 21))
    assert np.abs(result.bias).max() < 1e-3
    assert estimator.table.min() < 0
    likely = moments(law, MaximumLikelihood(law, identity), identity, np.arange(1, 21))
    assert result.variance[10] > 1e3 * likely.variance[10]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_maximum_likelihood_loses_its_bias_with_the_count(scheme):
    law = SampleDistribution.of(BUDGET, scheme)
    result = moments(law, MaximumLikelihood(law, identity), identity, np.array([1, 10, 30, 100, 300]))
    assert result.bias[0] == pytest.approx(-1, abs=0.1)
    assert abs(result.bias[-1]) < 1
    assert (result.variance >= 0).all()
    assert result.mean_square.tolist() == (result.variance + result.bias**2).tolist()


@pytest.mark.parametrize("scheme", [EVERY_KEY, Ppswor(0.001), Pps(0.01), Pps(0.01, 0.5)])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_biased_down_serves_every_count(scheme, power):
    """Never above g but for the interpolation between counts, and close to it for large ones."""
    law = SampleDistribution.of(Budget(1.0, 1e-6), scheme)

    def g(counts):
        return counts**power

    estimator = biased_down(law, g, 10**9)
    counts = np.concatenate((np.arange(1, 400), np.geomspace(400, 10**9, 60).astype(np.int64)))
    expected, _ = two_moments(law, estimator, counts)
    ratio = expected / g(counts.astype(np.float64))
    assert ratio.max() < 1.001
    assert ratio[counts > 1000].min() > 0.99
    assert (estimator(np.arange(1, 500)) >= 0).all()


def test_unbiased_is_refused_where_rounding_errors_outgrow_it():
    """Its table grows exponentially: at 300 it held 1e66."""
    law = SampleDistribution.of(BUDGET)
    assert np.abs(unbiased(law, identity, 20).table).max() < 1e7
    for largest in (40, 300, 5000):
        with pytest.raises(ParameterError, match=r'^estimator "unbiased" cannot be computed for counts this'):
            make_estimator("unbiased", law, identity, largest)


def test_rows_of_many_counts_equal_those_of_each():
    law = SampleDistribution.of(BUDGET, Pps(0.01))
    counts = np.array([1, 3, 50, 700, 90_000])
    for count, row in zip(counts.tolist(), law.rows_at(counts), strict=True):
        values, probabilities = law.row(count)
        expected = np.zeros(law.depth)
        expected[values - (count - law.depth + 1)] = probabilities
        assert row == pytest.approx(expected, abs=1e-15)
