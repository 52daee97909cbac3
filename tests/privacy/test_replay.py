"""Every mechanism and unit, recorded and replayed: a stream, and the stream without one unit.

From the events through the real sketch to the release, with the same randomness; scales, thresholds and
branches before any noise must not notice the difference.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.audit.replay import replay
from hushcount.hierarchies.known import known_nodes
from hushcount.jobs.exact import MOST_PLACES
from hushcount.jobs.keys import UserSets
from hushcount.jobs.leaves import UsersOfNodes
from hushcount.keys.domains import IntegerRange
from hushcount.mechanisms.base import Mechanism
from hushcount.mechanisms.histograms.chosen import RankedCounts, bounds
from hushcount.mechanisms.linear.measured import TRACKED, plan_tracked
from hushcount.mechanisms.registry import EVERY_MECHANISM, MECHANISMS, PURE, prepare
from hushcount.mechanisms.sampling.schemes import Ppswor
from hushcount.mechanisms.sampling.sized import WantedSize
from hushcount.mechanisms.total import WithTotal
from hushcount.mechanisms.users import GroupRelease
from hushcount.privacy import EVENT, RESULT_ROW, STREAM_ROW, USER, Budget
from hushcount.shapes import KeyShards, Shards
from hushcount.shapes.known import KnownNodeCounts
from hushcount.shapes.samples import SampledCounts
from hushcount.sketches.leaves import count_leaves
from hushcount.sketches.linear import TrackedSketch
from hushcount.sources.source import Batch
from hushcount.testing import seeded

BUDGET, LONGEST, COUNTERS, ROWS = Budget(1.0, 1e-3), 400, 4, 3
UNITS = {"event": EVENT, "row": RESULT_ROW, "result": STREAM_ROW, "user": replace(USER, rows=ROWS)}
STREAM = [1] * 60 + [2] * 40 + [3, 4, 5, 6, 7] * 4 + [2, 8, 1, 9]
# Removed: a frequent key, a rare one, one that is evicted, the last; of users, all ROWS rows.
PLACES = {"frequent": 0, "rare": 101, "evicted": 117, "last": 123}
# They protect events or rows; a user goes by way of the others.
NO_USERS = {"sanitise", "keys-events", "sample", "sample-keys", "noisy-cells"}
MANY_KEYS = {"gaussian", "correlated", "laplace"}
PATHS = hc.HierarchySketch("path/2", counters=COUNTERS)
KNOWN = known_nodes(PATHS.hierarchy, pa.array([f"/a/{key}" for key in range(12)]))
SKETCHES = {
    "space-saving": lambda: hc.SpaceSaving(counters=COUNTERS),
    "misra-gries": lambda: hc.MisraGries(counters=COUNTERS),
    "exact": hc.Exact,
    "count-sketch": lambda: hc.CountSketch(depth=3, width=64, max_weight=1),
    "hierarchy": lambda: hc.HierarchySketch("path/2", counters=COUNTERS),
}


def streams(place, unit):
    """The stream and its neighbour."""
    if unit == USER:
        place -= place % ROWS  # users are as many rows each, one after the other
        return STREAM, STREAM[:place] + STREAM[place + ROWS :]
    return STREAM, STREAM[:place] + STREAM[place + 1 :]


def shape_of(name, stream, unit):
    """The summary of a stream that a mechanism sees; hashes are the same for both neighbours."""
    if name in MANY_KEYS:
        return many_keys(stream, unit)
    if name.startswith("keys-") and name != "keys-events":
        sets, users = UserSets(ROWS), [place // ROWS for place in range(len(stream))]
        pairs = sorted(set(zip(users, stream, strict=True)))
        pairs += [(1000 + user, 50 + user % 12) for user in range(12 * 16)]  # of which some stay for round 2
        columns = list(map(pa.array, zip(*pairs, strict=True)))
        sets.update(pa.StructArray.from_arrays(columns, ["user", "key"]))
        return sets.shape()
    paths = pa.array([f"/a/{key}" for key in stream])
    if name == "hierarchy-offline":
        return replace(count_leaves(PATHS.shape().hierarchy, paths), unit=unit)
    if name == "chosen-bound":
        return ranked(stream, unit)
    if name == "hierarchy-users":
        return users_of_nodes(paths, unit)
    if name == "hierarchy-known":
        counts = users_of_nodes(paths, unit)
        return KnownNodeCounts(counts.hierarchy, KNOWN, counts.batches, KNOWN.most_nodes(unit.rows), unit)
    if name == "sanitise":  # the same draw for both neighbours
        counts = hc.Exact()
        counts.update(stream)
        counts.unit = unit
        sample = hc.WeightedSample.of(counts, Ppswor(0.05), SeededBits(1))
        return SampledCounts(lambda: (sample.keys, sample.counts), sample.scheme, unit)
    if name == "sized-sample":
        return WithTotal(shape_of("sample", stream, unit), len(stream))
    if name == "total":
        return WithTotal(shape_of("floor", stream, unit), len(stream))
    with seeded(1):
        sketch = sketch_for(name)
    sketch.unit = unit
    sketch.update(paths if name == "hierarchy-streaming" else stream)
    if name not in ("shards", "key-shards", "pure-shards"):
        return sketch.shape()
    together = KeyShards if name == "key-shards" else Shards
    return together((sketch.shape(), shape_of("floor", STREAM, unit)))


def many_keys(stream, unit):
    """Merged sketches; of users, those that count each user's keys once."""
    if unit == USER:
        sketch = hc.UserMisraGries(counters=COUNTERS)
        sketch.update(stream, users=[place // ROWS for place in range(len(stream))])
        return sketch.shape()
    parts = hc.SpaceSaving(counters=COUNTERS), hc.SpaceSaving(counters=COUNTERS)
    for part, keys in zip(parts, (stream, STREAM), strict=True):
        part.unit = unit
        part.update(keys)
    return parts[0].merge(parts[1]).shape()


def ranked(stream, unit):
    """The counts of each key, the same for every bound."""
    keys = sorted(set(stream))
    counts = np.array([[stream.count(key)] * len(bounds()) for key in keys])
    pairs = np.full(MOST_PLACES, len(stream))
    return RankedCounts(lambda: iter([(pa.array(keys), counts)]), pairs, bounds(), unit)


def users_of_nodes(paths, unit):
    """The users of every node; a user has ROWS rows, one after the other, an event is a user of one row."""
    users = pa.array([place // unit.rows for place in range(len(paths))])
    sketch = UsersOfNodes(PATHS.hierarchy, "drop", None, unit, max_keys=unit.rows)
    rows = pa.StructArray.from_arrays([users, paths], ["user", "key"])
    sketch.read(SimpleNamespace(batches=lambda skip: iter([Batch(rows, len(rows), 0)])), None)
    return sketch.shape()


def sketch_for(name):
    if name in TRACKED:
        plan = plan_tracked(name, LONGEST, COUNTERS, BUDGET)
        return TrackedSketch(plan.kind, COUNTERS, plan.depth, plan.width)
    kinds = {"group": "space-saving", "sample-keys": "exact"}
    return SKETCHES[kinds.get(name) or EVERY_MECHANISM[name].sketch]()


def release(name, shape, bits):
    """Calibrate by the public numbers of this very summary, release, and return what is stated."""
    public = shape.public().within(LONGEST, IntegerRange(0, 99) if name in PURE else None)
    budget = Budget.pure(BUDGET.epsilon) if name in (*PURE, "hierarchy-known") else BUDGET
    if name in MECHANISMS:
        mechanism = prepare(name, budget, public)
    elif name == "group":
        mechanism = GroupRelease(budget, public, MECHANISMS["floor"])
    elif name == "chosen-bound":  # which bound is chosen is noise too
        mechanism = EVERY_MECHANISM[name](budget, public, 4)
    elif name == "sized-sample":  # the total that sets the rate is noise too
        mechanism = EVERY_MECHANISM[name](budget, public, WantedSize(4), 40)
    elif name.startswith("sample") or name == "keys-events":
        mechanism = EVERY_MECHANISM[name](budget, public, Ppswor(0.05))
    else:
        mechanism = EVERY_MECHANISM[name](budget, public)
    made = mechanism.release(shape, bits)
    return numbers(mechanism), dict(made.guarantee.parameters), made.guarantee.unit


def numbers(mechanism):
    """What a mechanism was calibrated to, and one inside it."""
    values = vars(mechanism).items()
    return {name: numbers(value) if isinstance(value, Mechanism) else value for name, value in values}


def units_of(name):
    if name == "group" or (name.startswith("keys-") and name != "keys-events"):
        return ["user"]
    return [unit for unit in UNITS if unit != "user" or name not in NO_USERS]


CASES = [(name, unit) for name in EVERY_MECHANISM for unit in units_of(name)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "unit"), CASES)
def test_only_the_noise_knows_the_difference(name, unit, place):
    more, less = (shape_of(name, stream, UNITS[unit]) for stream in streams(PLACES[place], UNITS[unit]))
    found = replay(lambda bits: release(name, more, bits), lambda bits: release(name, less, bits))
    assert found == []
