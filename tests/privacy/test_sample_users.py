"""Samples of users: m keys at (epsilon / m, delta / m) each, enumerated; the whole budget each is refuted."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Ppswor
from hushcount.privacy import USER, Budget
from hushcount.shapes import Public


def laws(mechanism, most):
    """The distribution of what is published of a key, for counts 0 to `most`, on common outputs."""
    rows = [mechanism.rows.row(count) for count in range(most + 1)]
    outputs = sorted({value for row in rows for value in row})
    whole = mechanism.rows.grid.whole
    return [np.array([row.get(value, 0) / whole for value in outputs]) for row in rows]


def divergence(pairs, epsilon):
    """The divergence of independent keys, for the first of each pair against the second."""
    p, q = np.ones(1), np.ones(1)
    for one, other in pairs:
        p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())


def worst(mechanism, keys, epsilon, counts):
    """The largest divergence over all counts of so many keys that one user raises by 1, both ways."""
    known = laws(mechanism, max(counts) + 1)
    moves = [(known[count + 1], known[count]) for count in counts]
    found = 0.0
    for chosen in product(moves, repeat=keys):
        found = max(found, divergence(chosen, epsilon), divergence([pair[::-1] for pair in chosen], epsilon))
    return found


@pytest.mark.parametrize("scheme", [EVERY_KEY, Ppswor(0.3)], ids=["every key", "ppswor"])
@pytest.mark.parametrize(("keys", "delta"), [(2, 1e-2), (2, 1e-3), (3, 1e-2)])
def test_keys_of_one_user_keep_the_budget_together(keys, delta, scheme):
    mechanism = PrivateSample(Budget(1.0, delta), Public(unit=replace(USER, rows=keys)), scheme)
    counts = range(40) if keys == 2 else (0, 1, 2, 5, 9, 14, 20)
    spent = worst(mechanism, keys, 1.0, counts)
    print(f"{keys} keys: {spent / delta:.3f} of delta {delta:g}")
    assert spent <= delta * (1 + 1e-9)
    if scheme == EVERY_KEY:
        assert spent > 0.7 * delta


def test_the_whole_budget_for_each_of_two_keys_is_refuted():
    mechanism = PrivateSample(Budget(1.0, 1e-6))
    spent = worst(mechanism, 2, 1.0, range(30))
    print(f"two keys at the whole budget: divergence {spent:.3f} for a claimed 1e-6")
    assert spent == pytest.approx(0.310, abs=1e-3)
