"""The output law of the stability histogram, enumerated on neighbouring histograms."""

from __future__ import annotations

import pytest

from hushcount.audit import laws as hs
from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget


def tight(epsilon: float, threshold: int) -> Budget:
    """A delta that is spent to the last 1e-9 at this threshold."""
    return Budget(epsilon, float(DiscreteLaplace(epsilon).tail(threshold - 1)) * (1 + 1e-9))


def law_of(mechanism: LaplaceThreshold, lower: int = 0) -> hs.NoisyThreshold:
    budget = mechanism.budget
    return hs.NoisyThreshold(mechanism.noise, mechanism.threshold - lower, budget.epsilon, budget.delta)


BUDGETS = [Budget(1.0, 1e-6), Budget(0.1, 1e-3), tight(1.0, 9), tight(2.0, 4), tight(0.2, 12)]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_stability_histogram_keeps_its_budget(budget: Budget) -> None:
    mechanism = LaplaceThreshold(budget)
    t = mechanism.threshold
    for count in (1, 2, 3, t - 1, t, t + 1, t + 20):
        more = {"moved": count, "still": t}
        less = {"moved": count - 1, "still": t} if count > 1 else {"still": t}
        for laws in ((more, less), (less, more)):
            assert hs.independent(law_of(mechanism), laws)[1] <= budget.delta


@pytest.mark.parametrize("budget", [tight(1.0, 9), tight(2.0, 4), tight(0.2, 12)], ids=str)
def test_stability_histogram_spends_all_of_delta_and_one_lower_is_refuted(budget: Budget) -> None:
    mechanism = LaplaceThreshold(budget)
    laws = ({"new": 1}, {})
    assert hs.independent(law_of(mechanism), laws)[0] > budget.delta * (1 - 1e-8)
    assert hs.independent(law_of(mechanism, lower=1), laws)[0] > budget.delta


def test_no_threshold_at_all_is_refuted() -> None:
    """A key that occurs on one side only betrays itself."""
    everything = hs.NoisyThreshold(DiscreteLaplace(1.0), -60, 1.0, 1e-6)
    assert hs.independent(everything, ({"new": 1}, {}))[0] > 0.99
