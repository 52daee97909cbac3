"""Intervals of tables hold as often as they say, for keys fixed in advance and rows near the threshold."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.seeded_bits import SeededBits
from tests.statistical.test_noise import FALSE_ALARM

from hushcount.keys.domains import IntegerRange
from hushcount.mechanisms.registry import prepare
from hushcount.privacy import USER, Budget
from hushcount.releases.added import add_releases
from hushcount.shapes import (
    ExactCounts,
    FloorCounters,
    Histogram,
    KeyShards,
    LimitedKeys,
    Shards,
)

BUDGET, MANY, FLOOR, RUNS = Budget(1.0, 1e-6), 400, 30, 40
KEYS = pa.array(np.arange(MANY))


def counters(count, floor=FLOOR):
    """One full sketch, whose floor was added to every key: true is the height above it."""
    return FloorCounters(KEYS, np.full(MANY, count + floor), floor, candidates=MANY, parts=MANY + 1)


def histogram(count):
    return Histogram(KEYS, np.full(MANY, count))


def users(count):
    return ExactCounts([(KEYS, np.full(MANY, count))], 4, USER)


def limited(count):
    return LimitedKeys(KEYS, np.full(MANY, count), 8, MANY, unit=USER)


def shards(count):
    return Shards((counters(count), counters(0)))


def apart(count):
    return KeyShards((counters(count),))


# How each mechanism is given keys of one true count, and a count near which its threshold lies.
CASES = {
    "floor": counters,
    "pmg": counters,
    "pmg-paper": counters,
    "pmg-standard": counters,
    "chan": counters,
    "laplace-threshold": histogram,
    "truncated-geometric": histogram,
    "gaussian": users,
    "laplace": users,
    "correlated": limited,
    "shards": shards,
    "group": counters,
    "apart": apart,
}


def mechanism_of(name, shape):
    public = shape.public()
    if name == "group":
        public = replace(public, unit=replace(USER, rows=3))
    return prepare({"group": "floor", "apart": "shards"}.get(name, name), BUDGET, public)


def runs(name, count):
    shape = CASES[name](count)
    mechanism = mechanism_of(name, shape)
    return [mechanism.release(shape, SeededBits(seed)) for seed in range(RUNS)]


def near(name):
    """A count that is published about half of the time."""
    return mechanism_of(name, CASES[name](1)).forecast().smallest(0.5, 0.0)


def missing(table, count):
    """How many intervals of a table do not hold this count."""
    low = np.zeros(len(table), bool)
    if not table["upper"].null_count:
        low = table["upper"].to_numpy() < count
    return int(((table["lower"].to_numpy() > count) | low).sum())


@pytest.mark.parametrize("above", [-3, 0, 4])
@pytest.mark.parametrize("name", CASES)
def test_nominal_095_is_within_094_and_1(name, above):
    """Of keys fixed in advance, and of the rows that are published of keys near the threshold."""
    count = max(near(name) + above, 1)
    tables = [release.table for release in runs(name, count)]
    published, missed = sum(map(len, tables)), sum(missing(table, count) for table in tables)
    assert missed <= 0.06 * MANY * RUNS  # keys fixed in advance
    if published > 1000:
        assert missed <= 0.06 * published
    assert above < 0 or published > 1000


def test_sums_of_releases_hold_too():
    count = near("laplace-threshold")
    pairs = zip(runs("laplace-threshold", count)[::2], runs("laplace-threshold", count)[1::2], strict=True)
    tables = [add_releases(pair).table for pair in pairs]
    assert sum(missing(table, 2 * count) for table in tables) <= 0.06 * sum(map(len, tables))


@pytest.mark.parametrize("name", ["pure", "pure-bounded", "pure-shards"])
def test_a_key_that_never_occurred_says_so(name):
    """With 300 counters over 0..100000 most rows are noise alone; their lower end is 0."""
    keys, heights = pa.array(np.arange(300)), np.arange(300) * 3
    shape = FloorCounters(keys, heights, 0, candidates=300, parts=301)
    shape = Shards((shape, shape)) if name == "pure-shards" else shape
    public = shape.public().within(200_000, IntegerRange(0, 100_000))
    mechanism, wrong = prepare(name, Budget.pure(1.0), public), 0
    for seed in range(RUNS):
        table = mechanism.release(shape, SeededBits(seed)).table
        never = table.filter(pa.array(table["key"].to_numpy() >= 300))
        assert len(never) > 50 or name == "pure-bounded"
        wrong += bool((never["lower"].to_numpy() > 0).any())
    assert binom.sf(wrong - 1, RUNS, 0.05) > FALSE_ALARM
