"""One release by every mechanism of the registry, for tests of what can be done with any of them."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.registry import CAMPAIGNS
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.wire.encodings import Words
from hushcount.mechanisms.sampling.sample import PrivateSample, PrivateSampleKeys
from hushcount.mechanisms.sampling.schemes import Ppswor
from hushcount.privacy import Budget
from hushcount.shapes import Histogram
from hushcount.sketches.merged import DealtByKey

KEYS = [f"key {number}" for number in range(40) for _ in range(40 * (40 - number))]
FLOWS = pa.table(
    {
        "user": [user for user in range(3000) for _ in range(4)],
        "key": [f"10.0.{user % 2}.{host}" for user in range(3000) for host in range(4)],
    }
)
USERS = pa.table({"key": KEYS, "user": [row % 900 for row in range(len(KEYS))]})
LEAVES = [f"10.{number % 7}.{number % 5}.{number % 3}" for number in range(20_000)]
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
SMALL = {"counters": 64}


def _top(**options):
    return hc.top(KEYS, **{**BUDGET, **options})


def _sanitised():
    counts = hc.Exact()
    counts.update(KEYS)
    return hc.release(hc.WeightedSample.of(counts, hc.Pps(0.01)), **BUDGET)


def _shards():
    shards = [hc.SpaceSaving(counters=16), hc.SpaceSaving(counters=24)]
    for shard, start in zip(shards, (0, 1), strict=True):
        shard.update(KEYS[start::2])
    return hc.release(shards, **BUDGET)


def _key_shards():
    shards = DealtByKey([hc.SpaceSaving(counters=16), hc.SpaceSaving(counters=16)])
    for shard, sketch in enumerate(shards):
        sketch.update([key for key in KEYS if int(key[4:]) % 2 == shard])
    return hc.release(shards, **BUDGET)


def _pure_shards():
    shards = [hc.SpaceSaving(counters=16), hc.SpaceSaving(counters=16)]
    for shard, start in zip(shards, (0, 1), strict=True):
        shard.update(KEYS[start::2])
    return hc.release(shards, epsilon=1.0, delta=0, domain=[*dict.fromkeys(KEYS)], max_events=50_000)


def _reduced():
    shards = [hc.MisraGries(counters=64), hc.MisraGries(counters=64)]
    for shard, start in zip(shards, (0, 1), strict=True):
        shard.update(KEYS[start::2])
    return hc.release(shards, mechanism="reduced", max_events=50_000, **BUDGET)


def _merged(mechanism):
    one, other = hc.MisraGries(counters=64), hc.MisraGries(counters=64)
    one.update(KEYS[::2])
    other.update(KEYS[1::2])
    return hc.release(one.merge(other), mechanism=mechanism, max_events=50_000, **BUDGET)


def _tokens():
    counts = pa.array([400, 900, 30, 2], pa.int64())
    shape = Histogram(pa.array(["a", "b", "c", "d"]), counts.to_numpy())
    mechanism = PrivateSample(Budget(1.0, 1e-6), scheme=Ppswor(0.25, 0.5), tokens=3)
    return mechanism.release(shape, SeededBits(5))


def _keys():
    counts = pa.array([400, 900, 30, 2], pa.int64()).to_numpy()
    shape = Histogram(pa.array(["b", "a", "c", "d"]), counts)
    return PrivateSampleKeys(Budget(1.0, 1e-6), scheme=Ppswor(0.25, 0.5)).release(shape, SeededBits(5))


def _local(name):
    """A campaign whose clients hold one of three items."""
    users = 40_000
    manifest = CAMPAIGNS[name](Words("abc", 3), epsilon=4.0, users=users, threshold=6000).manifest
    items = Items.of(["abc", "cab", "b"], manifest.encoding).take(np.arange(users) % 4 % 3)
    bits = SeededBits(3)
    nonces = bits.words(users)
    aggregator = Aggregator(manifest)
    aggregator.add((nonces, respond_all(manifest, nonces, items, bits)))
    return aggregator.heavy_hitters()


MAKERS = {
    "floor": lambda: _top(**SMALL),
    "floor, cut": lambda: _top(limit=3, confidence=0.9, **SMALL),
    "pmg": lambda: _top(mechanism="pmg", **SMALL),
    "pmg, bounded": lambda: _top(mechanism="pmg", max_events=50_000, **SMALL),
    "pmg-paper": lambda: _top(mechanism="pmg-paper", **SMALL),
    "pmg-standard": lambda: _top(mechanism="pmg-standard", **SMALL),
    "chan": lambda: _top(mechanism="chan", counters=8),
    "dpss": lambda: _top(mechanism="dpss", max_events=40_000, **SMALL),
    "laplace-threshold": lambda: _top(mechanism="laplace-threshold", max_events=40_000),
    "truncated-geometric": lambda: _top(mechanism="truncated-geometric"),
    "public-floor": lambda: _top(mechanism="public-floor", max_events=40_000, **SMALL),
    "count-min-envelope": lambda: _top(mechanism="count-min-envelope", max_events=40_000, counters=512),
    "count-sketch-envelope": lambda: _top(mechanism="count-sketch-envelope", max_events=40_000, counters=512),
    "measured-envelope": lambda: _top(mechanism="measured-envelope", max_events=40_000, counters=512),
    "shards": _shards,
    "key-shards": _key_shards,
    "gaussian": lambda: _merged("gaussian"),
    "correlated": lambda: _merged("correlated"),
    "laplace": lambda: _merged("laplace"),
    "pure": lambda: _top(delta=0, domain=[*dict.fromkeys(KEYS)], counters=8),
    "pure-bounded": lambda: hc.top(
        [len(key) for key in KEYS], epsilon=1.0, delta=0, domain="0..99", max_events=50_000, counters=8
    ),
    "pure-shards": _pure_shards,
    "reduced": lambda: _top(mechanism="reduced", **SMALL),
    "reduced, shards": _reduced,
    "group": lambda: hc.top(USERS, column="key", user="user", max_keys=2, counters=4096, **BUDGET),
    "users, geometric": lambda: hc.top(USERS, column="key", user="user", max_keys=2, **BUDGET),
    "users, at least": lambda: hc.top(USERS, column="key", user="user", max_keys=2, min_users=30, **BUDGET),
    "chosen-bound": lambda: hc.top(USERS, column="key", user="user", max_keys="auto", **BUDGET),
    "total": lambda: _top(other=True, **SMALL),
    "total, users": lambda: hc.top(
        USERS, column="key", user="user", max_keys=4, other=True, other_share=0.1, **BUDGET
    ),
    "total, pure": lambda: _top(
        delta=0, domain=[*dict.fromkeys(KEYS)], counters=8, other=True, limit=3, confidence=0.9
    ),
    "events, exact": lambda: _top(exact=True),
    "users, exact": lambda: hc.top(USERS, column="key", user="user", max_keys=40, exact=True, **BUDGET),
    "hierarchy-offline": lambda: hc.tree(LEAVES, hierarchy="ipv4/8", threshold=300, **BUDGET),
    "hierarchy-streaming": lambda: hc.tree(
        LEAVES, hierarchy="ipv4/8", threshold=300, method="streaming", counters=256, **BUDGET
    ),
    "hierarchy-users": lambda: hc.tree(
        FLOWS, hierarchy="ipv4/8", threshold=300, user="user", max_keys=4, column="key", **BUDGET
    ),
    "hierarchy-users, by level": lambda: hc.tree(
        LEAVES, hierarchy="ipv4/8", threshold=300, by_level=True, **BUDGET
    ),
    "hierarchy-known": lambda: hc.tree(
        LEAVES, hierarchy="ipv4/8", threshold=300, epsilon=BUDGET["epsilon"], delta=0
    ),
    "hierarchy-known, by level": lambda: hc.tree(
        FLOWS,
        hierarchy="ipv4/8",
        domain=[f"10.0.0.{host}" for host in range(64)],
        threshold=100,
        user="user",
        max_keys=2,
        column="key",
        by_level=True,
        epsilon=BUDGET["epsilon"],
        delta=0,
    ),
    "hierarchy-offline, users": lambda: hc.tree(
        FLOWS, hierarchy="ipv4/8", threshold=300, user="user", max_keys=1, column="key", **BUDGET
    ),
    "hierarchy-streaming, users": lambda: hc.tree(
        FLOWS,
        hierarchy="ipv4/8",
        threshold=2000,
        user="user",
        max_keys=2,
        column="key",
        counters=256,
        method="streaming",
        **BUDGET,
    ),
    "sample": lambda: hc.sample(KEYS, rate=0.01, **BUDGET),
    "sample, bounded": lambda: hc.sample(KEYS, size=20_000, max_events=40_000, power=0.5, **BUDGET),
    "sample, tokens": _tokens,
    "sample, table": lambda: hc.sample(KEYS, probabilities=[0.0, 0.1, 0.5], **BUDGET),
    "sanitise": _sanitised,
    "sized-sample": lambda: hc.sample(KEYS, size=100, **BUDGET),
    "sized-sample, tokens": lambda: hc.sample(
        KEYS, size=100, scheme="ppswor", power=0.5, tokens=3, total_share=0.2, **BUDGET
    ),
    "sized-sample, users": lambda: hc.sample(
        USERS, column="key", user="user", max_keys=4, size=100, keys_only=True, **BUDGET
    ),
    "noisy-cells": lambda: hc.oracle(KEYS, kind="count-sketch", width=64, depth=5, **BUDGET),
    "noisy-cells, users": lambda: hc.oracle(
        USERS, column="key", user="user", max_keys=4, width=64, depth=3, **BUDGET
    ),
    "sample, users": lambda: hc.sample(USERS, column="key", user="user", max_keys=4, rate=0.5, **BUDGET),
    "noisy-cells, Laplace": lambda: hc.oracle(KEYS, kind="count-min", width=64, depth=3, epsilon=1.0),
    "sum": lambda: hc.add_releases([_top(**SMALL), _top(mechanism="truncated-geometric")]),
    "sample-keys": _keys,
    "keys-events": lambda: hc.keys(KEYS, **BUDGET),
    "keys-steered": lambda: hc.keys(USERS, column="key", user="user", **BUDGET),
    "keys-sips": lambda: hc.keys(USERS, column="key", user="user", method="sips", **BUDGET),
    "keys-weighted": lambda: hc.keys(USERS, column="key", user="user", method="weighted", **BUDGET),
} | {f"local, {name}": partial(_local, name) for name in CAMPAIGNS}


@lru_cache(maxsize=64)
def made(name):
    """Return a release by that mechanism."""
    return MAKERS[name]()
