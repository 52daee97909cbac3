"""The floor release of key shards: all short streams, all ways to deal their keys, and dealings that fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
import pytest
from tests import reference
from tests.privacy.test_neighbours import deletions, streams_up_to_renaming
from tests.privacy.test_space_saving import moves, tight

from hushcount.audit import laws as hs
from hushcount.mechanisms.counters.key_shards import KeyShardRelease
from hushcount.privacy import Budget

Stream = tuple[int, ...]
Deal = Callable[[Stream], list[Stream]]
KEYS, EVENTS, COUNTERS, SHARDS = 4, 5, 2, 2
MECHANISM = KeyShardRelease(tight(1.5, 3))


def by_key(dealt: tuple[int, ...]) -> Deal:
    """Each key has its shard, whatever the stream is."""
    return lambda stream: [tuple(key for key in stream if dealt[key] == shard) for shard in range(SHARDS)]


def by_position(stream: Stream) -> list[Stream]:
    """The twin: events are dealt in turn."""
    return [stream[shard::SHARDS] for shard in range(SHARDS)]


def by_load(stream: Stream) -> list[Stream]:
    """The twin: the heaviest key first, each to the shard that has least, so that shards are balanced."""
    dealt, load = [0] * KEYS, [0] * SHARDS
    for key in sorted(set(stream), key=lambda key: (-stream.count(key), key)):
        dealt[key] = load.index(min(load))
        load[dealt[key]] += stream.count(key)
    return by_key(tuple(dealt))(stream)


def summaries(parts: list[Stream]) -> list[hs.Summary]:
    found = []
    for part in parts:
        counts, floor, next_evicted = reference.space_saving(part, COUNTERS)
        kept = reference.candidates(counts, next_evicted)
        found.append(hs.Summary(floor, {str(key): count for key, count in kept.items()}))
    return found


@cache
def floor_pair(floors: tuple[int, int], rows: tuple[tuple[int, int], ...]) -> hs.LawPair:
    """What one shard publishes on both sides: its noisy floor, and the counts above it; -1 is not tracked."""
    budget, span = MECHANISM.budget, 60
    release = hs.NoisyThreshold(MECHANISM.noise, MECHANISM.threshold, budget.epsilon, budget.delta)
    sides = tuple(
        {str(place): row[side] for place, row in enumerate(rows) if row[side] >= 0} for side in (0, 1)
    )
    p, q = [], []
    for floor in range(min(floors) - span, max(floors) + span + 1):
        one, other = hs.together(hs.key_pairs(release, floor + release.threshold, sides))
        p.append(one * float(release.law.pmf(floor - floors[0])))
        q.append(other * float(release.law.pmf(floor - floors[1])))
    return hs.merged((np.concatenate(p), np.concatenate(q)))


def spent(deal: Deal, stream: Stream, shorter: Stream) -> float:
    """The divergence of everything that is published, of all shards together, in both directions."""
    sides = zip(summaries(deal(stream)), summaries(deal(shorter)), strict=True)
    cases = tuple(sorted(((more.floor, less.floor), moves(more, less)) for more, less in sides))
    return divergence(cases)


@cache
def divergence(cases: tuple[tuple[tuple[int, int], tuple[tuple[int, int], ...]], ...]) -> float:
    p, q = hs.together(floor_pair(*case) for case in cases)
    return max(hs.hockey_stick(pair, MECHANISM.budget.epsilon) for pair in ((p, q), (q, p)))


def test_all_streams_and_all_ways_to_deal_their_keys() -> None:
    """From the streams to the joint output law of both shards, nothing assumed in between."""
    worst = 0.0
    for stream in product(range(KEYS), repeat=EVENTS):
        for shorter in set(deletions(stream)):
            for dealt in product(range(SHARDS), repeat=KEYS - 1):  # the last key is in shard 0
                deal = by_key((*dealt, 0))
                changed = [one != other for one, other in zip(deal(stream), deal(shorter), strict=True)]
                assert sum(changed) == 1
                worst = max(worst, spent(deal, stream, shorter))
    assert 0.5 * MECHANISM.budget.delta < worst <= MECHANISM.budget.delta


@pytest.mark.parametrize("deal", [by_position, by_load])
def test_dealing_by_what_other_events_are_is_refuted(deal: Deal) -> None:
    """By everything that is published, and by the noisy floors alone, both of which move."""
    worst, floors = 0.0, 0.0
    for stream in streams_up_to_renaming(EVENTS, KEYS):
        for shorter in set(deletions(stream)):
            worst = max(worst, spent(deal, stream, shorter))
            sides = zip(summaries(deal(stream)), summaries(deal(shorter)), strict=True)
            floors = max(floors, divergence(tuple(((more.floor, less.floor), ()) for more, less in sides)))
    assert worst > 0.79 > 7 * MECHANISM.budget.delta
    assert floors > 0.5 > 5 * MECHANISM.budget.delta


def test_the_whole_budget_for_every_shard_is_not_that_of_a_user_of_two_keys() -> None:
    """A user whose two keys lie in two shards changes both: the twin claims (epsilon, delta) for users."""
    pair = floor_pair((0, 0), ((6, 5),))
    both = hs.together([pair, pair])
    assert hs.hockey_stick(both, MECHANISM.budget.epsilon) > 0.33 > 3 * MECHANISM.budget.delta


def test_at_the_budget_of_the_page_it_spends_338_thousandths() -> None:
    """The same at (1, 1e-6), for two keys far above the threshold: .338 where 1e-6 is claimed."""
    noise = KeyShardRelease(Budget(1.0, 1e-6)).noise
    values = np.arange(-60, 62)
    pair = (np.asarray(noise.pmf(values - 1)), np.asarray(noise.pmf(values)))
    spent = hs.hockey_stick(hs.together([pair, pair]), 1.0)
    print(f"the whole budget for both shards of a user: divergence {spent:.4f} for a claimed 1e-6")
    assert spent == pytest.approx(0.338, abs=5e-4)
