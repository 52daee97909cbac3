"""Twins of the releases of counter sketches."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from tests import reference
from tests.privacy.twins import Distribution, Twin, joint, noisy

from hushcount.audit.neighbours import FLOOR, FLOOR_KEY, neighbours
from hushcount.mechanisms.counters.floor import FloorRelease
from hushcount.mechanisms.counters.misra_gries import PrivateMisraGries
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.noise import tails
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget

SPAN = 60


def tight(epsilon: float, threshold: int) -> Budget:
    """The budget that the floor release and PMG spend to the last 1e-9 at this threshold."""
    return Budget(epsilon, math.exp(tails.log_floor_tail(epsilon, threshold)) * (1 + 1e-9))


BUDGET = tight(1.0, 9)
CLAIM = (BUDGET.epsilon, BUDGET.delta)


def with_floor(summary):
    return {FLOOR_KEY: summary.floor, **summary.counts}


S6 = tuple(with_floor(side) for side in next(neighbours("S6", 9, 0)))


@cache
def shown(threshold: int, heights: tuple[int, ...]) -> Fraction:
    """P[some of these heights + z - z0 reaches the threshold], summed over the noise z0 of the floor."""
    law = DiscreteLaplace(BUDGET.epsilon)
    total = 0.0
    for z0 in range(-SPAN, SPAN + 1):
        hidden = math.prod(1 - float(law.tail(threshold + z0 - height)) for height in heights)
        total += float(law.pmf(z0)) * (1 - hidden)
    return Fraction(total)


def isolated_above_the_floor(threshold: int):
    """Which side's isolated keys ("x" or "y") are published: a function of the release."""

    def distribution(counts):
        floor = counts[FLOOR_KEY]
        own = {key[0] for key in counts if key != FLOOR_KEY}
        heights = tuple(sorted(count - floor for key, count in counts.items() if key != FLOOR_KEY))
        seen = shown(threshold, heights)
        return {min(own): seen, None: 1 - seen}

    return distribution


def by_insertion():
    """Neighbouring streams of a SpaceSaving sketch that evicts the key inserted last: three isolated keys."""
    stream = (0, 1, 2, 3, 4, 4, 5, 3, 2, 1, 6, 7)
    kept = []
    for one in (stream, stream[:6] + stream[7:]):
        counts, floor, next_evicted = reference.space_saving_by_insertion(one, 5)
        kept.append((floor, reference.candidates(counts, next_evicted)))
    sides = []
    for (floor, own), (_, other), name in zip(kept, kept[::-1], "xy", strict=True):
        isolated = {f"{name}{key}": count for key, count in own.items() if key not in other}
        sides.append({FLOOR_KEY: floor, **isolated})
    return tuple(sides)


def floor_and_next_in_line(counts) -> Distribution:
    """All tracked keys are candidates: the floor and the key next in line for eviction change together."""
    law = DiscreteLaplace(1.0)
    return joint(noisy(law, counts[FLOOR_KEY]), noisy(law, counts["next"]))


def standard_at_the_threshold_of_pmg(counts) -> Distribution:
    """How many of five keys of height 1 are published; zeros are dropped, so the other side has none."""
    law, threshold = DiscreteLaplace(BUDGET.epsilon), PrivateMisraGries(BUDGET).threshold
    keys = len(counts)
    found = dict.fromkeys(range(1, keys + 1), Fraction(0))
    for z0 in range(-SPAN, SPAN + 1):
        each = float(law.tail(threshold - 1 - z0))
        for number in found:
            chance = math.comb(keys, number) * each**number * (1 - each) ** (keys - number)
            found[number] += Fraction(float(law.pmf(z0)) * chance)
    return found | {0: 1 - sum(found.values())}


def fresh_noise(counts) -> Distribution:
    """Heights with noise of their own and none in common: one event lowers all of 20, counted above 99."""
    law = DiscreteLaplace(1.0)
    up = [Fraction(float(law.tail(100 - height))) for height in counts.values()]
    number = {0: Fraction(1)}
    for p in up:
        after = dict.fromkeys(range(len(number) + 1), Fraction(0))
        for seen, mass in number.items():
            after[seen] += mass * (1 - p)
            after[seen + 1] += mass * p
        number = after
    return number


def floors_as_they_are(counts) -> Distribution:
    """The floor of a shard, published without noise."""
    return {counts[FLOOR_KEY] + ShardRelease(Budget(1.0, 1e-6)).margin: Fraction(1)}


TWENTY = {f"k{index}": 100 for index in range(20)}
THRESHOLD = FloorRelease(BUDGET).threshold
TWINS = {
    "floor release, threshold one lower": Twin(
        CLAIM, 2.4 * BUDGET.delta, S6, isolated_above_the_floor(THRESHOLD - 1)
    ),
    "SpaceSaving that evicts by insertion order": Twin(
        CLAIM, 1.1 * BUDGET.delta, by_insertion(), isolated_above_the_floor(THRESHOLD)
    ),
    "floor release of all tracked keys": Twin(
        (1.0, 1e-6),
        0.1,
        ({FLOOR_KEY: 101, "next": 101}, {FLOOR_KEY: 100, "next": 100}),
        floor_and_next_in_line,
    ),
    "PMG of a sketch that drops zeros": Twin(
        CLAIM, 2 * BUDGET.delta, ({f"x{i}": 1 for i in range(5)}, {}), standard_at_the_threshold_of_pmg
    ),
    "PMG with fresh noise for each key": Twin(
        (1.0, 1e-6), 0.9, (TWENTY, {key: height - 1 for key, height in TWENTY.items()}), fresh_noise
    ),
    "shard floors without noise": Twin(
        (1.0, 1e-6), 1.0, ({FLOOR_KEY: FLOOR + 1}, {FLOOR_KEY: FLOOR}), floors_as_they_are
    ),
}
