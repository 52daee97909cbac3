"""The share of a key, against the reference values."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from hushcount.mechanisms.continual.gate import Watching
from hushcount.mechanisms.continual.users import COMPOSED, DIVIDED, composed, divided, share_of_key
from hushcount.noise.lattice import typed
from hushcount.privacy import Budget

KNOWN = json.loads((Path(__file__).parents[3] / "vectors" / "continual.json").read_text())["users"]["rows"]


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: f"{row['T']}-{row['m']}")
def test_what_a_burst_needs_is_that_of_the_reference(row):
    budget = Budget(1.0, 1e-8)
    assert Watching(divided(budget, row["m"]), row["T"]).reliable == row["burst_basic"]
    several = composed(budget, row["m"])
    assert several.epsilon * row["m"] == pytest.approx(row["rr_e_times_m"], abs=2e-3)
    assert Watching(several, row["T"]).reliable == pytest.approx(row["burst_rr"], abs=1)
    taken = share_of_key(budget, row["m"], row["T"])
    better = min(row["burst_basic"], row["burst_rr"])
    assert Watching(taken.budget, row["T"]).reliable == pytest.approx(better, abs=1)
    assert taken.way == (DIVIDED if row["burst_basic"] <= row["burst_rr"] else COMPOSED)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 2.7])
@pytest.mark.parametrize("keys", [1, 2, 3, 7, 240])
def test_all_keys_together_spend_no_more_than_the_budget(epsilon, keys):
    watching = Watching(divided(Budget(epsilon, 1e-8), keys), 24, (1, 24))
    assert typed(epsilon) * Fraction(1 - 10**-12) < watching.gate.epsilon * keys <= typed(epsilon)
    assert sum(watching.levels.epsilons) * keys <= typed(epsilon)
    assert Fraction(watching.budget.delta) * keys <= Fraction(1e-8)


@pytest.mark.parametrize("keys", [2, 20, 200])
def test_composed_responses_spend_half_of_delta(keys):
    """By the binomial sum of their losses, in floats."""
    each = composed(Budget(1.0, 1e-6), keys)
    ups = np.arange(keys + 1)
    q = 1 / (1 + math.exp(-each.epsilon))
    more, less = binom.pmf(ups, keys, q), binom.pmf(ups, keys, 1 - q)
    spent = float(np.maximum(more - math.e * less, 0).sum())
    assert spent <= 5e-7 * (1 + 1e-6)
    assert each.delta * 2 * keys <= 1e-6
    assert keys == 2 or spent > 4.9e-7
