"""The share of one key in the budget of a watch whose users may have several.

Proof: docs/proofs/continual/users.md. Checked by: tests/privacy/test_watch_users.py
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from hushcount.accounting.schedule import composed_epsilon
from hushcount.mechanisms.continual.thresholds import LEAST, threshold
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.lattice import typed
from hushcount.privacy import Budget, share_of
from hushcount.releases.accuracy import RELIABLE

DIVIDED = "epsilon divided by the keys"
COMPOSED = "composition of as many randomised responses, for half of delta"
CLOSE = 1e-6  # relative: to which the largest epsilon of a composition is found


class KeyShare(NamedTuple):
    """What gate and levels of one key may spend, and by which composition, in words."""

    budget: Budget
    way: str


def share_of_key(budget: Budget, keys: int, periods: int) -> KeyShare:
    """Return what one key may spend if a user adds one event to each of so many keys.

    Of both ways that are proved it is the one whose keys need fewer users in one period: public numbers
    decide.
    """
    plain = KeyShare(divided(budget, keys), DIVIDED)
    if keys == 1:
        return plain
    ways = [plain, KeyShare(composed(budget, keys), COMPOSED)]
    able = [way for way in ways if typed(way.budget.epsilon) >= LEAST]
    return min(able, key=lambda way: _burst(way.budget, periods), default=plain)


def divided(budget: Budget, keys: int) -> Budget:
    """Return the budget of one key of several whose epsilons and deltas add up.

    >>> divided(Budget(1.0, 1e-8), 1)
    Budget(epsilon=1.0, delta=1e-08)
    """
    if keys == 1:
        return budget
    whole = typed(budget.epsilon)
    each = float(whole / keys)
    while Fraction(each) * keys > whole:  # so many of them spend no more than the budget
        each = math.nextafter(each, 0)
    return share_of(each, math.nextafter(budget.delta / keys, 0))


def composed(budget: Budget, keys: int) -> Budget:
    """Return the budget of one key: randomised responses of all of them spend half of delta."""
    half = Decimal(math.nextafter(budget.delta / 2, 0))
    whole, low = Decimal(repr(budget.epsilon)), divided(budget, keys).epsilon
    high = budget.epsilon
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        fits = composed_epsilon(Decimal(middle), keys, half) <= whole
        low, high = (middle, high) if fits else (low, middle)
    return share_of(low, math.nextafter(budget.delta / (2 * keys), 0))


def _burst(budget: Budget, periods: int) -> int:
    """Return how many users a key needs in one period, to be published with 95%."""
    rate = typed(budget.epsilon)
    tail = DiscreteLaplace(rate).least_tail(1 - RELIABLE)
    return threshold(rate, budget.delta, periods) + tail - 1
