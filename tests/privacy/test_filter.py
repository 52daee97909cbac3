"""The filter against the best adversary, who chooses each step after seeing all earlier results.

Every (epsilon, 0) release is a function of randomised response. So the adversary plays randomised responses
of a few sizes and stops whenever she likes; she is computed by dynamic programming over (steps so far, loss).
"""

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hushcount.accounting.charges import Charge, Response
from hushcount.accounting.filter import ORDERS, Filter, Sums, conversion

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "accounting.json").read_text())
REFUTED = VECTORS["refuted_filter"]
STEPS = tuple(REFUTED["steps"])
UNIT = 0.1  # all sizes of steps are multiples of it


def best_adversary(steps, epsilon, allows):
    """The largest mass beyond exp(epsilon) that any way of choosing steps within `allows(counts)` reaches."""
    sizes = [round(float(step) / UNIT) for step in steps]
    states = reachable(len(steps), allows)
    far = max(sum(map(math.prod, zip(counts, sizes, strict=True))) for counts in states) + max(sizes)
    loss = UNIT * np.arange(-far, far + 1)
    stop = np.maximum(0.0, -np.expm1(epsilon - loss))
    value = {}
    for counts in sorted(states, key=sum, reverse=True):
        value[counts] = stop
        for place, size in enumerate(sizes):
            after = value.get(one_more(counts, place))
            if after is not None:
                up = 1 / (1 + math.exp(-UNIT * size))
                played = up * np.roll(after, -size) + (1 - up) * np.roll(after, size)
                value[counts] = np.maximum(value[counts], played)
    return value[(0,) * len(steps)][far]


def reachable(number, allows):
    """All counts of steps that a rule allows; rules are monotone, so each is reached one step at a time."""
    found, frontier = set(), {(0,) * number}
    while frontier:
        found |= frontier
        following = {one_more(counts, place) for counts in frontier for place in range(number)}
        frontier = {counts for counts in following - found if allows(counts)}
    return found


def one_more(counts, place):
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])


def by_rule(fixed, steps):
    """The rule of the ledger."""
    sums = [fixed.sums(Charge.pair(Decimal(step), Decimal(0))) for step in steps]

    def allows(counts):
        total = Sums()
        for count, each in zip(counts, sums, strict=True):
            total += Sums(each.delta * count, each.finite * count, each.renyi * count)
        return fixed.allows(total)

    return allows


def by_some_order(epsilon, slack, steps):
    """The broken rule: grant while any order of the grid fits."""
    bounds = np.array([float(epsilon - conversion(order, slack)) for order in ORDERS])
    curves = np.array([[float(Response(Fraction(step)).at(order)) for order in ORDERS] for step in steps])
    basic = np.array([float(step) for step in steps])

    def allows(counts):
        return counts @ basic <= float(epsilon) + 1e-12 or bool(np.any(counts @ curves <= bounds))

    return lambda counts: allows(np.array(counts))


def of_slack(epsilon, slack):
    return Filter.fixed(epsilon, "0.5", slack)


def test_the_rule_stays_below_its_slack():
    fixed = of_slack(REFUTED["epsilon"], REFUTED["slack"])
    assert fixed.order == Decimal(REFUTED["order"])
    reached = best_adversary(STEPS, 2.0, by_rule(fixed, STEPS))
    assert reached == pytest.approx(float(REFUTED["one_order_or_basic"]), abs=1e-12)
    assert reached < 0.01


def test_some_order_that_fits_is_refuted():
    rule = by_some_order(Decimal(REFUTED["epsilon"]), Decimal(REFUTED["slack"]), STEPS)
    reached = best_adversary(STEPS, 2.0, rule)
    assert reached == pytest.approx(float(REFUTED["some_order_of_the_grid"]), abs=1e-12)
    assert reached > 0.012


@pytest.mark.parametrize(
    ("epsilon", "slack", "steps"),
    [
        ("1", "0.01", ("0.1", "0.3", "0.5")),
        ("1", "0.001", ("0.1", "0.2", "0.4")),
        ("3", "0.01", ("0.2", "0.5", "1")),
        ("2", "0.1", ("0.1", "0.4", "1")),
        ("0.5", "0.05", ("0.1", "0.2")),
    ],
)
def test_the_rule_stays_below_its_slack_for_other_sizes(epsilon, slack, steps):
    fixed = of_slack(epsilon, slack)
    assert 0 < best_adversary(steps, float(epsilon), by_rule(fixed, steps)) < float(slack)


def test_delta_as_slack_and_for_the_releases_is_refuted():
    """The broken rule grants sum delta <= D and takes all of D as slack too."""
    delta = 0.01
    rest = best_adversary(STEPS, 2.0, by_rule(of_slack("2", "0.01"), STEPS))
    once = best_adversary(STEPS, 2.0, by_rule(of_slack("2", "0.005"), STEPS))
    # One release with all of delta tells everything with that probability; the others play on.
    assert delta + (1 - delta) * rest > 1.5 * delta
    # The rule leaves D - s = D/2 to the releases.
    assert delta / 2 + (1 - delta / 2) * once < delta


def test_two_budgets_stay_below_both_slacks():
    """A step is charged to one of two budgets; the loss beyond the sum of both epsilons is bounded."""
    steps = ("0.1", "0.3")
    one, two = by_rule(of_slack("0.8", "0.1"), steps), by_rule(of_slack("0.5", "0.1"), steps)
    reached = best_adversary(steps * 2, 1.3, lambda counts: one(counts[:2]) and two(counts[2:]))
    assert 0.01 < reached < 0.2
    # The broken claim is that of the first budget alone.
    assert best_adversary(steps * 2, 0.8, lambda counts: one(counts[:2]) and two(counts[2:])) > 0.1


def test_grants_lie_between_both_bounds():
    for row in VECTORS["filter"]:
        fixed = Filter.fixed(row["epsilon"], row["delta"])
        one = fixed.sums(Charge.pair(Decimal(row["release_epsilon"]), Decimal(row["release_delta"])))
        sums = itertools.accumulate(itertools.repeat(one, row["no_filter_can_grant_more_than"] + 1))
        granted = sum(1 for _ in itertools.takewhile(fixed.allows, sums))
        assert row["granted"] <= granted <= row["no_filter_can_grant_more_than"], row
        assert granted == row["granted"], row


def test_the_bounds_are_strict_enough_to_refute():
    """Without slack for the deltas, or with B a tenth larger, a vector is violated."""
    row = VECTORS["filter"][1]
    fixed = Filter.fixed(row["epsilon"], row["delta"])
    loose = Filter(fixed.epsilon, fixed.delta, fixed.slack, fixed.order, fixed.bound * Decimal("1.4"))
    one = loose.sums(Charge.pair(Decimal(row["release_epsilon"]), Decimal(row["release_delta"])))
    sums = itertools.accumulate(itertools.repeat(one, 1000))
    granted = sum(1 for _ in itertools.takewhile(loose.allows, sums))
    assert granted > row["no_filter_can_grant_more_than"]
