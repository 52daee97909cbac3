"""Private weighted sampling in exact arithmetic: no subset of outputs exceeds delta, and the twins do."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import islice, pairwise

import pytest
from tests.privacy import sample_reference as reference

from hushcount.mechanisms.sample_banded import banded_rows, settled_masses
from hushcount.mechanisms.sample_grid import Grid, keys_grid, values_grid
from hushcount.mechanisms.sample_rows import Rows, stationary_masses
from hushcount.privacy import Budget
from hushcount.sketches.sampling_schemes import EVERY_KEY, Listed, Pps, Ppswor, Scheme

LAST = 60
RATIO, DELTA = Fraction(6, 5), Fraction(1, 500)  # E = 1.2
BUDGETS = [(1.0, 1e-6), (0.1, 1e-3), (0.5, 1e-9), (3.0, 0.2), (2.0, 1e-12), (0.02, 1e-5), (20.0, 1e-6)]


def random_sampling(seed: int) -> tuple[Fraction, ...]:
    """Non-decreasing, with steps and plateaus of many sizes."""
    generator = random.Random(seed)
    sizes = [generator.choice([0, 1, 1, 40]) for _ in range(LAST)]
    steps = [size * Fraction(generator.randrange(1, 1000), 1000) for size in sizes]
    scale = sum(steps) * Fraction(generator.choice([1, 1, 3]), 1)
    total, values = Fraction(generator.choice([0, 1]), 200), []
    for step in steps:
        total = min(Fraction(1), total + step / scale)
        values.append(total)
    return tuple(values)


def rational(scheme: Scheme) -> tuple[Fraction, ...]:
    return tuple(Fraction(scheme.integer_probability(i, 40), 1 << 40) for i in range(1, LAST + 1))


RANDOM = {f"random-{seed}": random_sampling(seed) for seed in range(10)}
SAMPLING = {
    "every-key": (Fraction(1),) * LAST,
    "ppswor": rational(Ppswor(0.03)),
    "pps": rational(Pps(0.02)),
    "pps-squared": rational(Pps(0.001, 2)),
    **RANDOM,
}
SCHEMES: dict[str, Scheme] = {
    "every-key": EVERY_KEY,
    "ppswor": Ppswor(0.03),
    "pps": Pps(0.02),
    "pps-squared": Pps(0.001, 2),
    "ppswor-root": Ppswor(0.3, 0.5),
    "distinct": Ppswor(0.2, 0),
    **{name: Listed(values) for name, values in RANDOM.items()},
}


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


def test_ppswor_by_count_is_the_smaller_of_the_optimum_and_the_sample():  # 004, Lemma 4.4
    grid, scheme = keys_grid(Budget(0.2, 1e-3)), Ppswor(0.03)
    masses, free = Rows(grid, scheme).reporting(0, 300), Rows(grid).reporting(0, 300)
    sampling = [scheme.integer_probability(i, grid.width) for i in range(301)]
    first = next(i for i in range(301) if free[i] > sampling[i])
    assert masses == free[:first] + sampling[first:]


@pytest.mark.parametrize("name", ["every-key", "ppswor", "random-3"])
def test_integer_map_is_algorithm_5_with_unit_intervals_joined(name):
    """Mass above each height agrees with the rational rows; only the rounding of 2^-128 is between them."""
    ratio = Fraction(3, 2)
    grid = Grid(128, 3 << 127, (1 << 128) // 500, depth=200)
    scheme = Listed(SAMPLING[name])
    rows = Rows(grid, scheme)
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


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", SCHEMES)
def test_published_rows_are_private_in_integers(budget, name):
    grid = values_grid(Budget(*budget))
    rows = Rows(grid, SCHEMES[name])
    limit = Fraction(budget[1]) * grid.whole
    for i in (*range(12), 29, 30, 59):
        old, new = rows.row(i), rows.row(i + 1)
        assert sum(new.values()) == grid.whole
        assert max(grid.excess(new, old), grid.excess(old, new)) <= limit


@pytest.mark.parametrize("name", SCHEMES)
def test_every_row_to_60_is_private_in_integers(name):
    grid = values_grid(Budget(0.2, 1e-3))
    rows = Rows(grid, SCHEMES[name])
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
    rows, joined = Rows(grid, SCHEMES[name], tokens), Rows(grid, SCHEMES[name])
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
    masses = Rows(grid, SCHEMES[name]).reporting(0, LAST)
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


@pytest.mark.parametrize("budget", BUDGETS)
def test_ratio_is_just_below_the_exponential_of_epsilon(budget):
    grid = values_grid(Budget(*budget))
    with localcontext() as context:
        context.prec = 80
        exponential = Fraction(Decimal(budget[0]).exp())
    ratio = Fraction(grid.ratio, 1 << grid.shift)
    assert exponential * (1 - Fraction(1, 1 << 100)) < ratio < exponential


@pytest.mark.parametrize("budget", [(1.0, 1e-6), (0.3, 1e-4)])
@pytest.mark.parametrize("name", SCHEMES)
def test_a_window_of_counts_gives_the_row_of_the_whole_recursion(budget, name):
    grid, scheme = values_grid(Budget(*budget)), SCHEMES[name]
    rows = Rows(grid, scheme)
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
def test_at_most_2L_plus_1_counts_lose(budget, name):  # 004, Lemma 4.3
    epsilon, delta = budget
    grid, scheme = keys_grid(Budget(*budget)), SCHEMES[name]
    masses = Rows(grid, scheme).reporting(1, 400)
    losing = sum(mass < scheme.integer_probability(i, grid.width) for i, mass in enumerate(masses, start=1))
    length = math.log((math.expm1(epsilon) + 2 * delta) / (delta * (math.exp(epsilon) + 1))) / epsilon
    assert losing <= 2 * length + 1


def test_from_certain_sampling_on_rows_become_stationary():
    grid = values_grid(Budget(1.0, 1e-6))
    rows = Rows(grid, Pps(0.05))
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
    published = Rows(grid, scheme).reporting(0, 40)
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
