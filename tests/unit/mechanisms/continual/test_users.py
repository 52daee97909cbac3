"""The share of a key, against the reference values."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from hushcount.mechanisms.continual.gate import Watching
from hushcount.mechanisms.continual.users import budget_of_key
from hushcount.noise.lattice import typed
from hushcount.privacy import Budget

KNOWN = json.loads((Path(__file__).parents[3] / "vectors" / "continual.json").read_text())["users"]["rows"]


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: f"{row['T']}-{row['m']}")
def test_what_a_burst_needs_is_that_of_the_reference(row):
    budget = budget_of_key(Budget(1.0, 1e-8), row["m"])
    assert Watching(budget, row["T"]).reliable == row["burst_basic"]


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 2.7])
@pytest.mark.parametrize("keys", [1, 2, 3, 7, 240])
def test_all_keys_together_spend_no_more_than_the_budget(epsilon, keys):
    watching = Watching(budget_of_key(Budget(epsilon, 1e-8), keys), 24, (1, 24))
    assert typed(epsilon) * Fraction(1 - 10**-12) < watching.gate.epsilon * keys <= typed(epsilon)
    assert sum(watching.levels.epsilons) * keys <= typed(epsilon)
    assert Fraction(watching.budget.delta) * keys <= Fraction(1e-8)
