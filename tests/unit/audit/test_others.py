"""Watches are audited by all of their transcripts, and twins of them are refuted."""

from dataclasses import replace

import pytest

from hushcount.audit.others import PERIODS, _watches
from hushcount.audit.shipped import audit_shipped
from hushcount.mechanisms.continual.gate import Watching
from hushcount.mechanisms.continual.users import divided
from hushcount.privacy import Budget

BUDGET = Budget(1.0, 1e-6)


@pytest.mark.parametrize("name", ["gate", "gate-users"])
@pytest.mark.parametrize("budget", [BUDGET, Budget(0.5, 1e-4), Budget(3.0, 1e-9)], ids=str)
def test_a_watch_spends_its_claim_and_no_more(name, budget):
    found = audit_shipped(name, budget)
    assert not found.refuted
    assert found.share > 0.999


def spent(watching, keys):
    return max(each.delta for each in _watches(watching, keys, BUDGET.epsilon))


@pytest.mark.parametrize("keys", [1, 2])
def test_a_lower_threshold_is_refuted(keys):
    watching = Watching(divided(BUDGET, keys), PERIODS)
    assert spent(watching, keys) <= BUDGET.delta
    watching.gate = replace(watching.gate, tau=watching.gate.tau - 1)
    assert spent(watching, keys) > BUDGET.delta


def test_a_budget_that_is_not_divided_is_refuted():
    assert spent(Watching(BUDGET, PERIODS), 2) > 0.1
