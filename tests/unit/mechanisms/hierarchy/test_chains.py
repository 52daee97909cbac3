import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hushcount.errors import ParameterError
from hushcount.mechanisms.hierarchy.chains import Failures, calibrate, chain_delta, chains, laplace
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "hierarchy_chain.json").read_text())
KINDS = {"discrete_laplace": laplace, "discrete_gaussian": DiscreteGaussian}
CASES = [(kind, int(tests), *found) for kind in KINDS for tests, found in VECTORS[kind].items()]
STANDARD = Budget(1.0, 1e-6)


def least(kind, tests, budget):
    return min(chains(KINDS[kind], tests, budget), key=lambda chain: (chain.threshold, chain.noise.variance))


def scale_of(law):
    return float(1 / law.exact_epsilon if isinstance(law, DiscreteLaplace) else law.exact_sigma)


@pytest.mark.parametrize(("kind", "tests", "scale", "threshold"), CASES)
def test_vectors(kind, tests, scale, threshold):
    found = least(kind, tests, STANDARD)
    assert scale_of(found.noise) == pytest.approx(scale, rel=0.01)
    assert abs(found.threshold - threshold) <= 1
    assert chain_delta(found.noise, found.threshold, tests, 1.0) <= 1e-6
    assert chain_delta(found.noise, found.threshold - 1, tests, 1.0) > 1e-6


@pytest.mark.parametrize("tests", [2, 33, 129])
@pytest.mark.parametrize("budget", [Budget(20.0, 0.5), Budget(10.0, 1e-9), Budget(1e-3, 1e-8)], ids=str)
def test_every_law_that_is_offered_is_private(budget, tests):
    for kind in KINDS.values():
        found = chains(kind, tests, budget)
        assert found
        for chain in found:
            assert chain_delta(chain.noise, chain.threshold, tests, budget.epsilon) <= budget.delta


def test_the_law_with_the_lower_threshold_is_chosen():
    assert calibrate(2, STANDARD) == least("discrete_laplace", 2, STANDARD)
    assert calibrate(33, STANDARD) == least("discrete_gaussian", 33, STANDARD)
    assert calibrate(5, STANDARD).threshold == 44


def test_a_higher_threshold_takes_the_law_with_the_least_variance():
    """At five tests the Gaussian has the lower threshold, the Laplace law the smaller variance."""
    low, high = calibrate(5, STANDARD, 75), calibrate(5, STANDARD, 1000)
    assert isinstance(low.noise, DiscreteGaussian)
    assert isinstance(high.noise, DiscreteLaplace)
    assert high.noise.variance < low.noise.variance
    assert high.threshold <= 1000
    assert isinstance(calibrate(33, STANDARD, 10**6).noise, DiscreteGaussian)


def test_scales_are_exact_rationals():
    assert isinstance(calibrate(33, STANDARD).noise.sigma, Fraction)
    assert isinstance(calibrate(2, STANDARD).noise.epsilon, Fraction)
    assert calibrate(2, STANDARD).noise.exact_epsilon == Fraction(1, 2)


def test_a_threshold_that_is_too_low_is_refused_with_the_least_one():
    text = r"^threshold must be at least 84 for epsilon = 1, delta = 1e-06 and height 32, got 83\.$"
    with pytest.raises(ParameterError, match=text):
        calibrate(33, STANDARD, 83)
    assert calibrate(33, STANDARD, 84).threshold == 84


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (0, r"^threshold must be at least 1, got 0\.$"),
        (-5, r"^threshold must be at least 1, got -5\.$"),
        (True, r"^threshold must be a whole number, got True\.$"),
        (1.5, r"^threshold must be a whole number, got 1\.5\.$"),
        (math.nan, r"^threshold must be a whole number, got nan\.$"),
        ("100", r"^threshold must be a whole number, got '100'\.$"),
    ],
)
def test_thresholds_are_whole_numbers(threshold, text):
    with pytest.raises(ParameterError, match=text):
        calibrate(33, STANDARD, threshold)


def test_limits():
    with pytest.raises(ParameterError, match=r"^tests must be at least 2, got 1\.$"):
        calibrate(1, STANDARD)
    text = r"^epsilon is too small for a tree of height 32: the noise would exceed 1e\+08, got 1e-12\.$"
    with pytest.raises(ParameterError, match=text):
        calibrate(33, Budget(1e-12, 1e-12))


def test_found_once():
    budget = Budget(0.7, 1e-7)
    assert chains(laplace, 9, budget) is chains(laplace, 9, Budget(0.7, 1e-7))


@pytest.mark.parametrize("law", [DiscreteLaplace(0.1), DiscreteGaussian(7.5), DiscreteGaussian(0.5)], ids=str)
def test_delta_falls_with_the_threshold_and_rises_with_the_tests(law):
    by_threshold = [chain_delta(law, threshold, 9, 1.0) for threshold in range(2, 60)]
    assert all(one >= other for one, other in pairwise(by_threshold))
    by_tests = [chain_delta(law, 40, tests, 1.0) for tests in range(2, 40)]
    assert all(one <= other * (1 + 1e-6) for one, other in pairwise(by_tests))


@pytest.mark.parametrize(
    ("law", "weight"),
    [
        (DiscreteLaplace(Fraction(1, 16)), lambda z: (-abs(Decimal(z)) / 16).exp()),
        (DiscreteGaussian(Fraction(15)), lambda z: (-Decimal(z * z) / 450).exp()),
        (DiscreteGaussian(Fraction(1, 2)), lambda z: (-Decimal(z * z) * 2).exp()),
    ],
    ids=["laplace", "gaussian", "narrow"],
)
def test_losses_are_rounded_up_and_failures_too(law, weight):
    """Against many digits: loss and -log F differ from the truth by 1e-12 at most, to the safe side."""
    threshold = 12
    found = Failures.of(law, threshold)
    with localcontext() as context:
        context.prec = 200
        reach = 3500 if isinstance(law, DiscreteLaplace) else 400
        below, total = {}, Decimal(0)
        for z in range(-reach, reach + 1):
            below[z] = total  # P[w < z], not yet divided
            total += weight(z)
        lowest = threshold - (len(found.loss) - 1)
        for index, t in enumerate(range(lowest, threshold)):
            hidden = float(-(below[t] / total).ln())
            loss = float((below[t] / below[t - 1]).ln())
            assert loss <= found.loss[index] <= loss * (1 + 3e-12)
            assert hidden * (1 - 3e-12) <= found.hidden[index] <= hidden
        untested = float(-(1 - (total - below[threshold - 1]) / total).ln())
    assert untested <= found.loss[-1] <= untested * (1 + 3e-12)
    assert found.hidden[-1] == 0


def test_large_scales_take_neighbouring_tests_together():
    """The table stays small, and the bound is a little larger than that of every test by itself."""
    law = DiscreteGaussian(3000)
    coarse = Failures.of(law, 20_000)
    t = np.arange(20_000 - 2 * (len(coarse.loss) - 1), 20_000)
    hidden = -np.asarray(law.log_tail(1 - t))
    loss = np.asarray(law.log_tail(1 - t)) - np.asarray(law.log_tail(2 - t))
    fine = Failures(np.append(hidden, 0.0), np.append(loss, coarse.loss[-1]), coarse.beyond)
    for epsilon in (0.005, 0.01):
        assert fine.all_fail(33, epsilon) <= coarse.all_fail(33, epsilon)
        assert coarse.all_fail(33, epsilon) <= 1.1 * fine.all_fail(33, epsilon)
    assert len(coarse.loss) < 30_000
