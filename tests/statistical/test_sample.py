"""The draws have the law of the rows, and no other: seeded, at a false-alarm rate of 1e-9."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2
from tests.reference.sample_banded import PrivateSampleBanded
from tests.seeded_bits import SeededBits

from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.filter import draw_values
from hushcount.mechanisms.sampling.rows import SampleRows, values_grid
from hushcount.mechanisms.sampling.sample import PrivateSample, PrivateSampleKeys
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Histogram

SIZE = 200_000
FALSE_ALARM = 1e-9
CASES = [
    (EVERY_KEY, 14),
    (EVERY_KEY, 1000),
    (Ppswor(0.02), 12),
    (Ppswor(0.02), 60),
    (Pps(0.01), 80),
    (Pps(0.01), 10**9),
    (Pps(1e-3, 2), 25),
    (Ppswor(0.3, 0), 10**12),
]


def fits(values: np.ndarray, law: SampleDistribution, count: int) -> bool:
    """Pearson's test of drawn values against a row; cells of few expected draws are joined."""
    outputs, probabilities = law.row(count)
    cells = np.concatenate([[1 - probabilities.sum()], probabilities])
    seen = np.array([(values == 0).sum(), *(np.sum(values == output) for output in outputs)])
    expected = cells * len(values)
    rare = expected < 20
    groups = [(seen[~rare], expected[~rare]), ([seen[rare].sum()], [expected[rare].sum()])]
    observed, wanted = (np.concatenate([group[side] for group in groups]) for side in (0, 1))
    other = len(values) - seen.sum()
    keep = wanted > 1
    statistic = float((((observed - wanted) ** 2)[keep] / wanted[keep]).sum())
    return other == 0 and statistic < chi2.isf(FALSE_ALARM, keep.sum() - 1)


@pytest.mark.parametrize(("scheme", "count"), CASES)
def test_draws_follow_the_row_and_refute_other_budgets(scheme, count):
    budget = Budget(0.8, 1e-4)
    rows = SampleRows(values_grid(budget), scheme)
    values = draw_values(rows, np.full(SIZE, count), SeededBits(11))
    assert fits(values, SampleDistribution.of(budget, scheme), count)
    for factor in (0.9, 1.1):
        assert not fits(values, SampleDistribution.of(Budget(0.8 * factor, 1e-4), scheme), count)


def test_tokens_order_two_counts_more_often_than_integers():
    """Ties count half; the corrected Algorithm 5 has no fewer pairs in order than Algorithm 4."""
    budget, size, wins = Budget(2.0, 1e-3), 400_000, []
    for tokens in (1, 64):
        rows = SampleRows(values_grid(budget, tokens), EVERY_KEY, tokens)
        low, high = (draw_values(rows, np.full(size, count), SeededBits(count)) for count in (500, 501))
        wins.append(float(np.mean((low < high) + (low == high) / 2)))
    assert wins[1] > wins[0] + 6.2 * np.sqrt(0.5 / size)


@pytest.mark.parametrize(("scheme", "count"), CASES[2:5])
def test_keys_alone_are_published_with_the_optimal_probability(scheme, count):
    budget = Budget(0.8, 1e-4)
    shape = Histogram(pa.array(np.arange(SIZE)), np.full(SIZE, count))
    published = len(PrivateSampleKeys(budget, scheme=scheme).release(shape, SeededBits(12)))
    for factor, right in ((0.9, False), (1.0, True), (1.1, False)):
        chance = float(SampleDistribution.of(budget, scheme).reporting(count)) * factor
        far = abs(published - SIZE * chance) > 6.2 * np.sqrt(SIZE * chance * (1 - min(chance, 1)))
        assert far is not np.bool_(right)
        assert bool(far) is not right


def test_row_by_row_publishes_the_same_keys_as_often():
    budget, scheme = Budget(0.8, 1e-4), Pps(0.02)
    shape = Histogram(pa.array(np.arange(30_000)), np.full(30_000, 13))
    chance = float(SampleDistribution.of(budget, scheme).reporting(13))
    published = len(PrivateSampleBanded(budget, scheme=scheme).release(shape, SeededBits(1)))
    assert abs(published - 30_000 * chance) < 6.2 * np.sqrt(30_000 * chance * (1 - chance))


def zipf_histogram() -> tuple[Histogram, np.ndarray]:
    """1M events of Zipf(1.2) over a million keys."""
    generator = np.random.default_rng(2024)
    weights = np.arange(1, 1_000_001, dtype=np.float64) ** -1.2
    counts = generator.multinomial(1_000_000, weights / weights.sum())
    keys = np.flatnonzero(counts)
    return Histogram(pa.array(keys), counts[keys]), counts


def test_publishes_more_keys_than_the_laplace_threshold_with_less_error_below_30():
    shape, counts = zipf_histogram()
    budget = Budget(1.0, 1e-6)
    published, errors = [], []
    for mechanism in (TruncatedGeometric(budget), LaplaceThreshold(budget)):
        release = mechanism.release(shape, SeededBits(5))
        noisy = np.zeros(len(counts))
        noisy[release.keys["key"].to_numpy()] = release.counts.to_numpy()
        small = (counts > 0) & (counts < 30)
        published.append(len(release))
        errors.append(float(np.abs(noisy - counts)[small].mean()))
    assert published[0] > published[1] > 2000
    assert errors[0] < errors[1]


def test_expected_numbers_of_keys_agree_with_the_closed_forms():
    shape, _ = zipf_histogram()
    budget = Budget(1.0, 1e-6)
    expected = float(SampleDistribution.of(budget).reporting(shape.counts).sum())
    published = len(PrivateSample(budget).release(shape, SeededBits(6)))
    assert abs(published - expected) < 6.2 * np.sqrt(expected)
    noise, threshold = DiscreteLaplace(1.0), LaplaceThreshold(budget).threshold
    tails = {int(c): float(noise.tail(threshold - int(c))) for c in np.unique(shape.counts)}
    assert expected > 1.03 * sum(tails[int(c)] for c in shape.counts)
