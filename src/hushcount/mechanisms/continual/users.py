"""The share of one key in the budget of a watch whose users may have several.

Proof: docs/proofs/continual/users.md. Checked by: tests/privacy/test_watch_users.py
"""

from __future__ import annotations

import math
from fractions import Fraction

from hushcount.noise.lattice import typed
from hushcount.privacy import Budget, share_of


def budget_of_key(budget: Budget, keys: int) -> Budget:
    """Return what gate and levels of one key may spend if a user adds one event to each of so many keys.

    >>> budget_of_key(Budget(1.0, 1e-8), 1)
    Budget(epsilon=1.0, delta=1e-08)
    """
    if keys == 1:
        return budget
    whole = typed(budget.epsilon)
    each = float(whole / keys)
    while Fraction(each) * keys > whole:  # so many of them spend no more than the budget
        each = math.nextafter(each, 0)
    return share_of(each, math.nextafter(budget.delta / keys, 0))
