"""Goodness of fit of large samples: the right scale passes, 0.9 and 1.1 of it and broken samplers fail."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2
from tests.seeded_bits import SeededBits

from hushcount.noise import laplace
from hushcount.noise.expansions import exponential
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.secure import below

SIZE = 200_000
FALSE_ALARM = 1e-9


def fits(observed, expected):
    """Pearson's chi-square test at false-alarm rate 1e-9."""
    statistic = ((observed - expected) ** 2 / expected).sum()
    return statistic <= chi2.isf(FALSE_ALARM, len(expected) - 1)


def fits_law(samples, law, cells=40):
    """Compare the cells between quantiles of the law, the outermost wide enough for the test to hold."""
    levels = [*np.linspace(0, 1, cells)[1:-1], 1e-3, 1e-4, 1 - 1e-3, 1 - 1e-4]
    cuts = np.array(sorted({law.least_tail(level) for level in levels}))
    rare = 10 / len(samples)
    cuts = cuts[(law.tail(cuts) > rare) & (law.tail(cuts) < 1 - rare)]
    tails = np.concatenate([[1.0], law.tail(cuts), [0.0]])
    observed = np.bincount(np.searchsorted(cuts, samples, side="right"), minlength=len(cuts) + 1)
    expected = -np.diff(tails) * len(samples)
    assert expected.min() > 5
    return fits(observed, expected)


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2), Fraction(1), Fraction(22, 7), Fraction(10), Fraction(10**6)]
)
def test_laplace_samples_have_their_scale_and_no_other(scale):
    samples = DiscreteLaplace(1 / scale).sample(SIZE, SeededBits(int(scale) + 11))
    assert fits_law(samples, DiscreteLaplace(1 / scale))
    assert not fits_law(samples, DiscreteLaplace(1 / (scale * Fraction(9, 10))))
    assert not fits_law(samples, DiscreteLaplace(1 / (scale * Fraction(11, 10))))


@pytest.mark.parametrize("sigma", [0.4, 1, 3.3, Fraction(101, 10), 1234.5, 1e6])
def test_gaussian_samples_have_their_sigma_and_no_other(sigma):
    samples = DiscreteGaussian(sigma).sample(SIZE, SeededBits(int(sigma) + 5))
    assert fits_law(samples, DiscreteGaussian(sigma))
    assert not fits_law(samples, DiscreteGaussian(0.9 * float(sigma)))
    assert not fits_law(samples, DiscreteGaussian(1.1 * float(sigma)))


def test_samples_reach_beyond_the_digits():
    """The carry fires about 6 times in a million at epsilon 12/16: the far tail is there, not cut."""
    law = DiscreteLaplace(Fraction(3, 4))
    digits = len(laplace.digit_table(law.exact_epsilon).digits)
    assert digits == 4
    beyond = np.abs(law.sample(4_000_000, SeededBits(9))) > 1 << digits
    expected = 4_000_000 * 2 * law.tail((1 << digits) + 1)
    assert expected > 15
    assert 1 <= beyond.sum() <= 4 * expected


@pytest.mark.parametrize("law", [DiscreteLaplace(1), DiscreteGaussian(2)], ids=str)
def test_neighbouring_samples_are_independent(law):
    cells = np.clip(law.sample(SIZE, SeededBits(21)), -2, 2) + 2
    chances = np.array([law.tail(2), *law.pmf(np.array([-1, 0, 1])), law.tail(2)])
    for lag in (1, 2, 4):  # disjoint pairs of samples that stand `lag` apart
        first, second = np.moveaxis(cells[: SIZE - SIZE % (2 * lag)].reshape(-1, 2, lag), 1, 0)
        observed = np.bincount((5 * first + second).ravel(), minlength=25)
        assert fits(observed, np.outer(chances, chances).ravel() * observed.sum())
        assert not fits(np.bincount((6 * first).ravel(), minlength=25), observed)


def test_a_twin_with_truncated_digits_is_refuted():
    epsilon = Fraction(1, 10)
    table = laplace.digit_table(epsilon)
    never = exponential(Fraction(1000))
    honest = laplace.geometrics(table, SIZE, SeededBits(2))
    twin = laplace.DigitTable(table.nonzero, table.digits[:5], never)
    truncated = laplace.geometrics(twin, SIZE, SeededBits(2))
    levels = np.arange(0, 80)
    chances = np.append(np.exp(-0.1 * levels) * -np.expm1(-0.1), np.exp(-8.0)) * SIZE
    assert fits(np.bincount(np.minimum(honest, 80), minlength=81), chances)
    assert not fits(np.bincount(np.minimum(truncated, 80), minlength=81), chances)


def test_a_twin_without_the_acceptance_step_is_refuted():
    sigma = 10
    proposals = DiscreteLaplace(Fraction(1, sigma + 1)).sample(SIZE, SeededBits(4))
    assert not fits_law(proposals, DiscreteGaussian(sigma))


def test_below_is_uniform_and_its_modulo_twin_is_not():
    bits = SeededBits(8)
    honest = np.bincount([below(200, bits) for _ in range(50_000)], minlength=200)
    twin = np.bincount(np.frombuffer(bits.bytes(50_000), dtype=np.uint8) % 200, minlength=200)
    assert fits(honest, np.full(200, 250.0))
    assert not fits(twin, np.full(200, 250.0))
