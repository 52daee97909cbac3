"""The output law of the shard release, enumerated on two shards, one of which differs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from tests import reference
from tests.privacy.test_neighbours import deletions, streams_up_to_renaming

from hushcount.audit import laws as hs
from hushcount.audit.neighbours import STATES, both_ways, neighbours
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget


def tight(epsilon: float, margin: int) -> Budget:
    """A delta that the margin just meets."""
    law = DiscreteLaplace(epsilon)
    return Budget(epsilon, max(float(law.tail(margin)), 2 * float(law.tail(margin + 1))) * (1 + 1e-9))


BUDGETS = [Budget(1.0, 1e-6), Budget(3.0, 1e-9), tight(1.0, 9), tight(0.5, 5), tight(2.0, 4)]


def elsewheres(keys: set[str], far: int) -> Iterator[dict[str, int]]:
    """What the other shard may add to the keys that differ: nothing, one, much."""
    for heights in product((0, 1, far) if len(keys) < 3 else (0, far), repeat=len(keys)):
        yield dict(zip(sorted(keys), heights, strict=True))


def differing(one: hs.Summary, other: hs.Summary) -> set[str]:
    keys = one.counts.keys() | other.counts.keys()
    return {key for key in keys if one.counts.get(key) != other.counts.get(key)}


def worst(mechanism: ShardRelease, states: list[str]) -> float:
    found = [0.0]
    for state in states:
        height = mechanism.margin + mechanism.noise.centre  # around which the sums begin to be published
        for sides in both_ways(neighbours(state, height, 0)):
            for elsewhere in elsewheres(differing(*sides), 2 * mechanism.noise.largest):
                found.append(hs.shard_release(mechanism, sides, elsewhere)[1])
    return max(found)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_shard_release_keeps_its_budget_in_every_state(budget: Budget, state: str) -> None:
    assert worst(ShardRelease(budget), [state]) <= budget.delta


@pytest.mark.parametrize("budget", [tight(1.0, 9), tight(2.0, 4)], ids=str)
def test_shard_release_does_not_waste_its_budget(budget: Budget) -> None:
    assert worst(ShardRelease(budget), ["S2", "S3", "S5"]) >= 0.5 * budget.delta


@pytest.mark.parametrize("budget", [tight(1.0, 9), tight(0.5, 5), tight(2.0, 4)], ids=str)
def test_a_smaller_margin_is_refuted(budget: Budget) -> None:
    mechanism = ShardRelease(budget)
    lower = 1 if budget.epsilon >= 1 else 4
    mechanism.margin -= lower
    assert worst(mechanism, ["S2"]) > budget.delta


def test_floors_without_noise_are_refuted() -> None:
    """The twin: the sketch's own floors, published as they are."""
    mechanism = ShardRelease(Budget(1.0, 1e-6))
    mechanism.floor_noise = DiscreteLaplace(50.0)
    assert worst(mechanism, ["S1"]) > 0.9


@pytest.mark.parametrize("counters", [2, 3])
def test_shard_release_keeps_its_budget_on_every_pair_of_short_streams(counters: int) -> None:
    """From the streams of two shards to the output law, nothing assumed in between."""
    mechanism = ShardRelease(tight(1.5, 3))
    others = {frozenset(above(stream, counters).items()) for stream in streams_up_to_renaming(4, keys=3)}
    seen = set()
    for stream in streams_up_to_renaming(6, keys=4):
        for shorter in set(deletions(stream)):
            sides = summary(stream, counters), summary(shorter, counters)
            for other in others:
                elsewhere = {key: 3 * height for key, height in other}  # a heavier shard of the same shape
                case = signature(sides, elsewhere)
                if case not in seen:
                    seen.add(case)
                    for pair in (sides, sides[::-1]):
                        assert hs.shard_release(mechanism, pair, elsewhere)[1] <= mechanism.budget.delta
    assert len(seen) > 10


def signature(sides: tuple[hs.Summary, hs.Summary], elsewhere: dict[str, int]) -> tuple[object, ...]:
    low = min(side.floor for side in sides)
    rows = sorted(
        (*(side.counts.get(key, low - 9) - low for side in sides), elsewhere.get(key, 0))
        for key in differing(*sides)
    )
    return sides[0].floor - low, sides[1].floor - low, tuple(rows)


def summary(stream: tuple[int, ...], counters: int) -> hs.Summary:
    counts, floor, next_evicted = reference.space_saving(stream, counters)
    kept = reference.candidates(counts, next_evicted)
    return hs.Summary(floor, {str(key): count for key, count in kept.items()})


def above(stream: tuple[int, ...], counters: int) -> dict[str, int]:
    return {key: height for key, height in summary(stream, counters).heights().items() if height}


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_the_margin_is_the_least(epsilon: float, delta: float) -> None:
    margin, law = thresholds.shard_margin(epsilon, delta), DiscreteLaplace(epsilon)

    def holds(a: int) -> bool:
        return float(law.tail(a)) <= delta and float(law.tail(a + 1)) <= delta / 2

    assert holds(margin)
    assert margin == 1 or not holds(margin - 1)
