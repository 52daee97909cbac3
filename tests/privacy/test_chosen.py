"""The choice of the number of keys: its distribution, all small data, and twins that are refuted."""

from __future__ import annotations

import json
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.mechanisms.histograms.chosen import (
    CHOICE,
    STATEMENT,
    ChosenBound,
    RankedCounts,
    permute_and_flip,
)
from hushcount.privacy import USER, Budget
from hushcount.shapes import Public

VECTORS = json.loads(Path("tests/vectors/users.json").read_text())["permute_and_flip"]["cases"]
BOUNDS = (1, 2, 4)


def law(utilities: list[int], epsilon: float, sensitivity: float) -> list[float]:
    """p_m times the integral over 0..1 of the product of 1 - p_s x over all others, as a polynomial."""
    largest = max(utilities)
    p = [math.exp(-epsilon * (largest - each) / sensitivity) for each in utilities]
    found = []
    for m, own in enumerate(p):
        others = np.polynomial.Polynomial([1.0])
        for s, other in enumerate(p):
            if s != m:
                others *= np.polynomial.Polynomial([1.0, -other])
        found.append(own * float(others.integ()(1.0)))
    return found


@pytest.mark.parametrize("case", VECTORS, ids=str)
def test_the_formula_gives_the_reference(case):
    found = law(case["utilities"], case["epsilon"], case["sensitivity"])
    assert found == pytest.approx(case["probabilities"], rel=1e-9)


@pytest.mark.parametrize("case", VECTORS, ids=str)
def test_draws_follow_the_formula(case):
    """20,000 choices: every frequency within 6 standard deviations."""
    bits, draws = SeededBits(11), 20_000
    utilities = dict(enumerate(case["utilities"]))
    epsilon = Fraction(case["epsilon"])
    found = Counter(permute_and_flip(utilities, epsilon, case["sensitivity"], bits) for _ in range(draws))
    for name, probability in enumerate(case["probabilities"]):
        spread = math.sqrt(draws * probability * (1 - probability))
        assert abs(found[name] - draws * probability) <= 6 * spread


def utilities(users: tuple[frozenset[int], ...], reliable: dict[int, int], unit: int) -> list[int]:
    """q of each bound; the order of the keys of a user is that of their numbers, as a hash would fix one."""
    found = []
    for bound in BOUNDS:
        counts = Counter(key for keys in users for key in sorted(keys)[:bound])
        total = sum(min(count, reliable[bound]) for count in counts.values())
        found.append(unit // reliable[bound] * total)
    return found


SETS = [frozenset(keys) for size in range(5) for keys in combinations(range(4), size)]
RELIABLE = {1: 2, 2: 3, 4: 5}
UNIT = 60


def worst_ratio(sensitivity: float, epsilon: float) -> float:
    """The largest log ratio over all data of four users with up to four keys, and each user left out."""
    laws: dict[tuple[int, ...], list[float]] = {}
    worst = 0.0
    for users in combinations_with_replacement(SETS, 4):
        for left in set(users):
            rest = list(users)
            rest.remove(left)
            pair = []
            for some in (users, tuple(rest)):
                q = tuple(utilities(some, RELIABLE, UNIT))
                if q not in laws:
                    laws[q] = law(list(q), epsilon, sensitivity)
                pair.append(laws[q])
            ratios = [abs(math.log(p / r)) for p, r in zip(*pair, strict=True)]
            worst = max(worst, *ratios)
    return worst


def test_all_data_of_four_users_keep_the_budget_and_the_smaller_sensitivity_does_not():
    weights = {bound: UNIT // reliable for bound, reliable in RELIABLE.items()}
    sensitivity = max(bound * weight for bound, weight in weights.items())
    assert worst_ratio(sensitivity, 0.5) <= 0.5 + 1e-12
    twin = worst_ratio(max(weights.values()), 0.5)  # one key of a user where m can change
    print(f"the largest weight as sensitivity: log ratio {twin:.4f} for a claimed .5")
    assert twin == pytest.approx(0.8)


def test_utilities_rise_together_with_every_user():
    weights = {bound: UNIT // reliable for bound, reliable in RELIABLE.items()}
    for users in combinations_with_replacement(SETS, 3):
        before = utilities(users, RELIABLE, UNIT)
        for more in SETS:
            after = utilities((*users, more), RELIABLE, UNIT)
            for bound, low, high in zip(BOUNDS, before, after, strict=True):
                assert 0 <= high - low <= bound * weights[bound]


def test_the_exact_best_is_refuted():
    """The twin without chance: one user changes the best of all, so the choices have nothing in common."""
    worst = 0.0
    for users in combinations_with_replacement(SETS, 3):
        before = utilities(users, RELIABLE, UNIT)
        for more in SETS:
            sides = (before, utilities((*users, more), RELIABLE, UNIT))
            p, q = ([float(bound == side.index(max(side))) for bound in range(len(side))] for side in sides)
            worst = max(worst, sum(max(one - math.e * other, 0) for one, other in zip(p, q, strict=True)))
    assert worst == 1  # users.md: HS 1


def test_a_cut_by_arrival_lets_one_user_lower_a_utility():
    """The twin: at most two pairs in the order of the file. One user more pushes out those of others."""
    rows = [(1, "a"), (2, "a"), (3, "b")]
    kept = [Counter(key for _, key in some[:2]) for some in ([(0, "z"), *rows], rows)]
    assert kept[0]["a"] < kept[1]["a"]


def shape(counts: list[list[int]], pairs: list[int]) -> RankedCounts:
    import pyarrow as pa

    matrix = np.array(counts, np.int64)
    keys = pa.array([f"k{place}" for place in range(len(matrix))])
    sizes = tuple(1 << place for place in range(9))
    every = np.zeros(2048, np.int64)
    every[: len(pairs)] = pairs
    return RankedCounts(lambda: iter([(keys, matrix)]), every, sizes, USER)


def test_parts_of_the_budget_add_up():
    mechanism = ChosenBound(Budget(1.0, 1e-6), Public(unit=USER, moved=256))
    assert Fraction(mechanism.table.epsilon) + CHOICE + STATEMENT <= 1
    assert mechanism.table.epsilon == pytest.approx(0.95, rel=1e-12)
    assert mechanism.table.delta == 1e-6
    event = mechanism.event()
    assert (event.epsilon, event.delta) == (Decimal(1), Decimal("0.000001"))


def test_the_utility_is_what_the_page_says():
    mechanism = ChosenBound(Budget(1.0, 1e-6), Public(unit=USER, moved=256))
    assert mechanism.weights[1] == (1 << 20) // mechanism.routes[1].reliable
    assert mechanism.sensitivity == max(bound * weight for bound, weight in mechanism.weights.items())
    found = mechanism.utilities(shape([[10] * 9, [10_000] * 9], [1]))
    for bound, utility in found.items():
        reliable = mechanism.routes[bound].reliable
        assert utility == mechanism.weights[bound] * (min(10, reliable) + min(10_000, reliable))


@pytest.mark.parametrize(("column", "chosen", "count"), [(0, 1, 20), (4, 16, 130)])
def test_the_best_bound_is_chosen_where_the_data_are_clear(column, chosen, count):
    """500 keys that this bound publishes; a larger one does so less often, and a smaller one never."""
    counts = [[0] * column + [count] * (9 - column) for _ in range(500)]
    mechanism = ChosenBound(Budget(1.0, 1e-6), Public(unit=USER, moved=256))
    release = mechanism.release(shape(counts, [100_000] * chosen), SeededBits(5))
    assert release.guarantee.parameters["max_keys"] == chosen
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-6)
    assert 400 < len(release) <= 500
    assert release.notes[0].startswith(
        f"max_keys = {chosen} was chosen from the data. It kept at most about "
    )
    assert release.notes[0].endswith(f"users counted up to {8 * chosen} keys.")


def test_few_data_are_called_few():
    mechanism = ChosenBound(Budget(0.1, 1e-6), Public(unit=USER, moved=256))
    release = mechanism.release(shape([[3] * 9], [3]), SeededBits(5))
    assert "too few to say how much of them it kept, so it may be a poor choice." in release.notes[0]
    assert len(release) == 0
