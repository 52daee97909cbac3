"""Order statistics from a release: ranks, quantiles, concordance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import ParameterError
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import Pps
from hushcount.privacy import Budget
from hushcount.releases.ordinal import concordance, expected_kendall_tau, kendall_tau, quantiles, rank
from hushcount.shapes import Histogram

BUDGET = Budget(0.5, 1e-3)


def histogram(counts: np.ndarray) -> Histogram:
    return Histogram(pa.array(np.arange(len(counts))), counts.astype(np.int64))


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
    law = SampleDistribution.of(BUDGET)
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
    law = SampleDistribution.of(BUDGET)
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
        (lambda: quantiles(empty, [0.5]), "quantiles need at least one published key, got none."),
        (lambda: quantiles(release, [1.5]), "fractions must lie between 0 and 1, got 1.5."),
    ]
    for call, text in cases:
        with pytest.raises(ParameterError) as error:
            call()
        assert str(error.value) == text
