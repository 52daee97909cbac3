"""Binomial windows and tails against exact sums."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hushcount.noise import binomial


def mass(trials, chance, at):
    return float(math.comb(trials, at) * chance**at * (1 - chance) ** (trials - at))


@pytest.mark.parametrize(("trials", "chance"), [(0, 0.3), (1, 0.5), (50, 0.02), (300, 0.75), (5000, 0.125)])
def test_masses(trials, chance):
    found = binomial.window(trials, chance)
    for value, probability in zip(found.values.tolist()[::7], found.masses.tolist()[::7], strict=True):
        exact = mass(trials, Fraction(chance), int(value))
        assert probability == pytest.approx(exact, rel=1e-9, abs=1e-300)
    assert found.masses.sum() == pytest.approx(1, abs=1e-12)


def test_what_a_window_leaves_out_is_negligible():
    found = binomial.window(5000, 0.125)
    inside = sum(
        (
            math.comb(5000, k) * Fraction(1, 8) ** k * Fraction(7, 8) ** (5000 - k)
            for k in map(int, found.values)
        ),
        Fraction(0),
    )
    assert 1 - inside < binomial.OUTSIDE


def test_a_sure_event():
    assert binomial.window(4, 1.0).values.tolist() == [4.0]


def test_upper_tails():
    least, trials = np.array([-1.0, 0, 1, 3, 5, 6]), np.full(6, 5.0)
    exact = [sum(math.comb(5, k) for k in range(max(int(at), 0), 6)) / 32 for at in least]
    assert binomial.upper(least, trials).tolist() == pytest.approx(exact)
