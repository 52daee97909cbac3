"""Group privacy: the budget of one of several events that are protected together."""

from __future__ import annotations

import math

from hushcount.errors import ParameterError
from hushcount.noise.laplace import LEAST_EPSILON
from hushcount.privacy import SMALLEST_DELTA, Budget, unwarned


def group_budget(epsilon: float, delta: float, max_keys: int) -> Budget:
    """Return the budget for one event at which up to `max_keys` events together cost (epsilon, delta)."""
    smallest = max_keys * LEAST_EPSILON
    if epsilon < smallest:
        raise ParameterError(f"epsilon must be at least {smallest:g} for {max_keys} rows, got {epsilon}.")
    each = math.nextafter(epsilon / max_keys, 0) if max_keys > 1 else epsilon
    share = math.expm1(each) / math.expm1(epsilon)
    if delta * share < SMALLEST_DELTA:
        raise ParameterError(
            f"delta must be at least {SMALLEST_DELTA / share:.3g} for {max_keys} rows, got {delta}."
        )
    return unwarned(each, delta * share)


def row_budget(budget: Budget, rows: int) -> Budget:
    """Return the budget for one row at which up to `rows` rows together cost `budget`; delta 0 stays 0."""
    if budget.delta:
        return group_budget(budget.epsilon, budget.delta, rows)
    return unwarned(group_budget(budget.epsilon, 0.5, rows).epsilon, 0.0)
