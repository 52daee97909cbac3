"""Users in a tree: how many numbers one user changes, the law of what is published, and broken twins."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.audit import laws as hs
from hushcount.audit.moved import gaussian_divergence, many_keys_divergence
from hushcount.hierarchies.base import Hierarchy, IntegerHierarchy
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.jobs.leaves import UsersOfNodes
from hushcount.jobs.request import Request
from hushcount.mechanisms.hierarchy.users import NodeRelease, NodeSums
from hushcount.mechanisms.histograms.gaussian import sparse_histogram
from hushcount.privacy import Budget
from hushcount.shapes import Public
from hushcount.sources.duckdb.bounding import DistinctPairs

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "users.json").read_text())["moved_nodes"]
WIDTHS = {"256^i, i=0..4": "ipv4/8", "2^i, i=0..32": "ipv4/1"}


@dataclass(frozen=True, slots=True)
class Binary(IntegerHierarchy):
    """Numbers of `height` bits."""

    height: int = 3  # type: ignore[assignment]
    name = "bits"

    @property
    def shifts(self):
        return np.arange(self.height, -1, -1).astype(np.uint64)

    def possible(self, level):
        return 1 << level

    def _read(self, keys):
        return keys.cast(pa.uint64())

    def _label(self, leaf, level):
        return f"{leaf >> (self.height - level):0{level}b}"


def nodes_above(hierarchy: Hierarchy, leaves: pa.Array) -> set[tuple[int, object]]:
    return {
        (level, node)
        for level in range(hierarchy.height + 1)
        for node in hierarchy.nodes(leaves, level).to_pylist()
    }


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["max_keys"]))
def test_the_number_of_nodes_that_one_user_changes(vector):
    named = WIDTHS.get(str(vector["nodes_per_level"]))
    hierarchy = Binary() if named is None else parse_hierarchy(named)
    assert hierarchy.most_nodes(vector["max_keys"]) == vector["moved"]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 8])
def test_it_is_attained_and_never_exceeded_by_any_set_of_leaves(most):
    """All sets of up to `most` of the eight leaves of a tree of depth 3."""
    hierarchy = Binary()
    changed = [
        len(nodes_above(hierarchy, pa.array(leaves, pa.uint64())))
        for size in range(1, most + 1)
        for leaves in combinations(range(8), size)
    ]
    assert max(changed) == hierarchy.most_nodes(most)


@pytest.mark.parametrize(
    ("hierarchy", "reliable"), [("ipv4/8", 173), ("ipv4/1", 494)], ids=["by byte", "by bit"]
)
def test_the_smallest_reliable_number_of_users(hierarchy, reliable):
    moved = parse_hierarchy(hierarchy).most_nodes(8)
    found = sparse_histogram(1.0, 1e-6, moved).reliable
    assert abs(found - reliable) <= 1  # the reference searches sigma more finely
    mechanism = NodeRelease(Budget(1.0, 1e-6), Public(height=4, moved=moved))
    assert mechanism.forecast().smallest(0.95, 0.0) == found


# Enumeration: a root with two leaves, users of one or two of them.
SMALL = NodeRelease(Budget(1.0, 1e-2), Public(height=1, moved=3))
MOVES = {"a": ("*", "a"), "b": ("*", "b"), "ab": ("*", "a", "b")}


def small_release(threshold: int) -> hs.NoisyThreshold:
    return hs.NoisyThreshold(SMALL.noise, threshold, 1.0, 1e-2)


def worst(threshold: int) -> float:
    """The largest divergence over populations of users of a, b and both, and one user more, both ways."""
    spent = []
    high = threshold + 12
    for users in product((0, 1, threshold, high), repeat=3):
        only_a, only_b, both = users
        counts = {"*": only_a + only_b + both, "a": only_a + both, "b": only_b + both}
        less = {node: count for node, count in counts.items() if count}
        for moved in MOVES.values():
            more = less | {node: less.get(node, 0) + 1 for node in moved}
            spent += [
                hs.independent(small_release(threshold), sides)[0] for sides in ((more, less), (less, more))
            ]
    return max(spent)


def test_every_population_keeps_the_budget_and_the_worst_one_spends_it():
    spent = worst(SMALL.threshold)
    assert 0.9e-2 < spent <= 1e-2


def test_a_threshold_one_lower_is_refuted():
    assert worst(SMALL.threshold - 1) > 1e-2
    assert many_keys_divergence(SMALL.noise, SMALL.threshold - 1, 1.0, 3) > 1e-2


def divergence(sigma: float, changes: Counter[int], epsilon: float) -> float:
    """The exact divergence of discrete Gaussians of which so many change by each whole number."""
    span = math.ceil(11 * sigma)
    pmf = np.exp(-(np.arange(-span, span + 1) ** 2) / (2 * sigma**2))
    pmf /= pmf.sum()
    total = np.ones(1)  # the law of the sum of change times noise, which alone decides the loss
    for change, times in changes.items():
        spread = np.zeros(2 * span * change + 1)
        spread[::change] = pmf
        for _ in range(times):
            total = np.convolve(total, spread)
    reach = len(total) // 2
    square = sum(times * change**2 for change, times in changes.items())
    loss = (2 * np.arange(-reach, reach + 1) + square) / (2 * sigma**2)
    return float(np.sum(total * -np.expm1(np.minimum(epsilon - loss, 0.0))))


def test_the_twin_that_adds_up_children_is_refuted():
    """IPv4 by byte, 8 keys in different leaves of one network of 24 bits: three nodes and the root by 8."""
    sigma = sparse_histogram(1.0, 1e-6, 33).sigma
    once = divergence(sigma, Counter({1: 33}), 1.0)
    assert once == pytest.approx(
        gaussian_divergence(sparse_histogram(1.0, 1e-6, 33).noise, 33, 1.0), rel=1e-6
    )
    assert once <= 1e-6
    summed = divergence(sigma, Counter({1: 8, 8: 4}), 1.0)
    print(f"sums of children: divergence {summed:.4f} for a claimed 1e-6")
    assert summed > 0.02


def random_rows(generator: random.Random, users: int) -> list[tuple[object, object]]:
    """Rows with repeated keys, nulls, malformed keys, few users with very many keys."""
    rows: list[tuple[object, object]] = []
    for user in range(users):
        many = 3000 if user == 3 else generator.choice((1, 1, 2, 5, 40))
        for _ in range(many):
            key = generator.choice((None, "?", "10.0.0.1", "10.0.0.1", f"10.0.{generator.randrange(4)}.9"))
            far = f"{generator.randrange(256)}.{generator.randrange(256)}.0.{generator.randrange(256)}"
            rows.append((generator.choice((user, user, user, None)), generator.choice((key, far))))
    generator.shuffle(rows)
    return rows


def numbers(rows, max_keys: int, hierarchy: str = "ipv4/8", memory: str | None = None):
    """The users of every node, as DuckDB counts them out of core."""
    table = pa.table({"user": pa.array([r[0] for r in rows], pa.int64()), "key": [r[1] for r in rows]})
    parsed = parse_hierarchy(hierarchy)
    request = Request(table, column="key", user="user", bound=DistinctPairs(max_keys), with_users=True)
    sketch = UsersOfNodes(parsed, "drop", None, request.unit, max_keys=max_keys)
    sketch.read(request.open(), None)
    found: dict[tuple[int, object], int] = {}
    for level, leaves, users in NodeSums(parsed.height).complete(sketch.shape().batches()):
        for node, count in zip(parsed.nodes(leaves, level).to_pylist(), users.tolist(), strict=True):
            assert (level, node) not in found
            found[level, node] = count
    return found


def by_hand(rows, hierarchy: str = "ipv4/8"):
    """The same for users who keep all their keys."""
    parsed = parse_hierarchy(hierarchy)
    keys: dict[object, set[str]] = {}
    for user, key in rows:
        if user is not None and key is not None and parsed.leaves(pa.array([key])).null_count == 0:
            keys.setdefault(user, set()).add(key)
    counts: Counter[tuple[int, object]] = Counter()
    for held in keys.values():
        counts.update(nodes_above(parsed, parsed.leaves(pa.array(sorted(held)))))
    return dict(counts)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("hierarchy", ["ipv4/8", "ipv4/1"])
def test_duckdb_counts_each_user_once_per_node(seed, hierarchy):
    rows = random_rows(random.Random(seed), 40)
    assert numbers(rows, 10_000, hierarchy) == by_hand(rows, hierarchy)


@pytest.mark.parametrize("max_keys", [2, 8])
def test_removing_one_user_changes_what_the_lemma_says(max_keys, monkeypatch):
    """On the real engine: each changed number by 1, all down, at most as many as are moved; others stay."""
    monkeypatch.setattr("hushcount.sources.duckdb.bounding.fresh_key", lambda: b"k" * 16)
    rows = random_rows(random.Random(5), 30)
    whole = numbers(rows, max_keys)
    moved = parse_hierarchy("ipv4/8").most_nodes(max_keys)
    most = 0
    for user in (0, 3, 7, 29):
        rest = numbers([row for row in rows if row[0] != user], max_keys)
        changed = {node: count - rest.get(node, 0) for node, count in whole.items()}
        assert rest.keys() <= whole.keys()
        assert set(changed.values()) <= {0, 1}
        most = max(most, sum(changed.values()))
        assert sum(changed.values()) <= moved
        if user == 3:  # whose thousands of keys are cut by a hash of user and key alone
            assert sum(changed.values()) > moved - 3
    assert most > 0


def test_sums_of_children_change_by_more_than_one(monkeypatch):
    monkeypatch.setattr("hushcount.sources.duckdb.bounding.fresh_key", lambda: b"k" * 16)
    rows = random_rows(random.Random(5), 30)
    leaves = [numbers(some, 8) for some in (rows, [row for row in rows if row[0] != 3])]
    roots = [sum(count for (level, _), count in found.items() if level == 4) for found in leaves]
    assert roots[0] - roots[1] == 8
    assert leaves[0][0, 0] - leaves[1][0, 0] == 1


def test_the_noise_comes_after_the_counts():
    """A number of users far above the threshold is published within its noise, once per node."""
    rows = [(user, f"10.0.0.{host}") for user in range(2000) for host in range(4)]
    table = pa.table({"user": [r[0] for r in rows], "key": [r[1] for r in rows]})
    asked = {"hierarchy": "ipv4/8", "column": "key", "threshold": 300, "user": "user", "max_keys": 4}
    tree = hc.tree(table, epsilon=1.0, delta=1e-6, by_level=True, confidence=1 - 1e-9, **asked)
    assert len(tree) == 8
    for row in tree.table.to_pylist():
        assert row["lower"] <= 2000 <= row["upper"]
