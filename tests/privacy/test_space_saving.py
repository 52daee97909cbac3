"""The output laws of the floor release and of DPSS, enumerated on neighbouring summaries."""

from __future__ import annotations

import math

import pytest
from tests import reference
from tests.privacy.test_neighbours import deletions, streams_up_to_renaming
from tests.privacy.twins.papers import dpss_threshold

from hushcount.audit import laws as hs
from hushcount.audit.neighbours import STATES, both_ways, neighbours
from hushcount.mechanisms.counters.floor import BoundedLengthRelease, FloorRelease
from hushcount.noise import tails
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Public


def tight(epsilon: float, threshold: int) -> Budget:
    """A budget whose delta the floor release spends to the last 1e-9 at this threshold."""
    return Budget(epsilon, math.exp(tails.log_floor_tail(epsilon, threshold)) * (1 + 1e-9))


TIGHT = [tight(1.0, 9), tight(2.0, 4), tight(0.3, 3)]
BUDGETS = [Budget(1.0, 1e-6), Budget(0.5, 1e-3), Budget(3.0, 1e-9), *TIGHT]


def law_of(mechanism: FloorRelease | BoundedLengthRelease, lower: int = 0) -> hs.NoisyThreshold:
    budget = mechanism.budget
    return hs.NoisyThreshold(mechanism.noise, mechanism.threshold - lower, budget.epsilon, budget.delta)


def floor_hs(mechanism: FloorRelease, more: hs.Summary, less: hs.Summary) -> float:
    return hs.floor_release(law_of(mechanism), more, less)[1]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_floor_release_keeps_its_budget_in_every_state(budget: Budget, state: str) -> None:
    mechanism = FloorRelease(budget)
    for bystanders in (0, 1, 2):
        for more, less in both_ways(neighbours(state, mechanism.threshold, bystanders)):
            assert floor_hs(mechanism, more, less) <= budget.delta


@pytest.mark.parametrize("budget", TIGHT, ids=str)
def test_floor_release_spends_all_of_delta(budget: Budget) -> None:
    mechanism = FloorRelease(budget)
    worst = max(floor_hs(mechanism, *pair) for pair in neighbours("S6", mechanism.threshold, 1))
    assert budget.delta * (1 - 1e-8) < worst <= budget.delta


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_floor_release_with_a_threshold_one_lower_is_refuted(budget: Budget) -> None:
    mechanism = FloorRelease(budget)
    more, less = next(neighbours("S6", mechanism.threshold, 0))
    low, _ = hs.floor_release(law_of(mechanism, lower=1), more, less)
    assert low > budget.delta


@pytest.mark.parametrize("counters", [2, 3, 4])
def test_floor_release_keeps_its_budget_on_every_short_stream(counters: int) -> None:
    """From the streams to the output law, nothing assumed in between."""
    mechanism = FloorRelease(tight(1.5, 3))
    seen = set()
    for stream in streams_up_to_renaming(6, keys=5):
        for shorter in set(deletions(stream)):
            more, less = summary(stream, counters), summary(shorter, counters)
            shape = (more.floor, less.floor, moves(more, less))
            if shape not in seen:
                seen.add(shape)
                assert floor_hs(mechanism, more, less) <= mechanism.budget.delta
                assert floor_hs(mechanism, less, more) <= mechanism.budget.delta


def moves(more: hs.Summary, less: hs.Summary) -> tuple[tuple[int, int], ...]:
    keys = more.counts.keys() | less.counts.keys()
    return tuple(sorted((more.counts.get(key, -1), less.counts.get(key, -1)) for key in keys))


def summary(stream: tuple[int, ...], counters: int) -> hs.Summary:
    counts, floor, next_evicted = reference.space_saving(stream, counters)
    kept = reference.candidates(counts, next_evicted)
    return hs.Summary(floor, {str(key): count for key, count in kept.items()})


def test_insertion_order_ties_are_refuted_by_their_output() -> None:
    """Three isolated keys a side: the budget that the sound rule just keeps is exceeded."""
    stream = (0, 1, 2, 3, 4, 4, 5, 3, 2, 1, 6, 7)
    mechanism = FloorRelease(tight(1.0, 9))
    sides = []
    for one in (stream, stream[:6] + stream[7:]):
        counts, floor, next_evicted = reference.space_saving_by_insertion(one, 5)
        kept = reference.candidates(counts, next_evicted)
        sides.append(hs.Summary(floor, {str(key): count for key, count in kept.items()}))
    low, _ = hs.floor_release(law_of(mechanism), sides[0], sides[1])
    assert low > 1.1 * mechanism.budget.delta


def test_all_tracked_keys_as_candidates_are_refuted() -> None:
    """With the key next in line among them, the floor and that key move together: twice epsilon."""
    everything = hs.NoisyThreshold(DiscreteLaplace(1.0), -60, 1.0, 1e-6)
    more, less = hs.Summary(101, {"next": 101}), hs.Summary(100, {"next": 100})
    low, _ = hs.floor_release(everything, more, less)
    assert low > 0.1


def bounded(budget: Budget, max_events: int, parts: int) -> BoundedLengthRelease:
    return BoundedLengthRelease(budget, Public(parts - 1, parts, max_events))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.5, 1e-4), Budget(2.0, 1e-9)], ids=str)
def test_dpss_with_a_public_length_keeps_its_budget(budget: Budget, state: str) -> None:
    mechanism = bounded(budget, max_events=85, parts=10)  # floors up to 8 = FLOOR + 1
    for bystanders in (0, 1, 2):
        for more, less in both_ways(neighbours(state, mechanism.threshold - 7, bystanders)):
            assert hs.independent(law_of(mechanism), (more.counts, less.counts))[1] <= budget.delta


def test_dpss_with_a_threshold_one_lower_is_refuted() -> None:
    epsilon, margin = 1.0, 9
    law = DiscreteLaplace(epsilon)
    below, above = float(law.tail(margin)), float(law.tail(margin + 1))
    budget = Budget(epsilon, (below + above - below * above) * (1 + 1e-9))
    mechanism = bounded(budget, max_events=70, parts=10)
    more, less = next(neighbours("S6", margin, 0))
    laws = (more.counts, less.counts)
    assert hs.independent(law_of(mechanism), laws)[1] <= budget.delta
    assert hs.independent(law_of(mechanism, lower=1), laws)[0] > budget.delta


def test_dpss_with_the_exact_length_in_its_threshold_is_refuted() -> None:
    """Holland 2025, Algorithm 3 as printed: n = 2000, k = 10, k~ = 20, ten keys at 185, epsilon = 1.

    Removing one of the other 150 events lowers the threshold; a value between the two thresholds can only
    come from the shorter stream.
    """

    def laplace_tail(value: float) -> float:
        return math.exp(-value) / 2

    between = laplace_tail(dpss_threshold(1999) - 185) - laplace_tail(dpss_threshold(2000) - 185)
    assert tails.any_of(10, between) > 0.2789


def test_the_exact_length_is_refuted_on_the_integers_too() -> None:
    """Ours with n for max_events: 2000 events against 1999, ten keys just below the threshold."""
    budget = Budget(1.0, 1e-6)
    longer, shorter = bounded(budget, 2000, 20), bounded(budget, 1999, 20)
    assert longer.threshold == shorter.threshold + 1
    value = float(longer.noise.pmf(0))  # a key at the lower threshold is published with exactly that count
    assert tails.any_of(10, value) > 0.99
