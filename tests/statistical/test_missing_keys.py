"""What is said of missing keys holds: which would have been published, and what none of them exceeds."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.seeded_bits import SeededBits
from tests.statistical.test_noise import FALSE_ALARM

import hushcount as hc
from hushcount.keys.domains import IntegerRange
from hushcount.mechanisms.registry import prepare
from hushcount.privacy import USER, Budget
from hushcount.releases.accuracy import threshold_of
from hushcount.shapes import FloorCounters, Histogram, KeyShards, LimitedKeys, Shards

BUDGET, MANY, FLOOR, RUNS = Budget(1.0, 1e-4), 300, 10, 150
KEYS, HEIGHTS = pa.array(np.arange(MANY)), np.arange(MANY)
LONGEST = FLOOR * (MANY + 1)  # in so many events no floor is above 10


def counters(heights=HEIGHTS):
    """A sketch that left its floor out of every height: the true count is the count."""
    return FloorCounters(KEYS, heights + FLOOR, FLOOR, candidates=MANY, parts=MANY + 1)


def halves():
    """Two sketches, each of its own keys, with floors far from one another."""
    even = KEYS.to_numpy() % 2 == 0
    one, other = (
        FloorCounters(KEYS.filter(pa.array(kept)), (HEIGHTS + FLOOR)[kept], floor, MANY // 2, MANY // 2 + 1)
        for kept, floor in ((even, FLOOR), (~even, 3))
    )
    return KeyShards((one, other))


# The summary, what a key truly has, and the public length.
CASES = {
    "floor": (counters, HEIGHTS + FLOOR, None),
    "pmg": (counters, HEIGHTS + FLOOR, LONGEST),
    "pmg-paper": (counters, HEIGHTS + FLOOR, LONGEST),
    "pmg-standard": (counters, HEIGHTS + FLOOR, LONGEST),
    "dpss": (counters, HEIGHTS + FLOOR, LONGEST),
    "public-floor": (counters, HEIGHTS + FLOOR, LONGEST),
    "laplace-threshold": (lambda: Histogram(KEYS, HEIGHTS), HEIGHTS, LONGEST),
    "truncated-geometric": (lambda: Histogram(KEYS, HEIGHTS), HEIGHTS, None),
    "gaussian": (lambda: LimitedKeys(KEYS, HEIGHTS, 8, MANY, unit=USER), HEIGHTS, None),
    "correlated": (lambda: LimitedKeys(KEYS, HEIGHTS, MANY, MANY, unit=USER), HEIGHTS, None),
    "shards": (lambda: Shards((counters(), counters(0 * HEIGHTS))), HEIGHTS + 2 * FLOOR, None),
    "reduced": (lambda: FloorCounters(KEYS, HEIGHTS, 0, 10**6, 10**6 + 1), HEIGHTS, LONGEST),
    "key-shards": (halves, HEIGHTS + FLOOR, None),
    "apart": (lambda: KeyShards((counters(),)), HEIGHTS + FLOOR, None),
}


def tables(name):
    """Of every run the bounds that it states, and which keys are missing."""
    make, _, longest = CASES[name]
    shape = make()
    mechanism = prepare({"apart": "shards"}.get(name, name), BUDGET, shape.public().within(longest))
    for seed in range(RUNS):
        release = mechanism.release(shape, SeededBits(seed))
        shown = release.table["key"].to_numpy()
        yield release.accuracy(), np.setdiff1d(np.arange(MANY), shown)


@pytest.mark.parametrize("name", CASES)
def test_missing_keys_are_as_rare_as_is_said(name):
    true, wrong, early = CASES[name][1], np.zeros(MANY), np.zeros(MANY)
    together = 0
    for accuracy, missing in tables(name):
        wrong[missing] += true[missing] >= accuracy.published_from
        early[missing] += true[missing] >= accuracy.published_from * 0.8
        together += bool((true[missing] > accuracy.unpublished_at_most).any())
    assert binom.sf(wrong.max() - 1, RUNS, 0.05) * MANY > FALSE_ALARM
    assert binom.sf(together - 1, RUNS, 0.05) > FALSE_ALARM
    assert (
        name in ("shards", "apart", "floor", "key-shards") or early.max() / RUNS > 0.05
    )  # it is no idle bound


ENVELOPES = ("count-min-envelope", "count-sketch-envelope")
STREAM, ROWS, KEPT = 20_000, 60, 100  # events, releases, counters


@pytest.mark.parametrize("name", ENVELOPES)
def test_envelopes_publish_what_they_call_reliable(name):
    """Keys that have just what is called reliable; what is published half of the time would not do."""
    size = {"max_events": STREAM, "epsilon": 1.0, "delta": 1e-6, "mechanism": name}
    empty = hc.release(hc.tracked_sketch(KEPT, **size), **size)
    half = threshold_of(empty)
    for count, reliable in ((empty.accuracy().published_from, True), (half, False)):
        missing, together, keys = 0, 0, STREAM // count
        for seed in range(ROWS):
            sketch = hc.tracked_sketch(KEPT, **size)
            sketch.update(np.repeat(np.arange(keys), count))
            release = hc.release(sketch, **size, bits=SeededBits(seed))
            missing += keys - len(release)
            together += count > release.accuracy().unpublished_at_most and len(release) < keys
        share = binom.sf(missing - 1, keys * ROWS, 0.05)
        assert share > FALSE_ALARM if reliable else share < FALSE_ALARM
        assert binom.sf(together - 1, ROWS, 0.05) > FALSE_ALARM


def test_measured_envelopes_publish_what_they_call_reliable():
    """The count is that of a first release; each release says for itself what is reliable."""
    size = {"max_events": STREAM, "epsilon": 1.0, "delta": 1e-6, "mechanism": "measured-envelope"}
    wrong, together, keys, count = 0, 0, 20, 0
    for seed in range(2 * ROWS):
        sketch = hc.tracked_sketch(KEPT, **size)
        sketch.update(np.repeat(np.arange(keys), count))
        sketch.update(np.arange(STREAM // 2) + 10**6)
        release = hc.release(sketch, **size, bits=SeededBits(seed))
        accuracy, missing = release.accuracy(), keys - int((release.keys["key"].to_numpy() < 10**6).sum())
        wrong += missing if count and count >= accuracy.published_from else 0
        together += bool(missing) and count > accuracy.unpublished_at_most
        count = count or accuracy.published_from
    assert binom.sf(wrong - 1, keys * 2 * ROWS, 0.05) > FALSE_ALARM
    assert binom.sf(together - 1, 2 * ROWS, 0.05) > FALSE_ALARM


def test_the_bound_of_a_cut_table_is_for_what_it_does_not_show():
    make, true, _ = CASES["floor"]
    release = prepare("floor", BUDGET, make().public()).release(make(), SeededBits(1))
    cut = release.limit(20)
    most = cut.accuracy().unpublished_at_most
    assert most >= int(cut.counts[19].as_py()) > release.accuracy().unpublished_at_most
    missing = np.setdiff1d(np.arange(MANY), cut.table["key"].to_numpy())
    assert (true[missing] <= most).all()
    assert release.at_least(10**6).accuracy().unpublished_at_most is None


def test_a_domain_tells_what_its_missing_keys_have():
    shape = FloorCounters(KEYS, 9 * HEIGHTS, 0, candidates=MANY, parts=MANY + 1)
    public = shape.public().within(MANY, IntegerRange(0, 999))  # no floor is above 0
    wrong = 0
    for seed in range(RUNS):
        release = prepare("pure-bounded", Budget.pure(1.0), public).release(shape, SeededBits(seed))
        missing = np.setdiff1d(np.arange(MANY), release.table["key"].to_numpy())
        wrong += bool((9 * HEIGHTS[missing] > release.accuracy().unpublished_at_most).any())
    assert binom.sf(wrong - 1, RUNS, 0.05) > FALSE_ALARM


def test_sentences():
    release = prepare("floor", BUDGET, counters().public()).release(counters(), SeededBits(1))
    accuracy = release.accuracy()
    assert accuracy.sentences[-2:] == (
        f"With confidence 0.95 no key that is missing has more than {accuracy.unpublished_at_most} events.",
        f"A key of at least {accuracy.published_from} events is published with probability 0.95 or more.",
    )


def test_nothing_is_said_of_what_no_public_number_bounds():
    release = prepare("pmg", BUDGET, counters().public()).release(counters(), SeededBits(1))
    accuracy = release.accuracy()
    assert (accuracy.published_from, accuracy.unpublished_at_most) == (None, None)
