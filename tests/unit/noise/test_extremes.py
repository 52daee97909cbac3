"""Exact binomials and extremes: digits against rationals, laws against formulas, ties forced."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.seeded_bits import DictatedBits, SeededBits

from hushcount.noise import extremes
from hushcount.noise.expansions import exp_interval
from hushcount.noise.extremes import (
    WHOLE,
    BinomialDistribution,
    TailCut,
    all_draws,
    binomial,
    largest_draws,
    uniforms,
    wanted_above,
)
from hushcount.noise.laplace import DiscreteLaplace


def certain(exponent):
    """p = exp(-exponent) as bounds."""
    return lambda precision: exp_interval(exponent, precision)


def exact_cdf(trials, p, b):
    return sum(math.comb(trials, i) * p**i * (1 - p) ** (trials - i) for i in range(b + 1))


@pytest.mark.parametrize(
    ("trials", "exponent"), [(1, Fraction(1, 3)), (7, Fraction(1)), (40, Fraction(7, 2))]
)
def test_digits_of_the_distribution_are_exact(trials, exponent):
    low, _ = exp_interval(exponent, 400)
    p = Fraction(low, 1 << 400)  # off by less than 2^-399
    law = BinomialDistribution(trials, certain(exponent))
    for b in range(trials):
        assert law.cumulative(b).leading(128) == math.floor(exact_cdf(trials, p, b) * (1 << 128))


def test_digits_for_very_many_trials():
    """2^60 trials with mean 8: Poisson to 1e-17, and to 3e-16 by the formula of scipy."""
    trials = 1 << 60
    exponent = Fraction(60 * math.log(2) - math.log(8))
    law = BinomialDistribution(trials, certain(exponent))
    mean = trials * math.exp(-float(exponent))
    for b in (0, 3, 8, 20):
        assert law.cumulative(b).leading(80) / 2**80 == pytest.approx(stats.poisson.cdf(b, mean), rel=1e-12)


def test_a_draw_is_the_least_value_whose_distribution_exceeds_the_uniform():
    law = BinomialDistribution(3, certain(Fraction(1)))
    heads = [law.cumulative(b).leading(64) for b in range(3)]
    words = [0, heads[0] - 1, heads[0] + 1, heads[1] + 1, heads[2] + 1, (1 << 64) - 2]
    assert law.sample(6, DictatedBits([words])).tolist() == [0, 0, 1, 2, 3, 3]


def test_a_tie_is_settled_by_further_digits():
    law = BinomialDistribution(3, certain(Fraction(1)))
    head = law.cumulative(1).leading(64)
    nexts = law.cumulative(1).leading(128) & ((1 << 64) - 1)
    assert law.sample(1, DictatedBits([[head], [nexts - 1]])).tolist() == [1]
    assert law.sample(1, DictatedBits([[head], [nexts + 1]])).tolist() == [2]
    assert law.sample(1, DictatedBits([[(1 << 64) - 1], [(1 << 64) - 1]])).tolist() == [3]


def accepts(observed, probabilities):
    """Chi-square at a false-alarm rate of 1e-9; cells of small expectation are joined."""
    size, expected = sum(observed), np.array(probabilities) * sum(observed)
    keep = expected >= 10
    cells = np.append(np.array(observed)[keep], size - np.array(observed)[keep].sum())
    means = np.append(expected[keep], size - expected[keep].sum())
    used = means > 1e-9
    return stats.chisquare(cells[used], means[used] * cells[used].sum() / means[used].sum()).pvalue > 1e-9


@pytest.mark.parametrize("trials", [60, 1 << 50])
def test_sums_over_parts_are_binomial(trials):
    exponent = Fraction(math.log(trials / 20))
    bits = SeededBits(11)
    found = np.bincount([binomial(trials, certain(exponent), bits) for _ in range(2000)], minlength=60)[:60]
    p = math.exp(-float(exponent))
    counts = np.arange(60)

    def law(scale):
        return (
            stats.binom.pmf(counts, trials, scale * p)
            if trials < 100
            else stats.poisson.pmf(counts, 20 * scale)
        )

    assert accepts(found, law(1.0))
    assert not accepts(found, law(0.9))
    assert not accepts(found, law(1.1))


@pytest.mark.parametrize(("level", "part"), [(0, 0), (0, 3 << 62), (5, WHOLE - 1), (9, 1)])
def test_the_probability_of_a_cut(level, part):
    epsilon = Fraction(2, 5)
    law = DiscreteLaplace(epsilon)
    cut = TailCut(epsilon, level, part)
    upper = float(1 - Fraction(part, WHOLE))
    expected = float(law.tail(level + 1)) + float(law.pmf(level)) * upper
    low, high = cut.probability(100)
    assert low <= high <= low + 4
    assert low / 2**100 == pytest.approx(expected, rel=1e-12)
    at_low, at_high = cut.at_level(100)
    assert at_high - at_low <= 8
    assert at_low / 2**100 == pytest.approx(float(law.pmf(level)) * upper / expected, rel=1e-12)


@pytest.mark.parametrize("part", [0, 3 << 62])
def test_draws_above_a_cut_have_the_law_above_it(part):
    epsilon = Fraction(1, 2)
    law, cut = DiscreteLaplace(epsilon), TailCut(epsilon, 3, part)
    values, tags = cut.draws(20_000, SeededBits(8))
    assert cut.above(values, tags).all()
    above = cut.probability(64)[0] / 2**64
    pmf = np.array([float(law.pmf(value)) for value in range(3, 40)]) / above
    pmf[0] *= 1 - part / WHOLE
    assert accepts(np.bincount(values - 3, minlength=37)[:37], pmf)
    thirds = np.bincount((tags[values > 3] >> np.uint64(60)).astype(int), minlength=16)
    assert accepts(thirds, [1 / 16] * 16)
    assert int(tags[values == 3].min()) >= part


@pytest.mark.parametrize("count", [400, 1 << 64])
def test_the_largest_draw_has_the_law_of_a_maximum(count):
    """P[max < v] = (1 - S(v))^count."""
    epsilon, bits = Fraction(1, 2), SeededBits(21)
    tops = np.array([largest_draws(count, epsilon, 3, bits)[0].max() for _ in range(1200)])
    law = DiscreteLaplace(epsilon)
    values = np.arange(0, int(tops.max()) + 30)

    def below(rate_of):
        return np.array(
            [math.exp(count * math.log1p(-float(rate_of.tail(int(v))))) if v > 0 else 0.0 for v in values]
        )

    def pmf(rate_of):
        return np.diff(below(rate_of))

    observed = np.bincount(tops, minlength=len(values))[: len(values) - 1]
    assert accepts(observed, pmf(law))
    assert not accepts(observed, pmf(DiscreteLaplace(Fraction(9, 20))))
    assert not accepts(observed, pmf(DiscreteLaplace(Fraction(11, 20))))


def test_the_third_largest_agrees_with_drawing_all():
    epsilon, bits = Fraction(1), SeededBits(5)
    short = [np.sort(largest_draws(400, epsilon, 3, bits)[0])[-3] for _ in range(2000)]
    every = [np.sort(all_draws(400, epsilon, bits)[0])[-3] for _ in range(2000)]
    table = np.array([np.bincount(found, minlength=16)[:16] for found in (short, every)])
    table = table[:, table.sum(axis=0) >= 20]
    assert stats.chi2_contingency(table).pvalue > 1e-9


@pytest.mark.parametrize("rows", [1, 3, 7, 8, 31, 4095])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 13)])
def test_no_cut_leaves_exactly_half_of_the_law(rows, epsilon):
    """A domain with 2 wanted_above(rows) unseen keys asks for one half: a draw would never end."""
    wanted = wanted_above(rows)
    cut = TailCut.leaving(wanted, 2 * wanted, epsilon)
    low, high = cut.probability(256)
    assert abs(Fraction(low + high, 1 << 257) - Fraction(1, 2)) < 1e-6
    assert not low <= 1 << 255 <= high
    assert len(largest_draws(2 * wanted, epsilon, rows, SeededBits(rows))[0]) >= rows


def test_too_few_above_the_cut_are_followed_by_a_lower_cut(monkeypatch):
    """With a cut that is wanted to leave 2 draws, 3 must come from lower cuts; the law must not change."""
    monkeypatch.setattr(extremes, "wanted_above", lambda least: 2)
    epsilon, bits = Fraction(1), SeededBits(6)
    found = [largest_draws(400, epsilon, 3, bits) for _ in range(2000)]
    assert all(len(values) >= 3 for values, _ in found)
    every = [np.sort(all_draws(400, epsilon, bits)[0])[-3] for _ in range(2000)]
    table = np.array(
        [np.bincount(third, minlength=16)[:16] for third in ([np.sort(v)[-3] for v, _ in found], every)]
    )
    table = table[:, table.sum(axis=0) >= 20]
    assert stats.chi2_contingency(table).pvalue > 1e-9
    monkeypatch.setattr(extremes, "wanted_above", lambda least: 1)
    assert all(len(largest_draws(6, epsilon, 3, bits)[0]) >= 3 for _ in range(200))


def test_uniforms_are_below_their_bound():
    bits = SeededBits(4)
    assert uniforms(1, 5, bits).tolist() == [0] * 5
    found = uniforms(6, 60_000, bits)
    assert accepts(np.bincount(found.astype(int), minlength=6), [1 / 6] * 6)
    assert int(uniforms(1 << 64, 1000, bits).max()) > 1 << 63
    assert wanted_above(100) == 244
