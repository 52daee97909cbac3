"""Every mechanism publishes what it foretells: smallest counts, numbers of keys and errors, by simulation."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from hushcount.hierarchies.base import UserLeafBatch
from hushcount.hierarchies.known import known_nodes
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.keys.domains import IntegerRange
from hushcount.mechanisms.hierarchy.known import KnownNodeRelease
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.mechanisms.hierarchy.users import NodeRelease
from hushcount.mechanisms.linear.calibration import plan_envelope
from hushcount.mechanisms.linear.cells import CellSizes, NoisyCells
from hushcount.mechanisms.linear.envelope import ENVELOPES
from hushcount.mechanisms.linear.measured import MeasuredEnvelope, plan_measured
from hushcount.mechanisms.registry import EVERY_MECHANISM, MECHANISMS, prepare
from hushcount.mechanisms.sampling.existing import SanitisedSample
from hushcount.mechanisms.sampling.sample import PrivateSample, PrivateSampleKeys
from hushcount.mechanisms.sampling.schemes import Pps
from hushcount.mechanisms.sampling.sized import SizedSample, WantedSize
from hushcount.mechanisms.total import WithTotal
from hushcount.privacy import EVENT, USER, Budget
from hushcount.shapes import (
    FloorCounters,
    Histogram,
    KeyShards,
    LevelCounters,
    LimitedKeys,
    ManyKeys,
    NodeCounts,
    Public,
)
from hushcount.shapes.known import KnownNodeCounts
from hushcount.shapes.samples import SampledCounts
from hushcount.sketches.leaves import count_leaves
from hushcount.sketches.levels import HierarchySketch
from hushcount.sketches.linear import CountMin, CountSketch, TrackedSketch
from hushcount.sketches.samples.weighted import fresh_sample
from hushcount.testing import SeededBits

BUDGET = Budget(1.0, 1e-6)
PURE = Budget.pure(1.0)
KEYS, RUNS, FLOOR, LENGTH, COUNTERS = 40, 400, 12, 1_000_000, 1 << 14
SURE = 0.95
PATHS = parse_hierarchy("path/2", None)
DOMAIN = IntegerRange(0, 99_999)
# Lists of keys, and mechanisms for users that choose their own bound, are not simulated here.
APART = ("keys-", "chosen-", "total", "measured-")  # what is foretold of measured rows is a bound
NAMES = [name for name in EVERY_MECHANISM if not name.startswith(APART)]


@dataclass(frozen=True)
class Row:
    """A calibrated mechanism, how counts become what it is given, and how keys and counts are read back."""

    mechanism: object
    shape: object
    floor: object = lambda counts: 0.0
    read: object = lambda release: dict(
        zip(release.keys.column(0).to_pylist(), release.counts.to_pylist(), strict=True)
    )

    @property
    def forecast(self):
        return self.mechanism.forecast()


def numbers(counts):
    return pa.array(range(len(counts)))


def histogram(counts):
    return Histogram(numbers(counts), counts)


def counters(counts, unit=EVENT, floor=FLOOR):
    return FloorCounters(numbers(counts), np.maximum(counts, floor), floor, KEYS, KEYS + 1, unit)


def shards(counts):
    halves = [np.arange(len(counts)) % 2 == side for side in (0, 1)]
    whole = counters(counts)
    return KeyShards(
        tuple(
            replace(whole, keys=whole.keys.filter(pa.array(half)), counts=whole.counts[half])
            for half in halves
        )
    )


def names(counts):
    return pa.array([f"/{place:03d}/a" for place, count in enumerate(counts) for _ in range(count)])


def leaves(release):
    rows = release.rows
    found = zip(rows.nodes.to_pylist(), rows.levels, rows.totals, strict=True)
    return {int(name[1:4]): int(total) for name, level, total in found if level == 2}


def levels(counts):
    sketch = HierarchySketch(PATHS, counters=4 * KEYS)
    sketch.update(names(counts))
    shape = sketch.shape()
    return LevelCounters(PATHS, shape.total, tuple(replace(one, floor=FLOOR) for one in shape.levels))


def nodes(counts):
    """Every leaf has its own users."""
    leaves = PATHS.leaves(pa.array([f"/{place:03d}/a" for place in range(len(counts))]))
    known = np.full(len(counts), -1, np.int16)
    batch = UserLeafBatch(leaves, counts, PATHS.shared(leaves, None), known)
    return NodeCounts(PATHS, lambda: iter([batch]), 3, USER)


def known(counts):
    """Every leaf is known and has its own users."""
    found = nodes(counts)
    every = known_nodes(PATHS, pa.array([f"/{place:03d}/a" for place in range(len(counts))]))
    return KnownNodeCounts(PATHS, every, found.batches, 3, USER)


def tracked(kind, plan, counts):
    sketch = TrackedSketch(kind, COUNTERS, plan.depth, plan.width)
    sketch.update(np.repeat(np.arange(len(counts)), counts))
    return sketch.shape()


def cells(sketch, counts):
    sketch.update(np.repeat(np.arange(len(counts)), counts))
    return sketch.shape()


def answers(oracle):
    found = oracle.estimate(np.arange(KEYS))
    return dict(zip(range(KEYS), found["count"].to_pylist(), strict=True))


def rows_of(name):
    """A row of the registry, calibrated."""
    if name in ENVELOPES:
        plan = plan_envelope(ENVELOPES[name], LENGTH, COUNTERS, Budget(1.0, 1e-6))
        public = tracked(ENVELOPES[name], plan, np.ones(1, int)).public().within(LENGTH)
        return Row(prepare(name, BUDGET, public), lambda counts: tracked(ENVELOPES[name], plan, counts))
    if name in SPECIAL:
        return SPECIAL[name]()
    accepts = MECHANISMS[name].accepts
    if FloorCounters in accepts:
        public = counters(np.ones(KEYS, int)).public().within(KEYS * 20)
        return Row(prepare(name, BUDGET, public), counters, lambda counts: FLOOR)
    if Histogram in accepts:
        return Row(prepare(name, BUDGET, Public(shape=Histogram)), histogram)
    many = ManyKeys(numbers(np.ones(KEYS)), np.ones(KEYS, int), 3)
    if LimitedKeys in accepts:
        many = LimitedKeys(many.keys, many.counts, KEYS, KEYS)
    return Row(prepare(name, BUDGET, many.public()), lambda counts: replace(many, counts=counts))


def pure(name, longest, several=False):
    """Few counters, so that noise alone fills most places of the table."""

    def shape(counts):
        part = FloorCounters(numbers(counts), counts, 0, 1000, 1001)
        return KeyShards((part, replace(part, keys=part.keys[:0], counts=counts[:0]))) if several else part

    public = shape(np.ones(1, int)).public().within(longest, None if name == "reduced" else DOMAIN)
    budget = BUDGET if name == "reduced" else PURE
    return Row(prepare(name, budget, public), shape, lambda counts: counts.sum() / 1001)


def group():
    unit = replace(USER, rows=4)
    public = counters(np.ones(KEYS, int), unit).public()
    return Row(prepare("floor", BUDGET, public), lambda counts: counters(counts, unit), lambda counts: FLOOR)


def noisy_cells(made=CountSketch):
    sketch = made(width=4096, depth=5, max_weight=1)
    sizes = CellSizes(sketch.hashing.kind, 5, 1)
    mechanism = NoisyCells(BUDGET, sketch.public(), sizes)
    return Row(mechanism, lambda counts: cells(made(width=4096, depth=5, max_weight=1), counts), read=answers)


def sampled(counts):
    """A sample that is drawn anew whenever it is taken: forecasts are of sampling and sanitising together."""
    bits, scheme = SeededBits(6), Pps(0.05, 1.0)

    def take():
        found = fresh_sample(histogram(counts), scheme, bits)
        return found.keys, found.counts

    return SampledCounts(take, scheme)


def with_total(counts):
    return WithTotal(histogram(counts), int(counts.sum()))


def most_likely(release):
    return dict(zip(release.keys.column(0).to_pylist(), release.table["count"].to_pylist(), strict=True))


SPECIAL = {
    "shards": lambda: Row(prepare("shards", BUDGET, Public(shape=KeyShards)), shards, lambda counts: FLOOR),
    "key-shards": lambda: Row(
        prepare("key-shards", BUDGET, Public(shape=KeyShards)), shards, lambda counts: FLOOR
    ),
    "pure": lambda: pure("pure", None),
    "pure-bounded": lambda: pure("pure-bounded", 50_000),
    "pure-shards": lambda: pure("pure-shards", None, several=True),
    "reduced": lambda: pure("reduced", None),
    "hierarchy-offline": lambda: Row(
        HierarchyRelease(BUDGET, Public(height=2)),
        lambda counts: count_leaves(PATHS, names(counts)),
        read=leaves,
    ),
    "hierarchy-users": lambda: Row(
        NodeRelease(BUDGET, nodes(np.ones(KEYS, int)).public(), by_level=True), nodes, read=leaves
    ),
    "hierarchy-known": lambda: Row(
        KnownNodeRelease(Budget.pure(1.0), known(np.ones(KEYS, int)).public(), by_level=True),
        known,
        read=leaves,
    ),
    "hierarchy-streaming": lambda: Row(
        LevelFloorRelease(BUDGET, levels(np.ones(KEYS, int)).public(), 90),
        levels,
        lambda counts: FLOOR,
        leaves,
    ),
    "sample": lambda: Row(PrivateSample(BUDGET, Public(), Pps(0.05, 1.0)), histogram, read=most_likely),
    "sanitise": lambda: Row(
        SanitisedSample(BUDGET, sampled(np.ones(KEYS, int)).public()), sampled, read=most_likely
    ),
    "sized-sample": lambda: Row(
        SizedSample(BUDGET, Public(), WantedSize(50), 1000), with_total, read=most_likely
    ),
    "sample-keys": lambda: Row(
        PrivateSampleKeys(BUDGET, Public(), Pps(0.05, 1.0)),
        histogram,
        read=lambda release: dict.fromkeys(release.keys["key"].to_pylist(), 0),
    ),
    "noisy-cells": noisy_cells,
    "group": group,
}


def drawn(row, counts):
    """What each of many releases publishes, by key."""
    bits = SeededBits(5)
    runs = RUNS // 4 if row.shape in (histogram, sampled, with_total) else RUNS  # whose keys share no noise
    shape = row.shape(np.asarray(counts, np.int64))
    return [row.read(row.mechanism.release(shape, bits)) for _ in range(runs)]


def how_often(row, count):
    """How often keys of one count are published; keys of one release may share noise."""
    found = drawn(row, np.full(KEYS, count))
    return np.mean([sum(key in one for key in range(KEYS)) / KEYS for one in found])


def with_counts(names):
    return [name for name in names if name != "sample-keys"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "noisy-cells"])
def test_the_smallest_reliable_count_is_within_a_tenth(name):
    row = rows_of(name)
    smallest = row.forecast.smallest(SURE, row.floor(np.full(KEYS, 20)))
    slack = max(1, smallest // 10)
    far = 4 * np.sqrt(SURE * (1 - SURE) / RUNS)
    assert how_often(row, smallest + slack) >= SURE - far
    assert how_often(row, max(smallest - slack, 1)) < SURE


@pytest.mark.parametrize("name", [name for name in NAMES if name != "noisy-cells"])
def test_the_number_of_keys_is_within_a_tenth(name):
    row = rows_of(name)
    smallest = row.forecast.smallest(SURE, row.floor(np.full(KEYS, 20)))
    counts = np.linspace(0.3 * smallest, 1.6 * smallest, KEYS).astype(np.int64)
    expected = row.forecast.published(counts.astype(float), row.floor(counts)).sum()
    found = np.mean([sum(key in one for key in range(KEYS)) for one in drawn(row, counts)])
    assert found == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("made", [*with_counts(NAMES), CountMin])
def test_error_quantiles_are_within_a_tenth(made):
    row = noisy_cells(made) if made is CountMin else rows_of(made)
    count = max(2000, 2 * row.forecast.smallest(SURE, 0.0))
    counts = np.full(KEYS, count)
    errors = [abs(one[key] - count) for one in drawn(row, counts) for key in range(KEYS) if key in one]
    foretold = row.forecast.error(SURE, row.floor(counts))
    assert np.quantile(errors, SURE) == pytest.approx(foretold, rel=0.1, abs=1)


def test_rows_that_bound_themselves_publish_what_is_foretold_and_more():
    plan = plan_measured(LENGTH, COUNTERS, BUDGET)
    public = tracked(plan.kind, plan, np.ones(1, int)).public().within(LENGTH)
    row = Row(MeasuredEnvelope(BUDGET, public), lambda counts: tracked(plan.kind, plan, counts))
    count = row.forecast.smallest(SURE, 0.0)
    found = [
        most_likely(row.mechanism.release(row.shape([count] * 5), SeededBits(seed))) for seed in range(40)
    ]
    assert [sum(key in one for key in range(5)) for one in found] == [5] * 40
    less = row.mechanism.release(row.shape([count * 2 // 3] * 5), SeededBits(1))
    assert len(less) == 5


def test_every_row_of_the_registry_has_a_forecast_of_its_own():
    for name in NAMES:
        known = rows_of(name).forecast
        assert known.every_key == (name == "noisy-cells")
        assert (known.added is None) == (name == "sample-keys")
