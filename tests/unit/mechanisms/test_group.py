"""Group privacy: rows of one user together."""

import math
from fractions import Fraction

import pytest

from hushcount.jobs.release import release
from hushcount.mechanisms.users import for_users, row_budget
from hushcount.privacy import USER, Budget
from hushcount.sketches.space_saving import SpaceSaving


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 100, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-8)])
def test_rows_together_stay_within_the_budget(epsilon, delta, rows):
    each = row_budget(Budget(epsilon, delta), rows)
    assert rows * Fraction(each.epsilon) <= Fraction(epsilon)
    assert rows * each.epsilon > epsilon * (1 - 1e-12)
    steps = [math.exp(step * each.epsilon) for step in range(rows)]
    assert math.fsum(steps) * each.delta <= delta * (1 + 1e-9)
    assert math.fsum(steps) * each.delta >= delta * (1 - 1e-9)


def test_delta_zero_stays_zero():
    assert row_budget(Budget.pure(1.0), 4).delta == 0.0
    assert 4 * row_budget(Budget.pure(1.0), 4).epsilon <= 1.0


def test_the_guarantee_is_for_users():
    whole = Budget(1.0, 1e-6)
    each = row_budget(whole, 3)
    sketch = SpaceSaving(counters=8)
    sketch.update(["tea"] * 1000)
    found = for_users(release(sketch, epsilon=each.epsilon, delta=each.delta), whole, 3)
    promise = found.guarantee
    assert (promise.epsilon, promise.delta, promise.unit) == (1.0, 1e-6, USER)
    assert promise.mechanism == "floor release for groups of 3 rows"
    assert promise.parameters["max_rows"] == 3
    assert promise.parameters["row_epsilon"] == each.epsilon
    assert promise.parameters["row_delta"] == each.delta
    assert promise.proof == "docs/proofs/counters/floor.md, docs/proofs/sources/bounding.md"
