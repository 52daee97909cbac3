"""What the shard release publishes for given noise, its intervals, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import KeyTypeError, NotProvedError, ParameterError
from hushcount.jobs.release import release
from hushcount.mechanisms.counters.shards import ShardRelease, above_floors, histogram_budget
from hushcount.privacy import Budget
from hushcount.shapes import FloorCounters, KeyShards, Shards
from hushcount.sketches.merged import DealtByKey, shards_of

BUDGET = Budget(1.0, 1e-6)


def part(floor, **heights):
    counts = np.array([floor + height for height in heights.values()], dtype=np.int64)
    return FloorCounters(pa.array(list(heights), pa.string()), counts, floor, 7, 8)


def test_heights_above_the_floors_are_added():
    shape = Shards((part(10, a=50, b=5), part(20, a=30, c=40)))
    found = above_floors(shape, (24, 33))
    rows = dict(zip(found.keys.to_pylist(), found.counts.tolist(), strict=True))
    assert rows == {"a": 36 + 17, "c": 27}


def test_what_is_published_is_the_sum_less_noise_with_the_floors():
    shape = Shards((part(10, a=500), part(20, a=300), part(0, b=400)))
    mechanism = ShardRelease(BUDGET)
    result = mechanism.release(shape, SeededBits(1))
    floors = result.error.floors
    heights = above_floors(shape, floors)
    exact = dict(zip(heights.keys.to_pylist(), heights.counts.tolist(), strict=True))
    assert result.floor == sum(floors)
    assert all(abs(f - own - mechanism.margin) < 40 for f, own in zip(floors, (10, 20, 0), strict=True))
    for row in result.table.to_pylist():
        noise = row["count"] - mechanism.noise.centre - exact[row["key"]]
        assert -mechanism.noise.largest <= noise <= 0
    assert result.guarantee.parameters["shards"] == 3
    assert result.guarantee.parameters["margin"] == mechanism.margin == 14


def test_the_two_steps_share_delta():
    assert 0.5e-6 <= histogram_budget(BUDGET).delta < 1e-6
    assert ShardRelease(BUDGET).noise.largest <= 28


def sharded(keys, shards, counters):
    parts = [hc.SpaceSaving(counters=counters) for _ in range(shards)]
    for index, sketch in enumerate(parts):
        sketch.update(keys[index::shards])  # position serves where privacy is not the point
    return parts


def test_64_shards_lose_no_more_than_is_stated_against_one_sketch():
    keys = np.random.default_rng(5).zipf(1.2, 400_000) % 100_000
    true = dict(zip(*np.unique(keys, return_counts=True), strict=True))
    one = hc.SpaceSaving(counters=1024)
    one.update(keys)
    single = release(one, epsilon=1.0, delta=1e-6, bits=SeededBits(2))
    result = release(sharded(keys, 64, 1024), epsilon=1.0, delta=1e-6, bits=SeededBits(3))
    accuracy = result.accuracy(0.999)
    assert len(result) > 10
    published = dict(zip(result.keys["key"].to_pylist(), result.counts.to_pylist(), strict=True))
    for key, count in published.items():
        assert count - accuracy.simultaneous_below <= true[key] <= count + accuracy.simultaneous_above
    head = dict(zip(single.keys["key"].to_pylist(), single.counts.to_pylist(), strict=True))
    below, above = single.accuracy(0.999).simultaneous_below, single.accuracy(0.999).simultaneous_above
    for key, count in head.items():
        lost = count - published.get(key, 0)
        most = result.accuracy(0.999).simultaneous_above + below
        assert lost <= most or key not in published
        assert key in published or true[key] <= result.floor + result.error.noise.largest
        assert lost >= -(accuracy.simultaneous_below + above)


@pytest.mark.parametrize(("shards", "counters"), [(1, 64), (2, 1024), (64, 64), (64, 1024)])
def test_the_variance_of_the_noise_depends_on_neither_shards_nor_counters(shards, counters):
    keys = np.repeat(np.arange(40), 64 * 60)
    shape = shards_of(sharded(keys, shards, counters))
    mechanism, bits = ShardRelease(BUDGET), SeededBits(shards + counters)
    noise = []
    for _ in range(60):
        result = mechanism.release(shape, bits)
        exact = above_floors(shape, result.error.floors)
        heights = dict(zip(exact.keys.to_pylist(), exact.counts.tolist(), strict=True))
        rows = zip(result.keys["key"].to_pylist(), result.counts.to_pylist(), strict=True)
        noise += [count - heights[key] for key, count in rows]
    assert len(noise) == 60 * 40
    masses = np.diff(mechanism.noise.cumulative())
    k = np.arange(len(masses))
    variance = float((masses * k * k).sum() - (masses * k).sum() ** 2)
    # the fourth moment gives the error of a measured variance: 6 of its deviations are 1e-9
    fourth = float((masses * (k - (masses * k).sum()) ** 4).sum())
    deviation = np.sqrt((fourth - variance**2) / len(noise))
    assert abs(np.var(noise) - variance) < 6.2 * deviation
    assert 6.2 * deviation < 0.45 * variance


def test_intervals_and_words():
    result = ShardRelease(BUDGET).release(Shards((part(10, a=500), part(20, a=300))), SeededBits(4))
    below, above = result.error.interval(0.95)
    assert above - sum(result.error.floors) <= 4
    assert below <= 4
    assert result.accuracy().sentences == (
        f"With confidence 0.95 the true count of a published key lies between count - {below} and"
        f" count + {above}, if count is {result.accuracy().full_from} or more.",
        "A smaller count may be in the table only because noise raised it: its lower end is further down.",
        f"count leaves out what lies below the noisy floors of 2 shards, in all up to {result.floor}.",
        f"With confidence 0.95 no key that is missing has more than"
        f" {result.accuracy().unpublished_at_most} events.",
        f"A key of at least {result.smallest_reliable()} events is published with probability 0.95 or more.",
    )


def test_keys_that_are_in_one_shard_each_lose_one_floor():
    parts = (part(10, a=500), part(20, b=300), part(900, c=2000))
    result = ShardRelease(BUDGET).release(KeyShards(parts), SeededBits(4))
    below, above = result.error.interval(0.95)
    assert result.floor == max(result.error.floors)
    assert above - max(result.error.floors) <= 4
    assert below <= 4
    assert result.accuracy().sentences[2] == (
        f"count leaves out what lies below the noisy floor of its shard, up to {result.floor}."
    )
    dealt = DealtByKey([hc.SpaceSaving(counters=4)])
    assert release(dealt, epsilon=1.0, delta=1e-6, mechanism="shards").error.apart
    assert not release([hc.SpaceSaving(counters=4)], epsilon=1.0, delta=1e-6).error.apart


@pytest.mark.parametrize(("epsilon", "delta", "confidence"), [(1.0, 1e-6, 0.95), (0.5, 0.2, 0.9)])
def test_intervals_of_keys_dealt_by_key_hold(epsilon, delta, confidence):
    """Each key in its shard, against the truth; with a large delta noisy floors are often too low."""
    keys = np.random.default_rng(7).zipf(1.3, 100_000) % 5_000
    true = np.bincount(keys, minlength=5_000)
    sketches = [hc.SpaceSaving(counters=24) for _ in range(8)]
    for shard, sketch in enumerate(sketches):
        sketch.update(keys[keys % 8 == shard])
    bits = SeededBits(11)
    named, together = [], []
    for _ in range(300):
        result = release(
            DealtByKey(sketches),
            epsilon=epsilon,
            delta=delta,
            bits=bits,
            allow_large_delta=True,
            mechanism="shards",
        )
        below, above = result.error.interval(confidence)
        least, most = result.error.simultaneous(confidence)
        count = dict(zip(result.keys["key"].to_pylist(), result.counts.to_pylist(), strict=True))
        named.append(1 not in count or count[1] - below <= true[1] <= count[1] + above)
        together.append(all(value - least <= true[key] <= value + most for key, value in count.items()))
    # 300 draws at failure 0.1: 60 misses or more have probability below 1e-7; the stated bounds are wider
    assert min(sum(named), sum(together)) > 240


@pytest.mark.parametrize(("shards", "confidence"), [(1, 0.95), (8, 0.95), (64, 0.5), (64, 1 - 1e-9)])
def test_intervals_allow_for_noisy_floors_that_are_too_low(shards, confidence):
    """With a large delta a noisy floor is often below its floor: then H can exceed the true count."""
    mechanism = ShardRelease(Budget(0.5, 0.2))
    sides = Shards(tuple(part(100, a=0) for _ in range(shards)))
    error = mechanism.release(sides, SeededBits(2)).error
    below, above = error.interval(confidence)
    least, most = error.simultaneous(confidence)
    low, high = error.noise.quantiles(0.0)
    below_floor = least - (error.noise.centre - low)
    allowed = below_floor // shards
    missed = shards * float(mechanism.floor_noise.tail(mechanism.margin + 1 + allowed))
    assert missed <= (1 - confidence) / 2
    assert below_floor > 0
    assert most == high - error.noise.centre + sum(max(floor, 0) for floor in error.floors) + below_floor
    assert below_floor <= below <= least
    assert above <= most


def refused(error, sketches):
    with pytest.raises(error) as caught:
        release(sketches, epsilon=1.0, delta=1e-6)
    return str(caught.value)


def test_what_is_no_set_of_shards_is_refused():
    one = hc.SpaceSaving(counters=4)
    one.update([1, 2])
    assert refused(ParameterError, []) == "sketches must be at least one, got none."
    assert (
        refused(ParameterError, [one, one])
        == "sketches must be of disjoint parts, got the same sketch twice."
    )
    copy = hc.load(one.to_bytes())
    assert (
        refused(ParameterError, [one, copy])
        == "sketches must be of disjoint parts, got the same sketch twice."
    )
    text = hc.SpaceSaving(counters=4)
    text.update(["a"])
    assert (
        refused(KeyTypeError, [one, text]) == "keys must have one type in all shards, got int64 and string."
    )
    assert refused(NotProvedError, [one, hc.Exact()]) == (
        "shards is proved for SpaceSaving and MisraGries sketches, got Exact; merge them, and release the"
        " sum."
    )
    assert refused(NotProvedError, [one, one.merge(hc.SpaceSaving(counters=4))]) == (
        "shards is proved for SpaceSaving and MisraGries sketches, got MergedCounters; release it alone."
    )


def test_empty_shards_take_the_type_of_the_others():
    one, empty = hc.MisraGries(counters=4), hc.SpaceSaving(counters=9)
    one.update(np.repeat(np.array([3, 4]), 500))
    result = release([empty, one], epsilon=1.0, delta=1e-6)
    assert result.keys.schema.field("key").type == pa.int64()
    assert sorted(result.keys["key"].to_pylist()) == [3, 4]
    assert len(release([empty], epsilon=1.0, delta=1e-6)) == 0
