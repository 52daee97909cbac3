"""Private weighted sampling in exact rationals: no subset of outputs exceeds delta, and the twins do."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from tests.privacy import sample_reference as reference
from tests.privacy.sample_cases import DELTA, RATIO, SAMPLING

from hushcount.mechanisms.sampling.rows import Grid, SampleRows, keys_grid
from hushcount.mechanisms.sampling.schemes import Ppswor
from hushcount.mechanisms.sampling.tabled import SamplingTable
from hushcount.privacy import Budget


def worst(rows: list[reference.Row]) -> Fraction:
    pairs = [(a, b) for a, b in pairwise(rows)]
    return max(max(reference.excess(a, b, RATIO), reference.excess(b, a, RATIO)) for a, b in pairs)


@pytest.mark.parametrize("name", SAMPLING)
def test_algorithm_3_in_rationals_exceeds_delta_by_exactly_0(name):
    assert worst(reference.keys_only(RATIO, DELTA, SAMPLING[name])) == DELTA


@pytest.mark.parametrize("name", SAMPLING)
def test_algorithm_4_in_rationals_exceeds_delta_by_exactly_0(name):
    assert worst(reference.algorithm_4(RATIO, DELTA, SAMPLING[name])) == DELTA


@pytest.mark.parametrize("name", SAMPLING)
def test_corrected_algorithm_5_in_rationals_exceeds_delta_by_exactly_0(name):
    pairs = reference.algorithm_5(RATIO, DELTA, SAMPLING[name])
    up = max(reference.excess(new, old, RATIO) for old, new in pairs)
    down = max(reference.excess(old, new, RATIO) for old, new in pairs)
    assert max(up, down) == DELTA


def test_printed_algorithm_5_exceeds_delta_by_the_known_amount():
    pairs = reference.algorithm_5(RATIO, DELTA, SAMPLING["every-key"], printed=True)
    down = max(reference.excess(old, new, RATIO) for old, new in pairs)
    assert down - DELTA == DELTA * (1 - 1 / RATIO)


def test_the_worst_subset_is_the_one_of_positive_terms():
    rows = reference.algorithm_4(RATIO, DELTA, SAMPLING["ppswor"][:9])
    for old, new in pairwise(rows):
        assert reference.worst_subset(new, old, RATIO) == reference.excess(new, old, RATIO)
        assert reference.worst_subset(old, new, RATIO) == reference.excess(old, new, RATIO)


@pytest.mark.parametrize("name", SAMPLING)
def test_algorithm_4_is_algorithm_5_joined_at_the_integers(name):
    rows = reference.algorithm_4(RATIO, DELTA, SAMPLING[name])
    published = reference.reporting(RATIO, DELTA, SAMPLING[name])
    above = {0: Fraction(0)}
    for height, (before, after) in enumerate(pairwise(published), start=1):
        rest = DELTA - max(1 - before - RATIO * (1 - after), 0)
        step = reference.Step(RATIO, DELTA, before, after, rest)
        above = {h: step.moved(mass) for h, mass in above.items()}
        above[height] = Fraction(0)
        assert rows[height] == {
            0: 1 - after,
            **{value: above[value - 1] - above[value] for value in range(1, height + 1)},
        }


def test_equation_5_holds_with_the_corrected_exponent():
    ratio, length = Fraction(3, 2), 4
    delta = (ratio - 1) / (ratio**length * (ratio + 1) - 2)  # so that L is an integer
    masses = reference.reporting(ratio, delta, [Fraction(1)] * (2 * length + 3))

    def rising(i):
        return delta * (ratio**i - 1) / (ratio - 1)

    for i in range(length + 2):
        assert masses[i] == rising(i)
    for i in range(length + 1, 2 * length + 2):
        assert masses[i] == 1 - rising(2 * length + 1 - i)
        assert masses[i] != 1 - rising(2 * length + 2 - i)  # as printed
    assert masses[2 * length + 1] == 1 > masses[2 * length]


def test_ppswor_by_count_is_the_smaller_of_the_optimum_and_the_sample():  # Cohen et al. 2021, Lemma 4.4
    grid, scheme = keys_grid(Budget(0.2, 1e-3)), Ppswor(0.03)
    masses, free = SampleRows(grid, scheme).reporting(0, 300), SampleRows(grid).reporting(0, 300)
    sampling = [scheme.integer_probability(i, grid.width) for i in range(301)]
    first = next(i for i in range(301) if free[i] > sampling[i])
    assert masses == free[:first] + sampling[first:]


@pytest.mark.parametrize("name", ["every-key", "ppswor", "random-3"])
def test_integer_map_is_algorithm_5_with_unit_intervals_joined(name):
    """Mass above each height agrees with the rational rows; only the rounding of 2^-128 is between them."""
    ratio = Fraction(3, 2)
    grid = Grid(128, 3 << 127, (1 << 128) // 500, depth=200)
    scheme = SamplingTable(SAMPLING[name])
    rows = SampleRows(grid, scheme)
    above = {0: Fraction(0)}
    published = reference.reporting(ratio, Fraction(grid.step, grid.whole), scheme.probabilities[:30])
    for height, (before, after) in enumerate(pairwise(published), start=1):
        delta = Fraction(grid.step, grid.whole)
        rest = delta - max(1 - before - ratio * (1 - after), 0)
        step = reference.Step(ratio, delta, before, after, rest)
        above = {h: step.moved(mass) for h, mass in above.items()}
        above[height] = Fraction(0)
    integer = rows.row(30)
    for value in range(1, 31):
        exact = above[value - 1] - above[value]
        assert abs(exact - Fraction(integer.get(value, 0), grid.whole)) < Fraction(1, 1 << 100)
