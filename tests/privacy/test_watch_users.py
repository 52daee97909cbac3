"""Users of a watch: whole contributions, enumerated in both directions, and twins that are refuted."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.continual_law import Law
from tests.privacy.watch_users import added, contributions, kept, reacting, together

from hushcount.mechanisms.continual.thresholds import threshold
from hushcount.mechanisms.continual.users import composed
from hushcount.privacy import share_of

ROOT = 0.5**0.5  # exp(-epsilon) of one of two keys; exp(epsilon) of both is 2
QUARTER = ROOT**0.5
LEAVES = Law(a=ROOT, tau=(6,) * 4, nodes=((1, ROOT),))
LAWS = {
    "leaves": LEAVES,
    "L = 2": replace(LEAVES, least=2),
    "levels": replace(LEAVES, nodes=((1, QUARTER), (2, QUARTER))),
    "retirement": replace(LEAVES, retire=1),
    "backfill": Law(a=ROOT**0.75, tau=(6,) * 4, nodes=((1, ROOT),), past=((1, ROOT**0.25),)),
}
SINGLE = Law(tau=(4,) * 4, nodes=((1, 0.5),))  # of users with one key


def claim(law, periods):
    """What the gate of one key may lose."""
    z = np.arange(1000)
    ever = 1 - (1 - law.a ** (law.tau[0] - law.least + z)) ** periods
    return float(((1 - law.a) * law.a**z * ever).sum())


def streams(periods, most):
    """Small streams of others, each with the streams in which the user adds one event."""
    for events in itertools.product(range(most + 1), repeat=periods):
        for period in (None, *range(periods)):
            yield period, (events if period is None else added(events, period), events)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("periods", "most"), [(1, 5), (2, 2), (3, 1)])
def test_a_user_with_any_rows_spends_at_most_the_claim(name, periods, most):
    """All that the rule of two keys lets a user with any rows in three keys add, to any streams of others."""
    law, cost = LAWS[name], 2 * claim(LAWS[name], periods)
    possible = {tuple(each for each in one if each is not None) for one in contributions(periods, "abc", 2)}
    assert max(map(len, possible)) == 2
    larger = smaller = 0.0
    singles = list(streams(periods, most))
    for (first, one), (second, other) in itertools.combinations_with_replacement(singles, 2):
        if tuple(each for each in (first, second) if each is not None) in possible:
            found = together(law, (one, other), 2.0)
            larger, smaller = max(larger, found[0]), max(smaller, found[1])
    # Two keys that nobody else has: one of them is published with 1 - (1 - cost / 2)^2.
    assert larger == pytest.approx(cost - cost**2 / 4, rel=1e-6)
    assert smaller < larger


@pytest.mark.parametrize("larger_first", [True, False])
@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize(("name", "periods"), [(name, 2) for name in LAWS] + [("leaves", 3)])
def test_users_who_react_gain_nothing(name, periods, others, larger_first):
    """A user sees what is published of the first key before the second is chosen."""
    law = LAWS[name]
    found = reacting(law, periods, 2, others=others, larger_first=larger_first)
    assert found <= 2 * claim(law, periods) * (1 + 1e-9)
    if others:  # with L = 2 both streams still lack a test in the first period
        assert found < 1e-9 or law.least == 2


def test_what_is_kept_of_a_user_is_a_function_of_its_rows_and_each_key_counts_once():
    for rows in itertools.product(["", "a", "ab", "ba", "abc"], repeat=3):
        for most in (1, 2, 3):
            found = kept(rows, most)
            assert len(found) <= most
            assert all(
                key in rows[period] and key not in "".join(rows[:period]) for key, period in found.items()
            )


def largest(law, keys, e_epsilon=2.0):
    """The larger of both directions."""
    return max(together(law, keys, e_epsilon))


@pytest.mark.parametrize(
    ("keys", "least"),
    [
        # The bound is for each batch, or a later key with a smaller hash takes the place of one that counted.
        ([((8, 1, 0), (8, 0, 0)), ((8, 0, 1), (8, 0, 0))], 0.22),
        # A key counts in every period in which the user has it.
        ([((2, 1, 1), (1, 0, 0))], 0.35),
        # Whose row is kept depends on others: a row of this user takes the place of another user's.
        ([((8, 1), (8, 0)), ((8, 0), (8, 1))], 0.22),
    ],
)
def test_twins_of_the_bound_lose_where_nothing_may_be_lost(keys, least):
    """All keys are known to both streams, so one key of one user must not cost anything beyond epsilon."""
    assert largest(SINGLE, keys) > least
    for _, events in keys:
        for period in range(len(events)):
            assert largest(SINGLE, [(added(events, period), events)]) < 1e-9


def test_a_pair_that_is_forgotten_when_its_key_retires_counts_in_two_lives():
    law, events = replace(SINGLE, retire=1), (3, 0, 3, 0)
    assert largest(law, [((4, 0, 4, 0), events)]) == pytest.approx(2 / 9)
    assert largest(law, [((4, 0, 3, 0), events)]) < 1e-9
    assert largest(law, [((3, 0, 4, 0), events)]) < 1e-9


def test_a_late_row_that_counts_in_the_cell_of_the_open_period_is_refuted():
    """Rows of one day, of which one comes a day late, then count under two cells of one key each."""
    cells = [kept(["a"], 1), kept(["b"], 1)]
    assert [list(each) for each in cells] == [["a"], ["b"]]
    assert largest(SINGLE, [((8, 1, 0), (8, 0, 0)), ((8, 0, 1), (8, 0, 0))]) > 0.22
    assert len(kept(["a", "b"], 1)) == 1


def test_a_delta_that_is_not_divided_is_refuted():
    """Thresholds of two keys that lose delta each, not delta / 2."""
    law, new = replace(LEAVES, tau=(8,) * 3), ((1, 0, 0), (0, 0, 0))
    assert largest(law, [new, new]) / claim(law, 3) == pytest.approx(1.8550, abs=1e-4)


def test_an_epsilon_that_is_not_divided_is_refuted():
    """Two keys that are known, or near the threshold, with noise for one."""
    assert largest(SINGLE, [((8, 1), (8, 0))] * 2) > 0.21
    assert largest(SINGLE, [((6, 0), (5, 0))] * 2) == pytest.approx(2 / 9)
    halved = replace(SINGLE, a=ROOT, nodes=((1, ROOT),))
    assert largest(halved, [((8, 1), (8, 0))] * 2) < 1e-9
    assert largest(halved, [((6, 0), (5, 0))] * 2) < 1e-9


def worst_of_three(epsilon, delta, periods):
    """The worst user with three keys, each new, near the threshold or known, at this budget for each."""
    a, tau = math.exp(-epsilon), threshold(Fraction(epsilon), delta, periods)
    law, still = Law(a=a, tau=(tau,) * 4, nodes=((1, a),)), (0,) * (periods - 1)
    events = [(count, *still) for count in (0, 1, tau - 1, tau, tau + 6)]
    singles = [(added(each, t), each) for each in events for t in range(periods)]
    users = itertools.combinations_with_replacement(singles, 3)
    return np.max([together(law, user, 2.0) for user in users], axis=0)


@pytest.mark.parametrize("delta", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("periods", [1, 2])
def test_composed_responses_hold_for_three_keys(delta, periods):
    """Their epsilon is larger than a third; the deltas are large, so that the difference is seen."""
    each = composed(share_of(math.log(2), delta), 3)
    assert each.epsilon > 1.4 * math.log(2) / 3
    larger, smaller = worst_of_three(each.epsilon, each.delta, periods)
    assert 0.499 * delta < larger <= delta
    assert smaller <= delta


def test_a_delta_that_responses_and_gates_both_spend_is_refuted():
    spent = composed(share_of(math.log(2), 0.3), 3)
    assert spent.delta == pytest.approx(0.15 / 3)
    assert max(worst_of_three(spent.epsilon, spent.delta, 1)) / 0.15 > 1.006
