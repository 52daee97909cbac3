"""The two laws: every formula against high precision."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import ParameterError
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace

EPSILONS = [1.0, 0.1, Fraction(1, 3), 2, 20.0, 1e-3, 1e-6, 1e-9, 5e5]
SIGMAS = [0.1, 0.5, 0.99, 1, Fraction(4, 3), 3.7, 10.1, 29.9, 30.5, 64.0, 200]
RELATIVE = 3e-13


@pytest.fixture(autouse=True)
def _precision():
    with mpmath.workdps(60):
        yield


def real(value):
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def near(value, truth, relative=RELATIVE):
    return abs(value - truth) <= relative * abs(truth)


def near_log(value, truth):
    """True when two logarithms agree as far as a float can tell."""
    return abs(value - mpmath.log(truth)) <= 1e-15 * (1 + abs(mpmath.log(truth)))


def laplace_tail(epsilon, m):
    a = mpmath.exp(-real(epsilon))
    return a**m / (1 + a) if m >= 1 else 1 - a ** (1 - m) / (1 + a)


class GaussianTruth:
    """The Gaussian law by plain sums in high precision."""

    def __init__(self, sigma):
        reach = int(38 * sigma) + 3
        square = 2 * real(sigma) ** 2
        self.weights = [mpmath.exp(-(z * z) / square) for z in range(reach)]
        self.total = 2 * mpmath.fsum(self.weights) - 1
        self.tails = list(itertools.accumulate(reversed(self.weights)))[::-1]

    def tail(self, m):
        return self.tails[m] / self.total if m >= 1 else 1 - self.tail(1 - m)


# Formulas of the discrete Laplace law


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_laplace_formulas_down_to_1e_300(epsilon):
    law = DiscreteLaplace(epsilon)
    last = law.least_tail(1e-300)
    for m in {0, 1, -1, 2, -7, last // 3, last // 2, last - 1, -last, *range(1, min(last, 20))}:
        tail = laplace_tail(epsilon, m)
        pmf = laplace_tail(epsilon, abs(m)) - laplace_tail(epsilon, abs(m) + 1)
        if pmf > 1e-300:
            assert near(law.pmf(m), pmf)
        assert near(law.tail(m), tail) or tail < 1e-300
        assert near_log(law.log_pmf(m), pmf)
        assert near_log(law.log_tail(m), tail)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("p", [0.999, 0.5, 0.3, 0.05, 1e-6, 1e-9, 1e-40, 1e-299, 1e-300])
def test_laplace_quantiles_are_the_least(epsilon, p):
    law = DiscreteLaplace(epsilon)
    m = law.least_tail(p)
    assert laplace_tail(epsilon, m) <= p < laplace_tail(epsilon, m - 1)
    r = law.two_sided(p)
    assert 2 * laplace_tail(epsilon, r + 1) <= p
    assert r == 0 or 2 * laplace_tail(epsilon, r) > p


@pytest.mark.parametrize("epsilon", EPSILONS[:-1], ids=str)
def test_laplace_variance(epsilon):
    a = mpmath.exp(-real(epsilon))
    assert near(DiscreteLaplace(epsilon).variance, 2 * a / (1 - a) ** 2)


def test_log_tail_goes_where_the_tail_cannot():
    law = DiscreteLaplace(1.0)
    assert law.tail(10**6) == 0.0
    assert law.log_tail(10**6) == pytest.approx(-(10**6) - math.log1p(math.exp(-1)), rel=1e-15)
    assert law.log_tail(10**30) == pytest.approx(-1e30, rel=1e-15)
    gauss = DiscreteGaussian(2.0)
    assert gauss.log_tail(10**4) == pytest.approx(gauss.log_pmf(10**4), rel=1e-15)


# Formulas of the discrete Gaussian law


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_gaussian_formulas_down_to_1e_300(sigma):
    law, truth = DiscreteGaussian(sigma), GaussianTruth(sigma)
    last = law.least_tail(1e-300)
    for m in {0, 1, -1, 2, last // 3, last // 2, last - 1, -last, *range(1, last, max(1, last // 40))}:
        tail = truth.tail(m)
        if abs(m) < last:
            pmf = truth.weights[abs(m)] / truth.total
            assert near(law.pmf(m), pmf) or pmf < 1e-300
            assert near_log(law.log_pmf(m), pmf)
        assert near(law.tail(m), tail)
        assert near_log(law.log_tail(m), tail)
    squares = mpmath.fsum(z * z * weight for z, weight in enumerate(truth.weights))
    assert near(law.variance, 2 * squares / truth.total)


@pytest.mark.parametrize("sigma", [0.1, 1, 3.7, 64.0, 200], ids=str)
@pytest.mark.parametrize("p", [0.999, 0.5, 0.3, 0.05, 1e-6, 1e-40, 1e-299])
def test_gaussian_quantiles_are_the_least(sigma, p):
    law, truth = DiscreteGaussian(sigma), GaussianTruth(sigma)
    m = law.least_tail(p)
    assert truth.tail(m) <= p < truth.tail(m - 1)
    r = law.two_sided(p)
    assert 2 * truth.tail(r + 1) <= p
    assert r == 0 or 2 * truth.tail(r) > p


@pytest.mark.parametrize(("sigma", "m"), [(1e5, 1), (1e5, 250_000), (1e5, 3_600_000), (1e6, 20_000_000)])
def test_gaussian_tails_of_large_sigma_equal_the_plain_sum(sigma, m):
    k = np.arange(min(9 * sigma, 45 * sigma**2 / m), dtype=np.longdouble)
    ratio = np.exp(-(m * k + k * k / 2) / np.longdouble(sigma) ** 2).sum()
    law = DiscreteGaussian(sigma)
    total = real(sigma) * mpmath.sqrt(2 * mpmath.pi)
    truth = mpmath.exp(-(real(m) ** 2) / (2 * real(sigma) ** 2)) / total * mpmath.mpf(float(ratio))
    assert near(law.tail(m), truth)


def test_gaussian_of_large_sigma_has_exact_ends():
    law = DiscreteGaussian(1e6)
    m = law.least_tail(1e-300)
    assert law.tail(m) <= 1e-300 < law.tail(m - 1)
    assert law.variance == pytest.approx(1e12, rel=1e-14)


# One integer or many


@pytest.mark.parametrize("law", [DiscreteLaplace(0.3), DiscreteGaussian(5.5), DiscreteGaussian(900)], ids=str)
@pytest.mark.parametrize("name", ["pmf", "log_pmf", "tail", "log_tail"])
def test_arrays_and_integers_agree(law, name):
    function = getattr(law, name)
    points = np.arange(-60, 240).reshape(3, 100)
    many = function(points)
    assert many.shape == (3, 100)
    assert many.dtype == np.float64
    for point, value in zip(points.ravel(), many.ravel(), strict=True):
        assert type(function(int(point))) is float
        assert function(int(point)) == pytest.approx(value, rel=1e-14)
    assert isinstance(function(np.int64(3)), float)
    with pytest.raises(TypeError):
        function(np.array([0.5]))
    with pytest.raises(TypeError):
        function(0.5)


@pytest.mark.parametrize("law", [DiscreteLaplace(0.7), DiscreteGaussian(3), DiscreteGaussian(0.4)], ids=str)
def test_the_law_sums_to_one_and_is_symmetric(law):
    points = np.arange(-200, 201)
    assert law.pmf(points).sum() == pytest.approx(1, abs=1e-14)
    assert np.array_equal(law.pmf(points), law.pmf(-points))
    assert law.tail(-5) + law.tail(6) == pytest.approx(1, abs=1e-15)
    assert (points**2 * law.pmf(points)).sum() == pytest.approx(law.variance, rel=1e-12)


# Parameters


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, -math.inf, 1e-10, 2e6])
def test_epsilon_out_of_range_is_refused(value):
    with pytest.raises(ParameterError) as error:
        DiscreteLaplace(value)
    assert str(error.value) == f"epsilon must lie between 1e-09 and 1e+06, got {value}."


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, 1e-4, 2e8])
def test_sigma_out_of_range_is_refused(value):
    with pytest.raises(ParameterError) as error:
        DiscreteGaussian(value)
    assert str(error.value) == f"sigma must lie between 0.001 and 1e+08, got {value}."


@pytest.mark.parametrize("value", [True, "1", None, 1j])
def test_other_types_are_refused(value):
    with pytest.raises(ParameterError) as error:
        DiscreteLaplace(value)
    assert str(error.value) == f"epsilon must be a rational number, got {value!r}."


@pytest.mark.parametrize("p", [0, -0.1, 1, 1.5, math.nan, 1e-301])
@pytest.mark.parametrize("law", [DiscreteLaplace(1), DiscreteGaussian(1)], ids=str)
def test_probabilities_out_of_range_are_refused(law, p):
    for quantile in (law.least_tail, law.two_sided):
        with pytest.raises(ParameterError) as error:
            quantile(p)
        assert str(error.value) == f"p must lie in [1e-300, 1), got {p}."


@pytest.mark.parametrize("law", [DiscreteLaplace(1), DiscreteGaussian(1)], ids=str)
def test_sizes(law):
    assert law.sample(0, SeededBits(0)).tolist() == []
    assert law.sample(5, SeededBits(0)).dtype == np.int64
    assert law.sample(100_001, SeededBits(0)).shape == (100_001,)
    with pytest.raises(ParameterError, match=r"^size must be at least 0, got -1\.$"):
        law.sample(-1, SeededBits(0))


def test_floats_are_taken_exactly():
    assert DiscreteLaplace(0.1).exact_epsilon == Fraction(1, 10) < Fraction(0.1)
    assert DiscreteGaussian(np.float64(0.1)).exact_sigma == Fraction(0.1)
    assert DiscreteLaplace(np.int64(2)).exact_epsilon == 2
