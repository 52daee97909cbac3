"""Intervals of tables of users whose keys are cut: they hold the number of users who kept the key."""

import math

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.sources.duckdb import bounding
from hushcount.sources.duckdb.bounding import DistinctPairs
from hushcount.sources.duckdb.counted import counted_keys
from hushcount.sources.open import open_source
from hushcount.sources.wrapped import BoundedSource

SECRET, SPREAD = b"a key of a test.", 6.2  # standard deviations: a false alarm in 1e9
ASKED = {"column": "key", "user": "user", "epsilon": 1.0, "delta": 1e-6}


def data(seed):
    """Users of up to 12 keys each, of which at most 4 are kept; 5,000 keys of about 20 to 200 users."""
    generator = np.random.default_rng(seed)
    users, keys = 130_000, 5_000
    steps = np.cumsum(np.linspace(1, 10, keys))
    rows = np.searchsorted(steps / steps[-1], generator.random(12 * users))
    people = np.repeat(np.arange(users), 12)
    some = generator.random(len(rows)) < np.repeat(generator.choice([0.3, 0.6, 1.0], users), 12)
    return pa.table({"user": people[some], "key": rows[some]})


def kept(table, max_keys):
    """Return the true number of users who kept each key, by the route that sorts all rows."""
    source = BoundedSource(open_source(table, column="key", user="user"), DistinctPairs(max_keys))
    return {
        key: count
        for keys, counts in counted_keys(source)
        for key, count in zip(keys.to_pylist(), counts.tolist(), strict=True)
    }


def held(release, truth, confidence=0.95, scale=1.0):
    """Return for each published row whether its interval, made wider or narrower, holds the truth."""
    rows = release.table.to_pylist()
    below, above = (round(scale * width) for width in release.error.interval(confidence))
    return np.array([row["count"] - below <= truth[row["key"]] <= row["count"] + above for row in rows])


@pytest.fixture(scope="module")
def made():
    """Tables with at most 2 and 4 keys of a user, the true numbers and the rows, for two draws of data."""
    found = {2: [], 4: []}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bounding, "fresh_key", lambda: SECRET)
        for table in map(data, (1, 2)):
            for max_keys, tables in found.items():
                tables.append((hc.top(table, max_keys=max_keys, **ASKED), kept(table, max_keys), table))
    return found


def chances(release, truth, width):
    """Return for each key the probability that it is published and its noise is at most the width."""
    noise = DiscreteGaussian(release.guarantee.parameters["sigma"])
    counts = np.array(list(truth.values()))
    start = np.maximum(release.guarantee.parameters["threshold"] - counts, -width)
    return np.maximum(np.asarray(noise.tail(start)) - float(noise.tail(width + 1)), 0.0)


def off(tables, confidence, scale=1.0):
    """Return by how many standard deviations more or fewer rows are held than the noise says."""
    found, each = 0, []
    for release, truth, _ in tables:
        below, above = release.error.interval(confidence)
        assert below == above
        found += int(held(release, truth, confidence, scale).sum())
        each.append(chances(release, truth, below))
    chance = np.concatenate(each)
    return abs(found - chance.sum()) / math.sqrt((chance * (1 - chance)).sum())


@pytest.mark.parametrize("confidence", [0.7, 0.95])
def test_intervals_hold_the_users_who_kept_the_key_as_often_as_the_noise_says(made, confidence):
    """Of rows near the threshold too: for each key the probability of being published and held is added."""
    assert off(made[4], confidence) < SPREAD


@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_narrower_and_wider_intervals_are_noticed(made, scale):
    assert off(made[4], 0.7, scale) > SPREAD


@pytest.mark.parametrize("max_keys", [2, 4])
def test_keys_well_above_the_threshold_are_held_at_the_stated_confidence(made, max_keys):
    found = []
    for release, truth, _ in made[max_keys]:
        clear = [truth[row["key"]] >= 1.3 * release.smallest_reliable() for row in release.table.to_pylist()]
        found.append(held(release, truth)[np.array(clear)])
    rows = np.concatenate(found)
    assert len(rows) > 2000
    assert rows.sum() >= 0.95 * len(rows) - SPREAD * math.sqrt(0.95 * 0.05 * len(rows))


def test_intervals_are_not_for_all_users_of_a_key(made):
    """The twin: read as if they were for all users, of whom the cut left out a third, they hold few."""
    for release, truth, table in made[4]:
        everyone = {
            row["key"]: row["user_count_distinct"]
            for row in table.group_by("key").aggregate([("user", "count_distinct")]).to_pylist()
        }
        assert sum(truth.values()) < 0.7 * sum(everyone.values())
        assert held(release, everyone).mean() < 0.1
