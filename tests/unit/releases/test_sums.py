"""Sums over keys from a release: what they add up, their stated errors, what is refused (whole texts)."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.sums import sum_accuracy
from tests.seeded_bits import SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.mechanisms.histograms.truncated_geometric import PublicFloorRelease, TruncatedGeometric
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import Pps
from hushcount.privacy import Budget
from hushcount.releases.estimators import MaximumLikelihood
from hushcount.releases.sums import SumEstimate, identity, moments
from hushcount.shapes import FloorCounters, Histogram, Public

BUDGET = Budget(0.5, 1e-3)


def histogram(counts: np.ndarray) -> Histogram:
    return Histogram(pa.array(np.arange(len(counts))), counts.astype(np.int64))


def test_expected_sums_equal_the_average_of_releases():
    counts = np.repeat([8, 20, 45, 200], 250)
    law = SampleDistribution.of(BUDGET, Pps(0.02))
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
    assert release.sum(lambda key: key >= 1, estimator="biased-down").keys == 3
    assert release.sum(lambda key: False).nrmse == math.inf


def test_bias_and_variance_are_interpolated_between_many_counts():
    counts = np.arange(30, 1030)
    law = SampleDistribution.of(BUDGET)
    estimator = MaximumLikelihood(law, identity)
    many, few = moments(law, estimator, identity, counts), moments(law, estimator, identity, counts[::200])
    assert many.bias[::200] == pytest.approx(few.bias, abs=0.05)
    assert many.variance[::200] == pytest.approx(few.variance, rel=0.05)


def test_sums_above_a_public_floor_count_from_zero():
    shape = FloorCounters(pa.array(["a", "b"]), np.array([5000, 3000]), 90, 9, 10)
    public = Public(candidates=9, parts=10, max_events=1000)
    release = PublicFloorRelease(BUDGET, public).release(shape, SeededBits(2))
    assert release.sum().value == pytest.approx(8000, abs=40)


def test_keys_that_were_not_sampled_are_in_the_variance():
    """One key in a hundred is published, and each stands for a hundred: so does its variance."""
    counts = np.full(20_000, 100)
    release = PrivateSample(BUDGET, scheme=Pps(1e-4)).release(histogram(counts), SeededBits(1))
    law = SampleDistribution.of(BUDGET, Pps(1e-4))
    actual = sum_accuracy(law, MaximumLikelihood(law, identity), identity, counts)
    assert actual.nrmse == pytest.approx(0.0704, rel=0.01)
    assert release.sum().nrmse == pytest.approx(actual.nrmse, rel=0.1)


def test_what_is_never_published_is_bounded_by_max_events_or_said_to_be_unknown():
    """A million events of keys below the threshold: nothing published shows them."""
    counts = np.concatenate((np.full(100, 1000), np.full(200_000, 5)))
    budget, shape = Budget(1.0, 1e-8), histogram(counts)
    unknown = TruncatedGeometric(budget).release(shape, SeededBits(1)).sum()
    assert unknown.hidden is None
    assert unknown.visible_from == 27
    least, most = unknown.nrmse_bounds
    assert (least < 0.01, most) == (True, None)
    assert str(unknown) == (
        f"{unknown.value:,.0f} from 100 published keys; relative error (NRMSE) at least {least:.2g}: keys of"
        " fewer than 27 events are hardly ever published, and without max_events nothing bounds how many"
        " there are"
    )
    public = Public(max_events=1_200_000)
    bounded = TruncatedGeometric(budget, public).release(shape, SeededBits(1)).sum()
    assert bounded.hidden == pytest.approx(1_100_000, rel=0.01)
    assert bounded.nrmse_bounds[0] < 10 / 11 < bounded.nrmse_bounds[1] < 0.93
    assert "relative error (NRMSE) between" in str(bounded)
    assert "and max_events bounds how many there are" in str(bounded)


def test_bounds_of_the_error_hold_for_every_number_of_hidden_keys():
    for bias in (-40.0, 0.0, 40.0):
        estimate = SumEstimate(100.0, 7, bias, 900.0, 20, hidden=300.0)
        least, most = estimate.nrmse_bounds
        errors = [
            math.hypot(30, hidden - bias) / (100 - bias + hidden) for hidden in np.linspace(0, 300, 3001)
        ]
        assert least <= min(errors) <= least + 1e-3
        assert most == pytest.approx(max(errors))
    assert SumEstimate(0.0, 0, 0.0, 0.0).nrmse_bounds == (0.0, None)


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
            'estimator "unbiased" cannot be computed for counts this large at this budget: its rounding'
            ' errors would exceed the estimate. Use estimator="mle" or estimator="biased-down".',
        ),
        (
            lambda: release.limit(1).sum(),
            "sum needs all rows of a release, got one cut by limit or min_count.",
        ),
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
