"""An existing sample, sanitised: exact distributions of sampling and sanitising together, and three twins."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from tests.privacy.sample_cases import SCHEMES

from hushcount.mechanisms.sampling.existing import ROUNDING, SanitisedSample
from hushcount.mechanisms.sampling.rows import SampleRows, values_grid
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor
from hushcount.privacy import Budget
from hushcount.shapes import Public
from hushcount.shapes.samples import SampledCounts

BUDGETS = [(1.0, 1e-6), (0.2, 1e-3), (3.0, 1e-9)]
NOTHING = 0


def mechanism(budget, scheme):
    return SanitisedSample(Budget(*budget), Public(shape=SampledCounts, scheme=scheme))


def sanitised(rows: SampleRows, count: int, sampled: Fraction) -> dict[int, Fraction]:
    """The distribution of what is published of a key of a count, sampled by whoever with some probability."""
    below = rows.scheme.integer_probability(count, rows.grid.width)
    if below == 0 or count == 0:
        return {NOTHING: Fraction(1)}
    row = rows.row(count)
    published = {value: sampled * Fraction(mass, below) for value, mass in row.items() if value != NOTHING}
    return {NOTHING: 1 - sum(published.values()), **published}


def divergence(p: dict, q: dict, ratio: Fraction) -> Fraction:
    return sum((max(mass - ratio * q.get(value, 0), 0) for value, mass in p.items()), Fraction(0))


def worst(laws: list[dict], ratio: Fraction) -> Fraction:
    return max(max(divergence(a, b, ratio), divergence(b, a, ratio)) for a, b in pairwise(laws))


def growth(rows: SampleRows) -> Fraction:
    """E, a little below exp(epsilon): what holds for it holds for epsilon."""
    return Fraction(rows.grid.ratio, 1 << rows.grid.shift)


@pytest.mark.parametrize("name", ["every-key", "ppswor", "pps", "pps-squared", "random-1", "random-4"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_sample_drawn_with_rounded_probabilities_is_private_end_to_end(budget, name):
    """The sampler is off by as much as it may, upwards and downwards in turn: the worst there is."""
    rows, scheme = mechanism(budget, SCHEMES[name]).rows, SCHEMES[name]
    off = Fraction(ROUNDING) / 2
    for start in (1, -1):
        laws = []
        for count in range(41):
            exact = Fraction(scheme.integer_probability(count, rows.grid.width), rows.grid.whole)
            rounded = exact + (off if (count % 2) * 2 - 1 == start else -off)
            laws.append(
                sanitised(rows, count, min(max(rounded, Fraction(0)), Fraction(1)) if count else Fraction(0))
            )
        assert worst(laws, growth(rows)) <= Fraction(budget[1])


def test_what_rounding_costs_is_paid_and_is_all_that_is_given_away():
    budget, scheme = (1.0, 1e-6), Ppswor(0.03)
    rows = mechanism(budget, scheme).rows
    exact = [
        Fraction(scheme.integer_probability(count, rows.grid.width), rows.grid.whole) for count in range(41)
    ]
    reached = worst([sanitised(rows, count, q) for count, q in enumerate(exact)], growth(rows))
    assert 1e-6 * (1 - 1e-5) < reached < 1e-6


@pytest.mark.parametrize("scheme", [Pps(0.01), Ppswor(0.001, 2)])
def test_a_sample_released_as_if_it_were_exact_counts_is_refuted(scheme):
    """The twin: truncated geometric noise on sampled counts; being sampled more often tells the count."""
    grid = values_grid(Budget(1.0, 1e-6))
    rows = SampleRows(grid, EVERY_KEY)
    laws = []
    for count in range(31):
        q = Fraction(scheme.integer_probability(count, grid.width), grid.whole)
        row = rows.row(count)
        published = {value: q * Fraction(mass, grid.whole) for value, mass in row.items() if value != NOTHING}
        laws.append({NOTHING: 1 - sum(published.values()), **published})
    spent = float(worst(laws, growth(rows)))
    print(f"{scheme.name}: {spent:.3g} for a claimed 1e-6")
    assert spent > 1.5e-4


def test_sanitising_one_sample_twice_is_refuted():
    """The twin: both releases rest on one draw, so together they are not (2 epsilon, 2 delta)-DP."""
    scheme = Pps(0.02)
    rows = mechanism((0.5, 1e-3), scheme).rows
    laws = []
    for count in range(13):
        q = Fraction(scheme.integer_probability(count, rows.grid.width), rows.grid.whole)
        once = sanitised(rows, count, Fraction(1))  # given that the key was sampled
        both = {(a, b): q * p * r for a, p in once.items() for b, r in once.items()} if count else {}
        both[NOTHING, NOTHING] = both.get((NOTHING, NOTHING), Fraction(0)) + 1 - q
        laws.append(both)
    spent = float(worst(laws, growth(rows) ** 2))
    print(f"{spent:.3g} for a claimed 2e-3")
    assert spent > 2.5e-3


def test_a_bottom_k_sample_sanitised_by_its_own_threshold_is_refuted():
    """The twin: 20 keys of 1000 events fill a bottom-20 sample; one event more may push any of them out."""
    budget, size = Budget(1.0, 1e-6), 20
    rows = SampleRows(values_grid(budget), EVERY_KEY)  # all keys are sampled: the threshold is infinite
    assert rows.reporting(1000, 1000) == [rows.grid.whole]
    every, after = Fraction(1), Fraction(1, size + 1)  # all 20 are published; scores are alike (power 0)
    spent = float(every - growth(rows) * after)
    print(f"{spent:.3g} for a claimed 1e-6")
    assert 0.87 < spent < 0.8706
