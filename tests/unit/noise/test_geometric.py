"""Geometric noise and exact binomials: their laws, and that skipping does not change them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import ParameterError
from hushcount.noise.expansions import exponential
from hushcount.noise.geometric import Geometric, binomial, choice

DRAWS = 200_000
SIGMAS = 6.2  # a false alarm of 1e-9


def near(hits, trials, probability):
    return (
        abs(hits - trials * probability) <= SIGMAS * math.sqrt(trials * probability * (1 - probability)) + 1
    )


def test_a_sample_is_geometric():
    drawn = Geometric(Fraction(1, 2)).sample(DRAWS, SeededBits(1))
    for m in range(8):
        assert near((drawn >= m).sum(), DRAWS, math.exp(-m / 2))


def test_a_binomial_has_its_probabilities():
    bits, probability = SeededBits(2), math.exp(-0.7)
    drawn = [binomial(5, exponential(Fraction(7, 10)), bits) for _ in range(DRAWS // 10)]
    for k in range(6):
        mass = math.comb(5, k) * probability**k * (1 - probability) ** (5 - k)
        assert near(drawn.count(k), len(drawn), mass)


def test_a_choice_is_uniform_and_has_no_place_twice():
    bits = SeededBits(3)
    chosen = [tuple(choice(5, 2, bits).tolist()) for _ in range(DRAWS // 10)]
    assert all(one < two for one, two in chosen)
    assert len(set(chosen)) == 10
    assert all(near(chosen.count(pair), len(chosen), 0.1) for pair in set(chosen))


@pytest.mark.parametrize("count", [0, 1, 7])
def test_all_or_none_are_chosen(count):
    assert choice(count, count, SeededBits(4)).tolist() == list(range(count))
    assert choice(count, 0, SeededBits(4)).tolist() == []


def test_each_place_reaches_its_distance_with_its_probability():
    distances = np.array([3, -2, 1, 3, 0, 1, 12])
    bits, noise = SeededBits(5), Geometric(Fraction(1, 2))
    hits = np.zeros(len(distances))
    for _ in range(DRAWS // 10):
        hits[noise.reached(distances, bits)] += 1
    for place, distance in enumerate(distances):
        assert near(hits[place], DRAWS // 10, math.exp(-max(distance, 0) / 2))


def test_nobody_waits():
    assert Geometric(Fraction(1)).reached(np.zeros(0, np.int64), SeededBits(6)).tolist() == []


def test_a_rate_beyond_its_bounds_is_refused():
    with pytest.raises(ParameterError, match="epsilon must lie between"):
        Geometric(Fraction(0))
