"""Divergences in fractions: known values, and bounds that stay bounds when something is not listed."""

import math
from fractions import Fraction
from itertools import chain, combinations

import pytest

from hushcount.audit.exact import as_claimed, both_ways, growth, hockey_stick, listed, spent_epsilon
from hushcount.errors import ParameterError

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
P = {"a": Fraction(3, 4), "b": Fraction(1, 4)}
Q = {"a": Fraction(1, 4), "b": Fraction(1, 2), "c": Fraction(1, 4)}


def subsets(outputs):
    return chain.from_iterable(combinations(outputs, size) for size in range(len(outputs) + 1))


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(3, 2), Fraction(3), Fraction(4)])
def test_the_divergence_is_the_worst_set(ratio):
    for one, other in ((P, Q), (Q, P)):
        worst = max(
            sum(one.get(x, 0) for x in chosen) - ratio * sum(other.get(x, 0) for x in chosen)
            for chosen in subsets("abc")
        )
        assert hockey_stick(one, other, ratio) == worst
    assert both_ways(P, Q, ratio) == max(hockey_stick(P, Q, ratio), hockey_stick(Q, P, ratio))


def test_what_is_not_listed_counts_against_the_bound():
    whole = hockey_stick(P, Q, Fraction(1))
    for hidden in "abc":
        part = {x: mass for x, mass in Q.items() if x != hidden}
        assert hockey_stick(P, part, Fraction(1)) <= whole
    assert hockey_stick({x: mass for x, mass in P.items() if x != "a"}, Q, Fraction(1)) <= whole


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "2.5", "20"])
def test_growth_is_just_above_the_exponential(epsilon):
    found = growth(Fraction(epsilon))
    total = term = Fraction(1)
    for count in range(1, 200):
        term *= Fraction(epsilon) / count
        total += term
    assert total < found < total * (1 + Fraction(1, 1 << 190))


def test_the_epsilon_that_is_spent():
    assert spent_epsilon(P, Q, Fraction(0)) == pytest.approx(math.log(3))
    assert spent_epsilon(Q, P, Fraction(0)) == math.inf
    assert spent_epsilon(Q, P, Fraction(1, 4)) == pytest.approx(math.log(2))
    assert spent_epsilon(P, P, Fraction(0)) == 0
    epsilon = Fraction(spent_epsilon(P, Q, Fraction(1, 10)))
    assert hockey_stick(P, Q, growth(epsilon - Fraction(1, 10**9))) > Fraction(1, 10)
    assert hockey_stick(P, Q, growth(epsilon + Fraction(1, 10**9))) < Fraction(1, 10)


def test_a_claim_is_the_number_typed_or_its_float():
    assert as_claimed(0.1) == Fraction(0.1) > Fraction(1, 10)
    assert as_claimed(1e-6) == Fraction("1e-6") > Fraction(1e-6)


@pytest.mark.parametrize("masses", [{"a": 1, "b": Fraction(1, 10)}, {"a": Fraction(-1, 2)}])
def test_what_is_no_distribution_is_refused(masses):
    with pytest.raises(ParameterError) as error:
        listed(masses)
    assert str(error.value) == (
        "distribution must return probabilities, at least 0 each and at most 1 together; give fractions,"
        " which add up exactly."
    )
