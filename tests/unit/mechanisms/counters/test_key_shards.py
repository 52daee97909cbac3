"""What the floor release of key shards publishes for given noise, and that its intervals hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits
from tests.unit.mechanisms.scripted import rows, scripted

import hushcount as hc
from hushcount.errors import NotProvedError
from hushcount.jobs.release import release
from hushcount.mechanisms.counters.floor import FloorError, FloorRelease
from hushcount.mechanisms.counters.key_shards import KeyShardError, KeyShardRelease
from hushcount.noise.bits import system_bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import FloorCounters, KeyShards
from hushcount.sketches.merged import DealtByKey

BUDGET = Budget(1.0, 1e-6)  # G = 17
LAW = DiscreteLaplace(1.0)


def part(floor, **counts):
    return FloorCounters(pa.array(list(counts), pa.string()), np.array([*counts.values()]), floor, 7, 8)


def test_each_shard_publishes_above_its_own_noisy_floor():
    shape = KeyShards((part(20, at=39, under=38), part(5, low=24, hidden=22), part(0)))
    mechanism = scripted(KeyShardRelease(BUDGET), 2, 0, 0, 1, 0, 0, -4)
    result = mechanism.release(shape, system_bits())
    assert rows(result) == [("at", 39), ("low", 24)]
    assert result.error.floors == (22, 6, -4)
    assert result.floor == 22
    assert dict(result.guarantee.parameters) == {"threshold": 17, "candidates": 21, "shards": 3}
    assert (result.guarantee.epsilon, result.guarantee.delta) == (1.0, 1e-6)


def test_one_shard_is_the_floor_release():
    one, alone = KeyShardError(LAW, (9,), 7, 17), FloorError(LAW, 9, 7, 17)
    for confidence in (0.5, 0.95, 0.999):
        assert one.interval(confidence) == alone.interval(confidence)
        assert one.simultaneous(confidence) == alone.simultaneous(confidence)
        assert one.full_from(confidence) == alone.full_from(confidence)
        assert one.missing(1 - confidence, 7) == alone.missing(1 - confidence, 7)
        found = one.row_bounds(np.arange(26, 90), confidence)
        for mine, theirs in zip(found, alone.row_bounds(np.arange(26, 90), confidence), strict=True):
            assert (mine == theirs).all()
    assert KeyShardRelease(BUDGET).forecast().smallest(0.95, 0) == FloorRelease(BUDGET).forecast().smallest(
        0.95, 0
    )


def test_a_row_has_the_lower_end_of_the_worst_shard_that_it_can_be_from():
    error, counts = KeyShardError(LAW, (9, 40), 14, 17), np.array([26, 56, 57, 400])
    low, high = (FloorError(LAW, floor, 14, 17).row_bounds(counts, 0.95)[0] for floor in (9, 40))
    assert error.row_bounds(counts, 0.95)[0].tolist() == [low[0], low[1], min(low[2], high[2]), high[3]]
    assert error.least_published == 26


def test_a_cut_table_bounds_what_another_shard_does_not_show():
    shape = KeyShards((part(500, a=900, b=510), part(0, c=30)))
    whole = KeyShardRelease(BUDGET).release(shape, SeededBits(1))
    assert len(whole) == 2
    assert whole.limit(2).made_with({"limit": 2}, None).accuracy().unpublished_at_most >= (
        whole.accuracy().unpublished_at_most
    )


@pytest.mark.parametrize(("epsilon", "delta", "confidence"), [(1.0, 1e-6, 0.95), (0.5, 0.2, 0.9)])
def test_intervals_of_the_real_sketches_hold(epsilon, delta, confidence):
    keys = np.random.default_rng(7).zipf(1.3, 100_000) % 5_000
    true = np.bincount(keys, minlength=5_000)
    sketches = DealtByKey([hc.SpaceSaving(counters=24) for _ in range(8)])
    for shard, sketch in enumerate(sketches):
        sketch.update(keys[keys % 8 == shard])
    bits = SeededBits(11)
    named, together, missed = [], [], []
    for _ in range(300):
        result = release(sketches, epsilon=epsilon, delta=delta, bits=bits, allow_large_delta=True)
        below, above = result.error.interval(confidence)
        least, most = result.error.simultaneous(confidence)
        count = dict(zip(result.keys["key"].to_pylist(), result.counts.to_pylist(), strict=True))
        named.append(1 not in count or count[1] - below <= true[1] <= count[1] + above)
        together.append(all(value - least <= true[key] <= value + most for key, value in count.items()))
        table = result.at_confidence(confidence).table.to_pylist()
        missed.append(sum(not row["lower"] <= true[row["key"]] <= row["upper"] for row in table) / len(table))
    # 300 draws at failure 0.1: 60 misses or more have probability below 1e-7
    assert min(sum(named), sum(together)) > 240
    assert np.mean(missed) <= 1 - confidence


def test_it_is_the_default_for_shards_by_key_only():
    sketches = [hc.SpaceSaving(counters=4), hc.SpaceSaving(counters=4)]
    assert release(DealtByKey(sketches), epsilon=1.0, delta=1e-6).guarantee.mechanism == (
        "floor release of key shards"
    )
    with pytest.raises(NotProvedError) as caught:
        release(sketches, epsilon=1.0, delta=1e-6, mechanism="key-shards")
    assert str(caught.value) == (
        "key-shards is proved for sketches of shards by key, not for a list of SpaceSaving or MisraGries"
        " sketches; count with several threads, or release other sketches by their default."
    )
