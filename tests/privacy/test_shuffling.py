"""The central guarantee of shuffled reports: never below exact enumeration, and the figures of its page."""

import itertools
import math

import pytest
from tests.privacy.shuffled_law import clones, divergence, shuffled, truthful_probability

from hushcount import ldp
from hushcount.errors import ParameterError
from hushcount.ldp.protocols import shuffling
from hushcount.ldp.protocols.shuffling import absent_variance, plan_central

SMALL = [(1, 12), (2, 6), (3, 3)]  # bits of a symbol, most users


def worst(local, bits, users, epsilon):
    """The largest divergence over the items of all others, and over the victim's two items or none."""
    symbols = 1 << bits
    truthful = truthful_probability(local, symbols)
    pairs = [(0, 1), (0, None), (None, 0)]
    return max(
        divergence(
            shuffled([first, *others], symbols, truthful),
            shuffled([second, *others], symbols, truthful),
            epsilon,
        )
        for others in itertools.combinations_with_replacement(range(min(symbols, 4)), users - 1)
        for first, second in pairs
    )


@pytest.mark.parametrize(("bits", "most"), SMALL)
@pytest.mark.parametrize("local", [0.5, 1.0, 3.0])
def test_never_below_exact_enumeration(bits, most, local):
    for users in {1, 2, 3, most}:
        for epsilon in (0.0, 0.2, 0.45 * local, 0.9 * local):
            bound = ldp.shuffled_divergence(local, symbol_bits=bits, users=users, epsilon=epsilon)
            assert bound >= worst(local, bits, users, epsilon)


def test_one_user_is_only_hidden_by_its_own_response():
    exact = worst(1.0, 2, 1, 0.5)
    bound = ldp.shuffled_divergence(1.0, symbol_bits=2, users=1, epsilon=0.5)
    assert bound == pytest.approx(exact, rel=1e-5)


def test_the_pair_that_hides_the_number_of_clones_is_refuted():
    """q = 4, local 1, four users, epsilon 0.5: it promises 0.0400 where 0.0472 is true."""
    pair = divergence(clones(1.0, 4, 4, True), clones(1.0, 4, 4, False), 0.5)
    exact = worst(1.0, 2, 4, 0.5)
    assert (round(pair, 4), round(exact, 4)) == (0.0400, 0.0472)
    assert exact > pair
    assert ldp.shuffled_divergence(1.0, symbol_bits=2, users=4, epsilon=0.5) >= exact


def brute(others, symbols, uniform, ratio):
    """The divergence for one number of uniform responses, summed over all counts of the two symbols."""
    total = 0.0
    for s in range(others + 2):
        either = math.comb(others + 1, s) * (2 / symbols) ** s * (1 - 2 / symbols) ** (others + 1 - s)
        for u in range(s + 1):
            gain = (1 - uniform) * symbols / (others + 1) * (u - ratio * (s - u)) - (ratio - 1) * uniform
            total += either * math.comb(s, u) / 2**s * max(gain, 0.0)
    return total


@pytest.mark.parametrize(("others", "symbols"), [(1, 2), (7, 4), (40, 8), (60, 1024)])
def test_the_closed_form_is_the_sum(others, symbols):
    for ratio in (1.0, 1.2, 2.5):
        found = shuffling._among(others, symbols, 0.4, ratio)
        assert found == pytest.approx(brute(others, symbols, 0.4, ratio), rel=1e-9, abs=1e-15)


def test_more_users_and_a_larger_epsilon_hide_more():
    deltas = [ldp.shuffled_divergence(2.0, symbol_bits=3, users=n, epsilon=0.3) for n in (10, 100, 1000)]
    assert deltas == sorted(deltas, reverse=True)
    deltas = [ldp.shuffled_divergence(2.0, symbol_bits=3, users=300, epsilon=e) for e in (0, 0.1, 0.5, 2)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] == 0.0


FIGURES = [(1, 2, 0.0150), (2, 3, 0.0365), (4, 6, 0.112), (6, 9, 0.312), (8, 10, 1.27)]


@pytest.mark.parametrize(("local", "bits", "figure"), FIGURES)
def test_the_figures_of_the_page(local, bits, figure):
    """100,000 users, delta 1e-9."""
    found = ldp.central_epsilon(local, symbol_bits=bits, users=100_000, delta=1e-9)
    assert figure * 0.99 < found <= figure
    assert ldp.shuffled_divergence(local, symbol_bits=bits, users=100_000, epsilon=found) <= 1e-9


@pytest.mark.parametrize(("bits", "local", "gain"), [(5, 6.11, 4.4), (6, 6.17, 5.9), (9, 6.60, 11.3)])
def test_the_smallest_count_falls_with_a_central_target(bits, local, gain):
    """(0.5, 1e-9) for 100,000 users, against local epsilon 2."""
    plan = plan_central(0.5, 1e-9, 100_000, bits)
    assert plan.local == pytest.approx(local, abs=0.01)
    ratio = math.sqrt(absent_variance(2.0, 3) / absent_variance(plan.local, bits))
    assert ratio == pytest.approx(gain, abs=0.1)


def test_the_planner_takes_the_smallest_error():
    plan = plan_central(0.5, 1e-6, 1000)
    errors = [absent_variance(*plan_central(0.5, 1e-6, 1000, bits)) for bits in range(1, 11)]
    assert absent_variance(*plan) == min(errors)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"local": 0}, "epsilon must be a finite number above 0, got 0."),
        ({"symbol_bits": 11}, "symbol_bits must be at most 10, got 11."),
        ({"users": 0}, "users must be at least 1, got 0."),
        ({"epsilon": -1}, "epsilon must be a finite number of at least 0, got -1."),
        ({"epsilon": math.nan}, "epsilon must be a finite number of at least 0, got nan."),
    ],
)
def test_bad_numbers(changed, text):
    given = {"local": 1.0, "symbol_bits": 2, "users": 10, "epsilon": 0.5} | changed
    with pytest.raises(ParameterError) as error:
        ldp.shuffled_divergence(given.pop("local"), **given)
    assert str(error.value) == text
