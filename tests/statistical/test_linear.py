"""Failure rates of linear sketches: as often as stated, and where the bound is tight not much less often.

A rate is compared with exact binomial bounds at a false-alarm rate of 1e-9, and the comparison refuses 0.9
and 1.1 of it. Seeds of the sketches and bits of the noise are fixed.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.seeded_bits import SeededBits

from hushcount.jobs.oracle import oracle_budget
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, RowHash
from hushcount.mechanisms.linear.calibration import Envelope, envelope_bounds, row_failure
from hushcount.mechanisms.linear.cells import NoisyCells
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.sketches.coded.batch import PreparedKeys
from hushcount.sketches.linear import LINEAR, CountMin, CountSketch, at_least_half
from hushcount.sketches.sizes import size_for

FALSE_ALARM = 1e-9


def compatible(hits, trials, rate):
    """Whether hits out of trials may come from a rate."""
    low, high = binom.cdf(hits, trials, rate), binom.sf(hits - 1, trials, rate)
    return min(low, high) > FALSE_ALARM / 2


def at_most(hits, trials, rate):
    return binom.sf(hits - 1, trials, rate) > FALSE_ALARM


def tells_apart(hits, trials, rate):
    """The rate is the one, and neither 0.9 nor 1.1 of it."""
    return (
        compatible(hits, trials, rate)
        and not compatible(hits, trials, 0.9 * rate)
        and not compatible(hits, trials, 1.1 * rate)
    )


def as_keys(words, kind):
    """The same keys as words or as byte strings."""
    from hushcount.keys.arrays import ByteKeys

    if kind == "words":
        return words
    return ByteKeys(words.view(np.uint8), (8 * np.arange(len(words) + 1)).astype(np.uint64))


@pytest.mark.parametrize("keys", ["words", "bytes"])
@pytest.mark.parametrize("structure", ["neighbouring numbers", "multiples of 2^40"])
def test_two_keys_collide_as_often_as_stated(keys, structure):
    """1/w in a row of Count-Min, 1/(2w) with equal signs in CountSketch; over rows of many seeds."""
    step = 1 if structure == "neighbouring numbers" else 1 << 40
    pair = as_keys(np.array([3, 3 + step], np.uint64), keys)
    hits = {COUNT_MIN: 0, COUNT_SKETCH: 0}
    seeds, depth, width = 60, 1000, 4
    for kind in hits:
        for seed in range(seeds):
            found = RowHash(kind, depth, width, seed.to_bytes(32, "little")).hashes(pair)
            hits[kind] += int((found[:, 0] == found[:, 1]).sum())
    assert tells_apart(hits[COUNT_MIN], seeds * depth, 1 / width)
    assert tells_apart(hits[COUNT_SKETCH], seeds * depth, 1 / (2 * width))


def estimates(kind, groups, keys, weight, law=None):
    """Estimates of keys that are not there, from groups (number, depth, width) of rows."""
    number, depth, width = groups
    found = []
    for seed in range(number // 333):
        rng = np.random.default_rng(seed)
        deep = RowHash(kind, 333 * depth, width, seed.to_bytes(32, "big"))
        words = rng.integers(0, 1 << 63, keys + 1).astype(np.uint64)
        linear = LINEAR[kind].with_hash(deep, partial=True)
        linear.count(PreparedKeys(pa.uint64(), [words[1:]]), np.full(keys, weight))
        asked = deep.hashes(words[:1])
        values = linear.cells.ravel()[deep.places(asked)]
        if law is not None:
            values = values + law.sample(values.size, SeededBits(seed)).reshape(values.shape)
        shallow = RowHash(kind, depth, width, b"")
        found.append(shallow.estimate(values.reshape(depth, 333), asked.reshape(depth, 333)))
    return np.concatenate(found)


def test_count_min_breaks_its_bound_as_often_as_predicted_and_no_more_than_stated():
    """23 keys and 64 cells: one row errs with 1 - (1 - 1/64)^23 = .304, stated is 1/e; two rows."""
    sketch = CountMin(depth=2, width=64)
    sketch.update(np.arange(23), weights=np.full(23, 1000))
    found = estimates(COUNT_MIN, (66_600, 2, 64), 23, 1000)
    hits = int((found > sketch.error_bound).sum())
    assert sketch.error_bound < 1000
    assert at_most(hits, len(found), sketch.failure)
    assert tells_apart(hits, len(found), (1 - (1 - 1 / 64) ** 23) ** 2)


def test_count_sketch_breaks_its_bound_no_more_than_stated():
    """15 keys and 64 cells: a row errs on either side with about 0.1; stated is 1/8; three rows."""
    sketch = CountSketch(depth=3, width=64)
    sketch.update(np.arange(15), weights=np.full(15, 1000))
    found = estimates(COUNT_SKETCH, (66_600, 3, 64), 15, 1000)
    hits = int((np.abs(found) > sketch.error_bound).sum())
    assert sketch.error_bound < 1000
    assert at_most(hits, len(found), sketch.failure)
    assert not at_most(hits, len(found), sketch.failure / 2)


@pytest.mark.parametrize(("kind", "error", "keys"), [(COUNT_MIN, 0.05, 19), (COUNT_SKETCH, 0.2, 24)])
def test_a_sketch_made_for_an_error_keeps_it_and_a_quarter_of_its_width_does_not(kind, error, keys):
    """So many equal keys that any collision breaks the promise, error * F1 or error * sqrt(F2)."""
    failure, weight = 0.05, 1000
    depth, width = size_for(kind, error, failure)
    allowed = error * (keys * weight if kind == COUNT_MIN else weight * keys**0.5)
    assert allowed < weight
    found = estimates(kind, (66_600, depth, width), keys, weight)
    assert at_most(int((np.abs(found) > allowed).sum()), len(found), failure)
    narrow = estimates(kind, (66_600, depth, width // 4), keys, weight)
    assert not at_most(int((np.abs(narrow) > allowed).sum()), len(narrow), failure)


@pytest.mark.parametrize("kind", [COUNT_MIN, COUNT_SKETCH])
def test_noisy_estimates_leave_the_envelope_as_often_as_predicted(kind):
    """So many heavy keys that one collides with chance p_c; the stated rate adds noise above psi to that."""
    depth, width, failure, events = 3, 256, 0.1, 20_000
    law = DiscreteLaplace(1 / 50) if kind == COUNT_MIN else DiscreteGaussian(50)
    plan = Envelope(kind, depth, width, 0, 0, 0, 0.1, law)
    collisions, noise = envelope_bounds(plan, events, failure)
    keys = events // (collisions + 1)
    found = estimates(kind, (199_800, depth, width), keys, 100_000, law)  # any collision breaks the bound
    hits = int((found > collisions + noise).sum())
    colliding = excess_chance(kind, keys, width)
    alone = float(law.tail(collisions + noise + 1))  # noise that breaks the bound without a collision
    row = colliding + alone - colliding * alone
    assert 0.3 * row_failure(kind, depth, failure) < row < row_failure(kind, depth, failure)
    assert at_most(hits, len(found), failure)
    predicted = row**depth if kind == COUNT_MIN else at_least_half(depth, row)
    assert tells_apart(hits, len(found), predicted)


def excess_chance(kind, keys, width):
    """The chance that equal keys add something to a cell; with signs, as many may add as take away."""
    if kind == COUNT_MIN:
        return 1 - (1 - 1 / width) ** keys
    halves = np.arange(keys // 2 + 1)
    balanced = binom.pmf(2 * halves, keys, 1 / width) * binom.pmf(halves, 2 * halves, 0.5)
    return (1 - balanced.sum()) / 2


@pytest.mark.parametrize("kind", [CountMin, CountSketch])
@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_intervals_of_an_oracle_hold_as_often_as_stated(kind, confidence):
    """Zipf counts, keys that the oracle was made of and others; 0.7 of an interval is too short.

    Answers of one oracle depend on each other, so this compares shares over 60 oracles, with fixed seeds.
    """
    rng = np.random.default_rng(1)
    counts = np.floor(30_000 / np.arange(1, 4001) ** 1.1).astype(int)
    keys = rng.permutation(4000)
    asked = np.concatenate([keys[:400], np.arange(10_000, 10_400)])
    truth = np.concatenate([counts[:400], np.zeros(400, int)])
    shares = []
    for seed in range(60):
        weighted = kind(depth=5, width=1024, seed=seed)
        weighted.update(keys, weights=counts)  # as many events of weight 1
        oracle = NoisyCells(oracle_budget(0.5, 1e-6)).release(
            replace(weighted.shape(), max_weight=1), SeededBits(seed)
        )
        below, above = oracle.interval(confidence)
        high = oracle.estimate(asked)["count"].to_numpy() - truth
        shares.append([(high > below).mean(), (-high > above).mean(), (high > 0.7 * below).mean()])
    stated = (1 - confidence) / 2
    too_high, too_low, shorter = np.mean(shares, axis=0)
    assert 0.8 * stated < too_high < 1.02 * stated
    assert 0.8 * stated < too_low < 1.02 * stated
    assert shorter > 1.2 * stated
