"""Private weighted sampling as it is drawn, in integers: every row beside the next; the known-seed twin."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import islice, pairwise

import pytest
from tests.privacy.sample_cases import BUDGETS, LAST, SCHEMES
from tests.reference.sample_banded import banded_rows, settled_masses

from hushcount.mechanisms.sampling.rows import SampleRows, keys_grid, stationary_masses, values_grid
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor
from hushcount.privacy import Budget


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", SCHEMES)
def test_published_rows_are_private_in_integers(budget, name):
    grid = values_grid(Budget(*budget))
    rows = SampleRows(grid, SCHEMES[name])
    limit = Fraction(budget[1]) * grid.whole
    for i in (*range(12), 29, 30, 59):
        old, new = rows.row(i), rows.row(i + 1)
        assert sum(new.values()) == grid.whole
        assert max(grid.excess(new, old), grid.excess(old, new)) <= limit


@pytest.mark.parametrize("name", SCHEMES)
def test_every_row_to_60_is_private_in_integers(name):
    grid = values_grid(Budget(0.2, 1e-3))
    rows = SampleRows(grid, SCHEMES[name])
    laws = [rows.row(i) for i in range(LAST + 1)]
    reached = max(max(grid.excess(b, a), grid.excess(a, b)) for a, b in pairwise(laws))
    limit = Fraction(1e-3) * grid.whole
    assert reached <= limit
    assert reached > limit * (1 - Fraction(1, 10**12))  # and nothing is given away
    for i, law in enumerate(laws):
        assert grid.whole - law.get(0, 0) <= rows.scheme.integer_probability(i, grid.width)
        assert max(law) <= i


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("tokens", [3, 8])
def test_rows_of_tokens_are_private_in_integers(name, tokens):
    budget = Budget(0.5, 1e-3)
    grid = values_grid(budget, tokens)
    rows, joined = SampleRows(grid, SCHEMES[name], tokens), SampleRows(grid, SCHEMES[name])
    laws = [rows.row(i) for i in range(41)]
    limit = Fraction(1e-3) * grid.whole
    for old, new in pairwise(laws):
        assert max(grid.excess(new, old), grid.excess(old, new)) <= limit
    values: dict[int, int] = {}
    for token, mass in laws[40].items():
        values[-(-token // tokens)] = values.get(-(-token // tokens), 0) + mass
    assert values == joined.row(40)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", SCHEMES)
def test_keys_alone_are_private_in_integers(budget, name):
    grid = keys_grid(Budget(*budget))
    masses = SampleRows(grid, SCHEMES[name]).reporting(0, LAST)
    laws = [{0: grid.whole - mass, 1: mass} for mass in masses]
    for old, new in pairwise(laws):
        assert max(grid.excess(new, old), grid.excess(old, new)) <= grid.step
    assert Fraction(grid.step, grid.whole) <= Fraction(budget[1])


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", SCHEMES)
def test_rows_of_algorithm_4_are_private_in_integers(budget, name):
    grid, settled = keys_grid(Budget(*budget)), settled_masses(Budget(*budget))
    rows = list(islice(banded_rows(grid, SCHEMES[name], settled), 100))
    laws = [row.by_value(grid.whole) for row in rows]
    for old, new in pairwise(laws):
        assert sum(new.values()) == grid.whole
        assert max(grid.excess(new, old), grid.excess(old, new)) <= grid.step
    assert max(len(row.masses) for row in rows) <= grid.depth


@pytest.mark.parametrize("budget", [*BUDGETS, (0.1, 1e-9), (0.01, 1e-9), (0.7, 1e-40), (0.3, 0.9)])
def test_truncated_geometric_is_private_in_integers(budget):
    grid = values_grid(Budget(*budget))
    masses = stationary_masses(grid)
    law = {k: high - low for k, (low, high) in enumerate(pairwise(masses))}
    moved = {k + 1: mass for k, mass in law.items()}
    limit = Fraction(budget[1]) * grid.whole
    assert max(grid.excess(law, moved), grid.excess(moved, law)) <= limit
    assert grid.excess(law, moved) > limit * (1 - Fraction(1, 10**9))
    assert len(law) <= grid.depth


def test_a_law_rounded_to_32_bits_is_refuted():
    """The twin: probabilities to the nearest multiple of 2^-32 break the ratio of neighbouring masses."""
    grid = values_grid(Budget(1.0, 1e-6))
    masses = stationary_masses(grid)
    unit = 1 << (grid.width - 32)
    law = {k: round(Fraction(high - low, unit)) for k, (low, high) in enumerate(pairwise(masses))}
    moved = {k + 1: mass for k, mass in law.items()}
    assert grid.excess(law, moved) > Fraction(1e-6) * (1 << 32)


@pytest.mark.parametrize("budget", BUDGETS)
def test_ratio_is_just_below_the_exponential_of_epsilon(budget):
    grid = values_grid(Budget(*budget))
    with localcontext() as context:
        context.prec = 80
        as_typed = min(Decimal(budget[0]), Decimal(repr(budget[0])))
        exponential = Fraction(as_typed.exp())
    ratio = Fraction(grid.ratio, 1 << grid.shift)
    assert exponential * (1 - Fraction(1, 1 << 100)) < ratio < exponential


@pytest.mark.parametrize("budget", [(1.0, 1e-6), (0.3, 1e-4)])
@pytest.mark.parametrize("name", SCHEMES)
def test_a_window_of_counts_gives_the_row_of_the_whole_recursion(budget, name):
    grid, scheme = values_grid(Budget(*budget)), SCHEMES[name]
    rows = SampleRows(grid, scheme)
    published, above = [0], {0: 0}
    for count in range(1, 201):
        published.append(grid.report(published[-1], scheme.integer_probability(count, grid.width)))
        above = {h: grid.move(s, published[-2], published[-1]) for h, s in above.items()}
        above[count] = 0
        assert rows.reporting(count, count) == [published[-1]]
    whole = {value: above[value - 1] - above[value] for value in range(1, 201)}
    whole[0] = grid.whole - published[-1]
    assert rows.row(200) == {value: mass for value, mass in whole.items() if mass}


@pytest.mark.parametrize("budget", [(1.0, 1e-6), (0.5, 1e-9), (0.2, 1e-3)])
@pytest.mark.parametrize("name", SCHEMES)
def test_at_most_2L_plus_1_counts_lose(budget, name):  # Cohen et al. 2021, Lemma 4.3
    epsilon, delta = budget
    grid, scheme = keys_grid(Budget(*budget)), SCHEMES[name]
    masses = SampleRows(grid, scheme).reporting(1, 400)
    losing = sum(mass < scheme.integer_probability(i, grid.width) for i, mass in enumerate(masses, start=1))
    length = math.log((math.expm1(epsilon) + 2 * delta) / (delta * (math.exp(epsilon) + 1))) / epsilon
    assert losing <= 2 * length + 1


def test_from_certain_sampling_on_rows_become_stationary():
    grid = values_grid(Budget(1.0, 1e-6))
    rows = SampleRows(grid, Pps(0.05))
    start = rows.stationary_from
    assert start is not None
    masses = stationary_masses(grid)
    settled = {start - k: high - low for k, (low, high) in enumerate(pairwise(masses))}
    assert rows.row(start) == settled


@pytest.mark.parametrize("broken", [True, False])
def test_a_known_seed_leaks_the_count(broken):
    """With u known, a key of count i - 1 is never sampled where one of count i is; averaged over u."""
    budget, scheme = Budget(1.0, 1e-6), Ppswor(0.01)
    grid = keys_grid(budget)
    published = SampleRows(grid, scheme).reporting(0, 40)
    sampling = [scheme.integer_probability(i, grid.width) for i in range(41)]
    divergence = Fraction(0)
    for i in range(1, 41):
        before, after = published[i - 1], published[i]
        if broken:  # the seed is part of the output: u in [q_(i-1), q_i) is reported only for count i
            keep = Fraction(after, sampling[i])
            kept_before = Fraction(before, sampling[i - 1] or 1)
            shared = max(keep - Fraction(grid.ratio, 1 << grid.shift) * kept_before, 0)
            leak = (sampling[i] - sampling[i - 1]) * keep + sampling[i - 1] * shared
        else:
            leak = grid.excess({1: after}, {1: before})
        divergence = max(divergence, Fraction(leak) / grid.whole)
    assert (divergence > Fraction("1.4e-3")) is broken
    assert (divergence <= Fraction(1e-6)) is not broken
