"""The output laws of PMG and its kin, enumerated on neighbouring summaries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from hushcount.audit import laws as hs
from hushcount.audit.neighbours import STATES, both_ways, neighbours
from hushcount.mechanisms.counters.misra_gries import (
    ChanRelease,
    PrivateMisraGries,
    PrivateMisraGriesPaper,
    PrivateMisraGriesStandard,
)
from hushcount.noise import tails
from hushcount.privacy import Budget
from hushcount.shapes import Public

PUBLIC = Public(candidates=5, parts=6)


def tight(epsilon: float, threshold: int) -> Budget:
    return Budget(epsilon, math.exp(tails.log_floor_tail(epsilon, threshold)) * (1 + 1e-9))


def tight_standard(epsilon: float, threshold: int) -> Budget:
    """A delta that the standard sketch with five candidates spends at this threshold."""
    tail = tails._LargestDifference.of(epsilon, 5).log_tail(threshold - 1)
    return Budget(epsilon, math.exp(tail) * (1 + 1e-9))


STANDARD_TIGHT = [tight_standard(1.0, 9), tight_standard(2.0, 5)]


def law_of(mechanism: Any, lower: int = 0) -> hs.NoisyThreshold:
    budget = mechanism.budget
    return hs.NoisyThreshold(mechanism.noise, mechanism.threshold - lower, budget.epsilon, budget.delta)


def shared_hs(mechanism: Any, more: hs.Summary, less: hs.Summary, least: int) -> hs.Bracket:
    return hs.shared_noise(law_of(mechanism), (more.heights(least), less.heights(least)))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), tight(1.0, 9), tight(2.0, 4), tight(0.5, 3)], ids=str)
@pytest.mark.parametrize("kind", [PrivateMisraGries, PrivateMisraGriesPaper])
def test_pmg_keeps_its_budget_in_every_state(kind: Callable[..., Any], budget: Budget, state: str) -> None:
    mechanism = kind(budget)
    for bystanders in (0, 1):
        for more, less in both_ways(neighbours(state, mechanism.threshold, bystanders)):
            assert shared_hs(mechanism, more, less, 0)[1] <= budget.delta


@pytest.mark.parametrize("budget", [tight(1.0, 9), tight(2.0, 4), tight(0.5, 3)], ids=str)
def test_pmg_spends_all_of_delta_and_one_lower_is_refuted(budget: Budget) -> None:
    mechanism = PrivateMisraGries(budget)
    more, less = next(neighbours("S6", mechanism.threshold, 0))
    assert shared_hs(mechanism, more, less, 0)[0] > budget.delta * (1 - 1e-8)
    heights = (more.heights(), less.heights())
    assert hs.shared_noise(law_of(mechanism, lower=1), heights)[0] > budget.delta


def all_at_one(keys: int) -> tuple[hs.Summary, hs.Summary]:
    """The worst pair of the standard sketch: one more event empties it."""
    counts = {f"x{index}": 8 for index in range(keys)}
    return hs.Summary(8, counts), hs.Summary(7, counts)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    "budget", [Budget(1.0, 1e-6), tight_standard(1.0, 9), tight_standard(2.0, 5)], ids=str
)
def test_standard_pmg_keeps_its_budget_in_every_state(budget: Budget, state: str) -> None:
    mechanism = PrivateMisraGriesStandard(budget, PUBLIC)
    for bystanders in (0, 1):
        for more, less in both_ways(neighbours(state, mechanism.threshold, bystanders)):
            assert shared_hs(mechanism, more, less, 1)[1] <= budget.delta


@pytest.mark.parametrize("budget", STANDARD_TIGHT, ids=str)
def test_standard_pmg_spends_all_of_delta_and_one_lower_is_refuted(budget: Budget) -> None:
    mechanism = PrivateMisraGriesStandard(budget, PUBLIC)
    empty, full = all_at_one(5)
    assert shared_hs(mechanism, empty, full, 1)[1] <= budget.delta
    low, high = shared_hs(mechanism, full, empty, 1)
    assert budget.delta * (1 - 1e-8) < low <= high <= budget.delta
    heights = (full.heights(1), empty.heights(1))
    assert hs.shared_noise(law_of(mechanism, lower=1), heights)[0] > budget.delta


def test_pmg_of_a_standard_sketch_at_the_threshold_of_pmg_is_refuted() -> None:
    """Dropping zeros at once isolates up to k keys: PMG's own threshold is too low for that."""
    mechanism = PrivateMisraGries(tight(1.0, 9))
    empty, full = all_at_one(5)
    assert shared_hs(mechanism, full, empty, 1)[0] > 2 * mechanism.budget.delta


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(2.0, 1e-3)], ids=str)
def test_chan_keeps_its_budget_in_every_state(budget: Budget, state: str) -> None:
    mechanism = ChanRelease(budget, PUBLIC)
    for bystanders in (0, 1, 2):
        for more, less in both_ways(neighbours(state, mechanism.threshold, bystanders)):
            laws = (more.heights(1), less.heights(1))
            assert hs.independent(law_of(mechanism), laws)[1] <= budget.delta


@pytest.mark.parametrize("heights", [(1, 1, 1, 1, 1), (1, 1, 1, 40, 40), (30, 31, 35, 40, 90)], ids=str)
def test_chan_keeps_its_budget_when_all_counters_move(heights: tuple[int, ...]) -> None:
    mechanism = ChanRelease(Budget(1.0, 1e-4), PUBLIC)
    less = {f"x{index}": height for index, height in enumerate(heights)}
    more = {key: height - 1 for key, height in less.items() if height > 1}
    for laws in ((more, less), (less, more)):
        assert hs.independent(law_of(mechanism), laws)[1] <= 1e-4


def test_chan_spends_delta_and_one_lower_is_refuted() -> None:
    mechanism = ChanRelease(Budget(1.0, 1e-4), PUBLIC)
    laws = (dict.fromkeys("abcde", 1), {})
    assert hs.independent(law_of(mechanism), laws)[0] > 0.8e-4
    assert hs.independent(law_of(mechanism, lower=1), laws)[0] > 1e-4


@pytest.mark.parametrize("keys", [2, 5, 20])
def test_fresh_noise_without_the_shared_term_is_refuted(keys: int) -> None:
    """One event lowers every height by one: independent noise pays epsilon for each."""
    mechanism = PrivateMisraGries(Budget(1.0, 1e-6))
    less = {f"x{index}": 100 for index in range(keys)}
    more = {key: height - 1 for key, height in less.items()}
    low, _ = hs.independent(law_of(mechanism), (more, less))
    assert low > {2: 0.3, 5: 0.5, 20: 0.95}[keys]
