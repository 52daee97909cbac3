"""Order statistics from a release: ranks, quantiles, concordance."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.seeded_bits import SeededBits

from hushcount.errors import ParameterError
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import Pps
from hushcount.privacy import Budget
from hushcount.releases.ordinal import (
    concordance,
    expected_kendall_tau,
    placed_concordance,
    subset_concordance,
)
from hushcount.shapes import Histogram

BUDGET = Budget(0.5, 1e-3)


def histogram(counts: np.ndarray) -> Histogram:
    return Histogram(pa.array(np.arange(len(counts))), counts.astype(np.int64))


def test_ranks_and_quantiles():
    counts = np.array([5000, 300, 300, 74, 70, 1])
    order = TruncatedGeometric(BUDGET).release(histogram(counts), SeededBits(3)).order
    first = order.rank(0)
    assert first is not None
    assert (first.first, first.last, first.of, first.lower, first.upper) == (1, 1, 5, 1, 1)
    assert order.rank(5) is None
    assert (order.rank(3).lower, order.rank(3).upper) == (4, 5)
    (middle,) = order.quantiles([0.5])
    assert middle.lower <= 300 <= middle.upper
    assert abs(middle.value - 300) < 40


def test_ranks_of_a_sample_hold_the_true_ones():
    counts = np.array([9000, 8000, 7990, 7985, 400, 100, 100])
    for seed in range(20):
        release = PrivateSample(BUDGET, scheme=Pps(0.01)).release(histogram(counts), SeededBits(seed))
        table = release.order.ranks(1 - 1e-9)
        shown = counts[table["key"].to_numpy()]
        for row, count in zip(table.to_pylist(), shown.tolist(), strict=True):
            assert row["rank_lower"] <= 1 + (shown > count).sum()
            assert (shown >= count).sum() <= row["rank_upper"]


def test_sampled_quantiles_stand_for_all_keys():
    counts = np.repeat([40, 400], [3000, 1000])
    release = PrivateSample(BUDGET, scheme=Pps(0.002)).release(histogram(counts), SeededBits(5))
    low, high = release.order.quantiles([0.5, 0.9])
    assert abs(low.value - 40) < 15
    assert abs(high.value - 400) < 15
    assert low.lower <= 40 <= low.upper
    assert high.lower <= 400 <= high.upper


def test_intervals_of_quantiles_hold_as_often_as_they_say():
    counts = np.sort(np.random.default_rng(3).integers(60, 2000, 1500))
    median, missed = counts[749], 0
    mechanism = PrivateSample(BUDGET, scheme=Pps(2e-4))
    for seed in range(200):
        release = mechanism.release(histogram(counts), SeededBits(seed))
        (found,) = release.order.quantiles([0.5])
        missed += not found.lower <= median <= found.upper
    assert missed <= stats.binom.isf(1e-9, 200, 0.05)


def test_bounds_for_all_keys_at_once_are_tight_and_hold():
    counts = np.random.default_rng(5).integers(100, 5000, 300)
    mechanism = PrivateSample(BUDGET, scheme=Pps(1e-3))
    missed = 0
    for seed in range(100):
        release = mechanism.release(histogram(counts), SeededBits(seed))
        accuracy = release.accuracy(0.9)
        truth, shown = counts[release.table["key"].to_numpy()], release.table["count"].to_numpy()
        below, above = accuracy.simultaneous_below, accuracy.simultaneous_above
        missed += not ((truth >= shown - below) & (truth <= shown + above)).all()
    assert missed <= stats.binom.isf(1e-9, 100, 0.1)
    noise = TruncatedGeometric(BUDGET).error()
    assert max(below, above) <= max(noise.simultaneous(0.9))  # as tight as without sampling
    cut = release.limit(3)
    assert cut.accuracy().simultaneous_below == cut.error.simultaneous(0.95)[0]  # rows were chosen by count


def chances(law, count):
    values, probabilities = law.row(count)
    return {0: 1 - probabilities.sum(), **dict(zip(values.tolist(), probabilities, strict=True))}


def test_concordance_of_three_keys_by_enumeration():
    law, counts = SampleDistribution.of(Budget(1.0, 0.02)), (4, 6, 7)
    expected = 0.0
    for outcome in product(*(chances(law, count).items() for count in counts)):
        values, masses = zip(*outcome, strict=True)
        orders = list(permutations(range(3)))
        sorted_orders = [order for order in orders if list(values) == sorted(values) and order == (0, 1, 2)]
        ties = sum(1 for order in orders if [values[place] for place in order] == list(values))
        expected += math.prod(masses) * len(sorted_orders) / ties
    assert subset_concordance(law, np.array([6, 4, 7])) == pytest.approx(expected)


def test_a_key_in_its_place_by_enumeration():
    law = SampleDistribution.of(Budget(1.0, 0.02))
    expected = 0.0
    for (x, p), (y, q), (z, r) in product(*(chances(law, count).items() for count in (6, 7, 4))):
        agrees = (1 if y > x else 0.5 if y == x else 0) * (1 if z < x else 0.5 if z == x else 0)
        expected += p * q * r * agrees
    assert placed_concordance(law, 6, [7, 4]) == pytest.approx(expected)
    assert placed_concordance(law, 6, [7]) == pytest.approx(concordance(law, 6, 7))


def test_equation_40_lacks_half_of_the_ties_of_keys_that_are_left_out():
    """Cohen et al. 2021: for one larger key, (40) is not (39) but lower by half of both being left out."""
    law = SampleDistribution.of(Budget(1.0, 0.02))
    low, high = chances(law, 3), chances(law, 4)
    printed = low[0] * (1 - high[0]) + sum(
        p * sum(q * (1 if y > x else 0.5 if y == x else 0) for y, q in high.items())
        for x, p in low.items()
        if x
    )
    assert printed == pytest.approx(concordance(law, 3, 4) - low[0] * high[0] / 2)
    assert low[0] * high[0] / 2 > 1e-3


def test_concordance_by_enumeration():
    law = SampleDistribution.of(BUDGET)
    expected = sum(
        p * q * (1.0 if low < high else 0.5 if low == high else 0.0)
        for low, p in chances(law, 12).items()
        for high, q in chances(law, 15).items()
    )
    assert concordance(law, 12, 15) == pytest.approx(expected)
    assert concordance(law, 15, 12) == concordance(law, 12, 15)
    assert concordance(law, 10, 200) > 0.999


def test_kendall_tau_grows_with_the_distance_of_the_counts():
    law = SampleDistribution.of(BUDGET)
    near, far = (expected_kendall_tau(law, np.arange(20, 26) * step) for step in (1, 10))
    assert 0 < near < far <= 1
    release = TruncatedGeometric(BUDGET).release(histogram(np.arange(30, 130)), SeededBits(3))
    assert 0.9 < release.order.kendall_tau() <= 1
    assert release.order.concordance(0, 50, 99) > 0.999
    with pytest.raises(ParameterError) as error:
        expected_kendall_tau(law, [5, 5])
    assert str(error.value) == "counts must hold at least two distinct values, got 1."


def test_bad_input_is_refused_in_one_sentence():
    release = TruncatedGeometric(BUDGET).release(histogram(np.array([10**6])), SeededBits(3))
    empty = TruncatedGeometric(BUDGET).release(histogram(np.array([])), SeededBits(3))
    cases = [
        (lambda: empty.order.quantiles([0.5]), "quantiles need at least one published key, got none."),
        (lambda: release.order.quantiles([1.5]), "fractions must lie between 0 and 1, got 1.5."),
        (
            lambda: release.order.concordance(0),
            "concordance needs at least two keys, all of them published.",
        ),
        (
            lambda: release.order.concordance(0, 0),
            "concordance needs keys of different most likely counts, got two alike.",
        ),
    ]
    for call, text in cases:
        with pytest.raises(ParameterError) as error:
            call()
        assert str(error.value) == text
