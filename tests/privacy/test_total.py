"""A table with a noisy total: enumerated for events and for users of two keys, and twins that are refuted."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hushcount.audit import laws
from hushcount.audit.moved import geometric_pair, total_divergence
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.total import TotalRelease, rest_of, total_noise
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import EVENT, USER, Budget
from hushcount.shapes import ExactCounts, Public

BUDGET = Budget(1.0, 1e-3)
EVENTS = Public(unit=EVENT, moved=1, shape=ExactCounts)
PAIRS = Public(unit=replace(USER, rows=2), moved=2, shape=ExactCounts)
SHARE = 0.25
UNPAID, ONE_KEY = 80.167, 39.339  # times delta


def tables(table, moved):
    """Yield the table of up to `moved` keys that change, of all counts that the noise can hide, both ways."""
    last = table.noise.largest + 3
    for keys in range(moved + 1):
        for counts in product(range(1, last), repeat=keys):
            if list(counts) == sorted(counts):
                pairs = [laws.merged(geometric_pair(table.noise, count)) for count in counts]
                joint = laws.together(pairs)
                yield keys, joint
                yield keys, joint[::-1]


def worst(table, noise, moved, epsilon=BUDGET.epsilon):
    """The largest divergence of table and total; the total changes by the keys, and by keys nobody sees."""
    found = 0.0
    for keys, joint in tables(table, moved):
        for lost in range(moved - keys + 1):  # rows that change the total and no key that can be published
            found = max(found, total_divergence(joint, noise, epsilon, keys + lost))
    return found


@pytest.mark.parametrize(
    ("public", "moved", "share"), [(EVENTS, 1, 0.05), (EVENTS, 1, 0.5), (PAIRS, 2, 0.25)]
)
def test_table_and_total_together_keep_the_budget(public, moved, share):
    own = TotalRelease(BUDGET, public, "truncated-geometric", share)
    spent = worst(own.table, own.noise, moved)
    assert 0.9 * BUDGET.delta <= spent <= BUDGET.delta * (1 + 1e-9)


def test_the_total_alone_is_pure_at_its_share():
    own = TotalRelease(BUDGET, PAIRS, "truncated-geometric", SHARE)
    none = np.ones(1), np.ones(1)
    assert total_divergence(none, own.noise, SHARE * BUDGET.epsilon, 2) <= 1e-12
    assert total_divergence(none, own.noise, 0.99 * SHARE * BUDGET.epsilon, 2) > 1e-4


def test_a_total_that_is_not_paid_for_is_refuted():
    """The twin: the table takes all of epsilon, and the total comes on top."""
    table = TruncatedGeometric(BUDGET, EVENTS)
    spent = worst(table, total_noise(BUDGET, SHARE, 1), 1)
    assert spent / BUDGET.delta == pytest.approx(UNPAID, rel=1e-3)


def test_sensitivity_one_for_a_user_of_two_keys_is_refuted():
    """The twin: the noise of one event on a total that one user changes by two."""
    table = TruncatedGeometric(rest_of(BUDGET, SHARE), PAIRS)
    spent = worst(table, DiscreteLaplace(SHARE * BUDGET.epsilon), 2)
    assert spent / BUDGET.delta == pytest.approx(ONE_KEY, rel=1e-3)


def test_the_exact_number_of_what_is_not_published_is_refuted():
    """The twin: the exact total less the true counts of what is published; one rare event tells all."""
    counts = {"a": 40, "rare": 1}

    def unpublished(counts):  # neither side publishes "rare", so the number is that of its events
        return sum(count for key, count in counts.items() if key != "a")

    sides = unpublished(counts), unpublished({"a": 40})
    pair = np.eye(2)[[sides[0], sides[1]]]
    assert laws.hockey_stick((pair[0], pair[1]), BUDGET.epsilon) == 1.0
