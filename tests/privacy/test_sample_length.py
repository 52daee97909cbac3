"""After how many rows the reporting probabilities without sampling reach 1, in exact arithmetic.

docs/proofs/sampling/sample.md, section 1: n* follows from floor(L) and from whether pi*_m, m = floor(L) + 1,
is below 1/2.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from tests.privacy import sample_reference as reference

Number = Fraction | mpmath.mpf
RATIOS = [Fraction(101, 100), Fraction(6, 5), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(20)]
DELTAS = [Fraction(1, 7), Fraction(1, 50), Fraction(1, 333), Fraction(1, 2000), Fraction(1, 10**5)]
EPSILONS = ["0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.2"]
EPSILONS += ["1.5", "1.8", "2", "2.5", "3", "4", "5", "6", "8", "10"]
# The digits of delta, by epsilon, with which more than 2 L + 1 counts lose.
BEYOND = {
    "0.1": {18},
    "0.3": {19},
    "0.5": {2, 12, 17},
    "0.7": {7, 14},
    "1": {4, 14},
    "1.2": {1, 13},
    "1.5": {5, 7, 18, 20},
    "1.8": {2, 6, 9, 13, 20},
    "2": {3, 4, 10, 16, 17},
    "2.5": {6, 7, 8, 19, 20},
    "3": {3, 7, 11, 15, 16, 20},
    "4": {4, 6, 9, 11, 13, 16, 18},
    "5": {1, 3, 5, 7, 9, 14, 16, 18, 20},
    "6": {1, 3, 6, 9, 11, 14, 16, 19},
    "8": {1, 4, 5, 8, 11, 12, 15, 18, 19},
    "10": {1, 2, 5, 6, 9, 10, 14, 15, 18, 19},
}


def rows_to_one(ratio: Number, delta: Number) -> int:
    """n*, by the recursion."""
    mass, rows = delta * 0, 0
    while mass < 1:
        mass = min(ratio * mass + delta, 1 - (1 - mass - delta) / ratio)
        rows += 1
    return rows


def by_the_formula(ratio: Number, delta: Number) -> int:
    power = (ratio - 1 + 2 * delta) / (delta * (ratio + 1))  # E^L
    m = 1
    while ratio**m <= power:
        m += 1
    if ratio ** (m - 1) == power:
        return 2 * m - 1
    return 2 * m + (2 * delta * (ratio**m - 1) < ratio - 1)


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
def test_the_number_of_rows_follows_from_the_formula_in_rationals(ratio):
    for delta in DELTAS:
        rows = by_the_formula(ratio, delta)
        assert rows == rows_to_one(ratio, delta)
        masses = reference.reporting(ratio, delta, [Fraction(1)] * rows)
        assert masses[rows] == 1 > masses[rows - 1]


@pytest.mark.parametrize("length", [1, 2, 5, 12])
@pytest.mark.parametrize("ratio", RATIOS, ids=str)
def test_an_integral_length_takes_twice_as_many_rows_and_one(ratio, length):
    delta = (ratio - 1) / (ratio**length * (ratio + 1) - 2)
    assert rows_to_one(ratio, delta) == by_the_formula(ratio, delta) == 2 * length + 1


def losing(epsilon: str, digits: int) -> tuple[int, int, mpmath.mpf]:
    """n* - 1 by the recursion and by the formula, and L, of a budget with delta = 10^-digits."""
    ratio, delta = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(10) ** -digits
    length = mpmath.log((ratio - 1 + 2 * delta) / (delta * (ratio + 1))) / mpmath.mpf(epsilon)
    return rows_to_one(ratio, delta) - 1, by_the_formula(ratio, delta) - 1, length


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_number_of_rows_follows_from_the_formula_over_a_grid_of_budgets(epsilon):
    with mpmath.workdps(80):
        ratio = mpmath.exp(mpmath.mpf(epsilon))
        least = 1 - mpmath.log((ratio + 1) / 2) / mpmath.mpf(epsilon)
        beyond = set()
        for digits in range(1, 21):
            rows, formula, length = losing(epsilon, digits)
            assert rows == formula <= 2 * mpmath.ceil(length)
            assert (rows > mpmath.floor(2 * length) + 1) == (rows > 2 * length + 1)
            assert (rows > 2 * length + 1) == (least < length - mpmath.floor(length) < 0.5)
            if rows > 2 * length + 1:
                beyond.add(digits)
    assert beyond == BEYOND.get(epsilon, set())


def test_lemma_4_3_fails_where_the_length_is_not_an_integer():
    """Cohen et al. 2021, Lemma 4.3: at most 2 L + 1 = 17.88 counts lose; 18 do, at epsilon 1, delta 1e-4."""
    with mpmath.workdps(80):
        rows, formula, length = losing("1", 4)
        assert (rows, formula, mpmath.nstr(2 * length + 1, 6)) == (18, 18, "17.877")
    assert sum(map(len, BEYOND.values())) == 79  # of 400
