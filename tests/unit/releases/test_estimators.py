"""Estimators from a release: known properties of each, sums with their errors, order statistics."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.base import PublicParameters
from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.mechanisms.histograms.truncated_geometric import PublicFloorRelease, TruncatedGeometric
from hushcount.mechanisms.sampling.law import SampleLaw
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor
from hushcount.privacy import Budget
from hushcount.releases.estimators import (
    MaximumLikelihood,
    biased_down,
    identity,
    moments,
    sum_accuracy,
    unbiased,
)
from hushcount.releases.ordinal import concordance, expected_kendall_tau, kendall_tau, quantiles, rank
from hushcount.shapes import FloorCounters, Histogram

BUDGET = Budget(0.5, 1e-3)
SCHEMES = [EVERY_KEY, Ppswor(0.02), Pps(0.01)]
COUNTS = np.arange(1, 60)


def histogram(counts: np.ndarray) -> Histogram:
    return Histogram(pa.array(np.arange(len(counts))), counts.astype(np.int64))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_most_likely_counts_maximise_the_column(scheme):
    law = SampleLaw.of(BUDGET, scheme)
    rows = [law.row(count) for count in range(1, 200)]
    for value in (1, 2, 7, 30, 80):
        column = [dict(zip(v.tolist(), p.tolist(), strict=True)).get(value, 0.0) for v, p in rows]
        found = int(law.most_likely([value])[0])
        assert column[found - 1] == pytest.approx(max(column), rel=1e-8)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bounds_of_the_count_hold_as_often_as_they_say(scheme):
    law = SampleLaw.of(BUDGET, scheme)
    for count in (3, 10, 25, 60, 150):
        values, probabilities = law.row(count)
        low, high = law.bounds(values, 0.05)
        covered = probabilities[(low <= count) & (count <= high)].sum() / probabilities.sum()
        assert covered >= 0.95 - 1e-9


@pytest.mark.parametrize("scheme", SCHEMES)
def test_biased_down_never_overestimates_and_does_not_decrease(scheme):
    law = SampleLaw.of(BUDGET, scheme)
    estimator = biased_down(law, identity, 59)
    assert (np.diff(estimator.table) >= 0).all()
    assert (estimator.table >= 0).all()
    assert (moments(law, estimator, identity, COUNTS).bias <= 1e-6).all()


def test_unbiased_has_no_bias_negative_values_and_a_huge_variance():
    law = SampleLaw.of(BUDGET)
    estimator = unbiased(law, identity, 20)
    result = moments(law, estimator, identity, np.arange(1, 21))
    assert np.abs(result.bias).max() < 1e-3
    assert estimator.table.min() < 0
    likely = moments(law, MaximumLikelihood(law, identity), identity, np.arange(1, 21))
    assert result.variance[10] > 1e3 * likely.variance[10]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_maximum_likelihood_loses_its_bias_with_the_count(scheme):
    law = SampleLaw.of(BUDGET, scheme)
    result = moments(law, MaximumLikelihood(law, identity), identity, np.array([1, 10, 30, 100, 300]))
    assert result.bias[0] == pytest.approx(-1, abs=0.1)
    assert abs(result.bias[-1]) < 1
    assert (result.variance >= 0).all()
    assert result.mean_square.tolist() == (result.variance + result.bias**2).tolist()


def test_expected_sums_equal_the_average_of_releases():
    counts = np.repeat([8, 20, 45, 200], 250)
    law = SampleLaw.of(BUDGET, Pps(0.02))
    expected = sum_accuracy(law, MaximumLikelihood(law, identity), identity, counts)
    mechanism, estimator = PrivateSample(BUDGET, scheme=Pps(0.02)), MaximumLikelihood(law, identity)
    releases = [mechanism.release(histogram(counts), SeededBits(seed)) for seed in range(40)]
    sums = [float(estimator(release.counts.to_numpy()).sum()) for release in releases]
    assert releases[0].sum().value == pytest.approx(sums[0])
    spread = math.sqrt(expected.variance)
    assert expected.value == counts.sum()
    assert abs(np.mean(sums) - counts.sum() - expected.bias) < 6 * spread / math.sqrt(40)
    assert 0.5 * spread < np.std(sums) < 2 * spread
    assert expected.nrmse == pytest.approx(math.hypot(spread, expected.bias) / counts.sum())


def test_a_release_sums_what_a_predicate_selects():
    counts = np.array([5000, 300, 90, 70, 1])
    release = TruncatedGeometric(BUDGET).release(histogram(counts), SeededBits(3))
    everything, some = release.sum(), release.sum(lambda key: key >= 1)
    assert everything.value == pytest.approx(5460, abs=40)
    assert some.value == pytest.approx(460, abs=40)
    assert (everything.keys, some.keys) == (4, 3)
    assert release.sum(np.array([True, False, False, False])).value == pytest.approx(5000, abs=20)
    squares = release.sum(g=lambda w: w**2)
    assert squares.value == pytest.approx(float((counts.astype(float) ** 2).sum()), rel=0.02)
    for name in ("biased-down", "unbiased"):
        assert release.sum(lambda key: key >= 1, estimator=name).keys == 3
    assert release.sum(lambda key: False).nrmse == math.inf


def test_bias_and_variance_are_interpolated_between_many_counts():
    counts = np.arange(30, 1030)
    law = SampleLaw.of(BUDGET)
    estimator = MaximumLikelihood(law, identity)
    many, few = moments(law, estimator, identity, counts), moments(law, estimator, identity, counts[::200])
    assert many.bias[::200] == pytest.approx(few.bias, abs=0.05)
    assert many.variance[::200] == pytest.approx(few.variance, rel=0.05)


def test_sums_above_a_public_floor_count_from_zero():
    shape = FloorCounters(pa.array(["a", "b"]), np.array([5000, 3000]), 90, 9, 10)
    public = PublicParameters(candidates=9, parts=10, max_events=1000)
    release = PublicFloorRelease(BUDGET, public).release(shape, SeededBits(2))
    assert release.sum().value == pytest.approx(8000, abs=40)


def test_ranks_and_quantiles():
    counts = np.array([5000, 300, 300, 90, 70, 1])
    release = TruncatedGeometric(BUDGET).release(histogram(counts), SeededBits(3))
    first = rank(release, 0)
    assert first is not None
    assert (first.first, first.last, first.of) == (1, 1, 5)
    assert rank(release, 5) is None
    middle = int(quantiles(release, [0.5])[0])
    assert abs(middle - 300) < 40
    assert quantiles(release, [0, 1]).tolist() == sorted(quantiles(release, [0, 1]).tolist())


def test_sampled_quantiles_stand_for_all_keys():
    counts = np.repeat([40, 400], [3000, 1000])
    release = PrivateSample(BUDGET, scheme=Pps(0.002)).release(histogram(counts), SeededBits(5))
    low, high = quantiles(release, [0.5, 0.9]).tolist()
    assert abs(low - 40) < 15
    assert abs(high - 400) < 15


def test_concordance_by_enumeration():
    law = SampleLaw.of(BUDGET)
    chances = []
    for count in (12, 15):
        values, probabilities = law.row(count)
        chances.append({0: 1 - probabilities.sum(), **dict(zip(values.tolist(), probabilities, strict=True))})
    expected = sum(
        p * q * (1.0 if low < high else 0.5 if low == high else 0.0)
        for low, p in chances[0].items()
        for high, q in chances[1].items()
    )
    assert concordance(law, 12, 15) == pytest.approx(expected)
    assert concordance(law, 15, 12) == concordance(law, 12, 15)
    assert concordance(law, 10, 200) > 0.999


def test_kendall_tau_grows_with_the_distance_of_the_counts():
    law = SampleLaw.of(BUDGET)
    near, far = (expected_kendall_tau(law, np.arange(20, 26) * step) for step in (1, 10))
    assert 0 < near < far <= 1
    release = TruncatedGeometric(BUDGET).release(histogram(np.arange(30, 130)), SeededBits(3))
    assert 0.9 < kendall_tau(release) <= 1
    with pytest.raises(ParameterError) as error:
        expected_kendall_tau(law, [5, 5])
    assert str(error.value) == "counts must hold at least two distinct values, got 1."


def test_bad_input_is_refused_in_one_sentence():
    release = TruncatedGeometric(BUDGET).release(histogram(np.array([10**6])), SeededBits(3))
    empty = TruncatedGeometric(BUDGET).release(histogram(np.array([])), SeededBits(3))
    cases = [
        (
            lambda: release.sum(estimator="best"),
            "estimator must be one of mle, biased-down, unbiased, got best.",
        ),
        (
            lambda: release.sum(estimator="unbiased"),
            'values must be at most 4096 for this estimator, got a larger one; use estimator="mle".',
        ),
        (lambda: quantiles(empty, [0.5]), "quantiles need at least one published key, got none."),
        (lambda: quantiles(release, [1.5]), "fractions must lie between 0 and 1, got 1.5."),
    ]
    for call, text in cases:
        with pytest.raises(ParameterError) as error:
            call()
        assert str(error.value) == text
    other = LaplaceThreshold(BUDGET).release(histogram(np.array([100])), SeededBits(1))
    with pytest.raises(NotProvedError) as refused:
        other.sum()
    assert str(refused.value) == (
        "sum and order statistics need a release by truncated-geometric or sample, got stability histogram."
    )
    assert empty.sum().value == 0
