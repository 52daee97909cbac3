"""Intervals of tables hold as often as they say, for keys fixed in advance and rows near the threshold."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.seeded_bits import SeededBits
from tests.statistical.test_noise import FALSE_ALARM

import hushcount as hc
from hushcount.keys.domains import IntegerRange
from hushcount.mechanisms.linear.calibration import plan_envelope
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


def raised(count):
    """A sketch with a floor of 0: nothing was added to a count."""
    return counters(count, 0)


def apart(count):
    return KeyShards((counters(count),))


def wide(count):
    """A sketch of very many counters: the reduction takes nearly nothing from a count."""
    return FloorCounters(KEYS, np.full(MANY, count), 0, candidates=10**6, parts=10**6 + 1)


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
    "reduced": wide,
    "reduced-bounded": wide,  # with upper ends
    "group": counters,
    "apart": apart,
    "key-shards": apart,
    "dpss": counters,  # a public floor of 30 is bounded, and the sketch added all of it, or nothing
    "dpss-exact": raised,
    "public-floor": counters,
    "public-floor-exact": raised,
}
BOUNDED = FLOOR * (MANY + 1)  # in so many events no floor is above 30


def mechanism_of(name, shape):
    public = shape.public()
    if name == "group":
        public = replace(public, unit=replace(USER, rows=3))
    if name.startswith(("dpss", "public-floor", "reduced-bounded")):
        public = public.within(BOUNDED)
    name = name.removesuffix("-exact").replace("reduced-bounded", "reduced")
    return prepare({"group": "floor", "apart": "shards"}.get(name, name), BUDGET, public)


def runs(name, count):
    shape = CASES[name](count)
    mechanism = mechanism_of(name, shape)
    return [mechanism.release(shape, SeededBits(seed)) for seed in range(RUNS)]


def near(name):
    """A count that is published about half of the time; a floor that was added raises it."""
    added = FLOOR if name in ("dpss", "public-floor") else 0
    return mechanism_of(name, CASES[name](1)).forecast().smallest(0.5, 0.0) - added


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


ENVELOPES = ("count-min-envelope", "count-sketch-envelope")
FEW, CLOSE, WIDE = (20_000, 100), (4_000, 40_000), (200_000, 2_000)  # events and counters


def envelope_rows(name, stream, above):
    """Published counts and ends of keys that truly have `above` more than is published half of the time."""
    events, keys = stream
    size = {"max_events": events, "epsilon": 1.0, "delta": 1e-6, "mechanism": name}
    count = plan_envelope(name.removesuffix("-envelope"), events, keys, BUDGET).reach + above
    fixed, tables = events // count, []
    while fixed * len(tables) < 2500:
        sketch = hc.tracked_sketch(keys, **size)
        sketch.update(np.repeat(np.arange(fixed), count))
        tables.append(hc.release(sketch, **size, bits=SeededBits(len(tables))).table)
    return count, fixed * len(tables), tables


@pytest.mark.parametrize("above", [-8, -3, 0, 4, 60])
@pytest.mark.parametrize("stream", [FEW, CLOSE, WIDE])
@pytest.mark.parametrize("name", ENVELOPES)
def test_rows_of_error_envelopes_hold(name, stream, above):
    """Where counters are more than events no collision widens an interval, and noise alone selects rows."""
    count, fixed, tables = envelope_rows(name, stream, above)
    published, missed = sum(map(len, tables)), sum(missing(table, count) for table in tables)
    assert missed <= 0.06 * fixed  # keys fixed in advance
    assert missed <= 0.06 * max(published, 100)
    assert above < 0 or published > 1000


HEAVIEST = 4  # the most that one event may weigh


@pytest.mark.parametrize("above", [-12, 0, 40])
@pytest.mark.parametrize("name", [*ENVELOPES, "measured-envelope"])
def test_rows_of_weighted_envelopes_hold(name, above):
    """Events of weight 4, 1 and -1; the count lies about where a first release publishes half of the keys."""
    events, keys = 60_000, 200
    size = {"max_events": events, "epsilon": 1.0, "delta": 1e-6, "mechanism": name}
    empty = hc.tracked_sketch(keys, **size, max_weight=HEAVIEST)
    empty.update(np.arange(events // 3) + 10**6)
    count = hc.release(empty, **size).error.hidden + 1 + above
    most, fixed, tables = events // (3 * (count + 10)), 0, []
    while fixed < 1200:
        sketch = hc.tracked_sketch(keys, **size, max_weight=HEAVIEST)
        for weight, times in ((HEAVIEST, count // HEAVIEST), (1, count % HEAVIEST + 5), (-1, 5)):
            named = np.repeat(np.arange(most), times)
            sketch.update(named, weights=np.full(len(named), weight))
        sketch.update(np.arange(events // 3) + 10**6)
        fixed, table = fixed + most, hc.release(sketch, **size, bits=SeededBits(fixed)).table
        tables.append(table.filter(pa.array(table["key"].to_numpy() < 10**6)))
    published, missed = sum(map(len, tables)), sum(missing(table, count) for table in tables)
    assert missed <= 0.06 * fixed  # keys fixed in advance
    assert missed <= 0.06 * max(published, 100)
    assert above <= 0 or published > fixed / 4


@pytest.mark.parametrize("above", [-8, 0, 60])
@pytest.mark.parametrize("stream", [FEW, WIDE])
def test_rows_of_measured_envelopes_hold(stream, above):
    """The counts lie about where these rows publish half of the keys; rare keys beside them collide."""
    events, keys = stream
    size = {"max_events": events, "epsilon": 1.0, "delta": 1e-6, "mechanism": "measured-envelope"}
    count, fixed, tables = None, 0, []
    while fixed < 1500:
        sketch = hc.tracked_sketch(keys, **size)
        if count is None:
            sketch.update(np.arange(events // 2) + 10**6)
            count = hc.release(sketch, **size).error.hidden + above
            sketch = hc.tracked_sketch(keys, **size)
        most = max(events // (2 * count), 1)
        sketch.update(np.repeat(np.arange(most), count))
        sketch.update(np.arange(events - most * count) + 10**6)
        fixed, table = fixed + most, hc.release(sketch, **size, bits=SeededBits(fixed)).table
        tables.append(table.filter(pa.array(table["key"].to_numpy() < 10**6)))
    missed = sum(missing(table, count) for table in tables)
    assert missed <= 0.06 * fixed  # keys fixed in advance
    assert missed <= 0.06 * max(sum(map(len, tables)), 100)


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
