"""A sample whose rate a noisy total sets: every pair of total and sample enumerated, and twins refuted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from hushcount.audit import laws
from hushcount.audit.moved import row_pair, steered_divergences
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.sized import SizedSample, WantedSize
from hushcount.privacy import EVENT, USER, Budget
from hushcount.shapes import Public

BUDGET = Budget(1.0, 1e-3)
USERS = replace(USER, rows=2)
COUNTS = (1, 2, 3, 5, 8, 12, 16, 20)
UNPAID = 156.923  # times delta


def rows_of(wanted, unit, make=None):
    """The integer rows of the sample that follows each noisy total."""
    public = Public(unit=unit)
    return cache(make or (lambda total: SizedSample(BUDGET, public, wanted, total).sample.rows))


def worst(rows, noise, moved, wanted, others=(0, 30)):
    """The largest divergence of total and sample: `moved` keys are or fewer, are raised by 1."""
    found = 0.0
    for keys in range(1, moved + 1):
        for counts in combinations_with_replacement(COUNTS, keys):
            for other in others:
                total = sum(counts) + other

                def table(drawn, counts=counts):
                    pairs = [row_pair(rows(drawn), count, keys_only=wanted.keys_only) for count in counts]
                    return laws.together(pairs) if len(pairs) > 1 else pairs[0]

                found = max(found, *steered_divergences(table, noise, BUDGET.epsilon, (total, total - keys)))
    return found


@pytest.mark.parametrize(
    "wanted",
    [
        WantedSize(10, share=0.5),
        WantedSize(10, share=0.25, scheme="ppswor"),
        WantedSize(10, share=0.5, power=0.5),
        WantedSize(200, share=0.5, power=2.0),
        WantedSize(10, share=0.5, tokens=3),
        WantedSize(10, share=0.5, keys_only=True),
    ],
    ids=lambda wanted: "-".join(map(str, wanted.fields().values())),
)
def test_total_and_sample_together_keep_the_budget_of_an_event(wanted):
    own = SizedSample(BUDGET, Public(unit=EVENT), wanted)
    spent = worst(rows_of(wanted, EVENT), own.noise, 1, wanted)
    assert 0.9 * BUDGET.delta <= spent <= BUDGET.delta * (1 + 1e-9)


def test_total_and_sample_together_keep_the_budget_of_a_user_of_two_keys():
    wanted = WantedSize(10, share=0.5)
    own = SizedSample(BUDGET, Public(unit=USERS), wanted)
    spent = worst(rows_of(wanted, USERS), own.noise, 2, wanted, others=(0,))
    assert 0.5 * BUDGET.delta <= spent <= BUDGET.delta * (1 + 1e-9)


def test_a_total_that_is_not_paid_for_is_refuted():
    """The twin: the sample takes all of epsilon, and the total comes on top."""
    wanted = WantedSize(10, share=0.5)
    rows = rows_of(wanted, EVENT, lambda total: PrivateSample(BUDGET, scheme=wanted.drawn_by(total)).rows)
    spent = worst(rows, SizedSample(BUDGET, Public(unit=EVENT), wanted).noise, 1, wanted)
    print(f"not paid for: {spent / BUDGET.delta:.3f} times delta")
    assert spent / BUDGET.delta == pytest.approx(UNPAID, rel=1e-3)


def with_exact_rate(wanted, count, other):
    """The joint distribution of the rate and of what is published of one key, if the exact total sets it."""
    rows = PrivateSample(BUDGET, scheme=wanted.drawn_by(count + other)).rows
    return {(rows.scheme.rate, value): mass / rows.grid.whole for value, mass in rows.row(count).items()}


@pytest.mark.parametrize("count", COUNTS)
def test_a_rate_from_the_exact_total_is_refuted(count):
    """The twin: the exact total sets the rate, which is published: it tells neighbours apart surely."""
    more, less = (with_exact_rate(WantedSize(10), each, 30) for each in (count, count - 1))
    outputs = sorted({*more, *less})
    p, q = (np.array([law.get(output, 0.0) for output in outputs]) for law in (more, less))
    assert laws.hockey_stick((p, q), BUDGET.epsilon) == pytest.approx(1.0, abs=1e-12)
