"""A tree read level by level."""

import numpy as np
import pytest

import hushcount as hc
from hushcount.keys.labels import NodeLabel

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
GENERATOR = np.random.default_rng(5)
ADDRESSES = [f"10.{a % 3}.{a % 7}.{a % 11}" for a in GENERATOR.zipf(1.5, 20_000).tolist()]
TREES = {
    "ipv4/8": (ADDRESSES, "ipv4/8"),
    "ipv6/16": ([f"2001:db8:{a % 3}::{a % 9:x}" for a in range(6000)], "ipv6/16"),
    "path": ([f"/shop/{a % 3}/{a % 5}" for a in range(6000)] + ["about/us"] * 900, "path/3"),
    "domain": ([f"www{a % 9}.example.com" for a in range(5000)] + ["a.org"] * 700, "domain/3"),
    "date": ([f"2024-0{1 + a % 3}-1{a % 9}" for a in range(9000)], "date"),
}


CASES = [(name, method) for name in TREES for method in ("offline", "streaming")]


@pytest.fixture(scope="module", params=CASES)
def release(request):
    name, method = request.param
    data, hierarchy = TREES[name]
    return hc.tree(data, hierarchy=hierarchy, threshold=450, method=method, **BUDGET)


def test_every_row_is_what_estimate_says(release):
    rows = release.by_level().to_pylist()
    assert {row["node"] for row in rows if row["published"]} == set(release.nodes.to_pylist())
    assert {row["node"] for row in rows if not row["published"]}
    for row in rows:
        known = release.estimate(row["node"])
        assert (row["level"], row["published"]) == (known.level, known.published)
        assert row["total"] == known.estimate
        assert (row["lower"], row["upper"]) == (known.lower, known.upper)
    assert rows == sorted(rows, key=lambda row: (row["level"], -row["total"], row["node"]))


def test_no_ancestor_is_missing(release):
    """The obvious way: whatever holds a published node is in the table, and every row does or is one."""
    nodes = release.by_level()["node"].to_pylist()
    published = release.nodes.to_pylist()
    holders = {node: NodeLabel.of(node, release.hierarchy, release.height).holds for node in nodes}
    levels = dict(zip(published, release.levels.to_pylist(), strict=True))
    for node in published:
        assert sum(holds(node) for holds in holders.values()) == levels[node]
    assert all(node in levels or any(map(holds, published)) for node, holds in holders.items())


def test_totals_of_levels_hold_the_truth():
    """The root and its only child hold all events, though neither is published."""
    release = hc.tree(["/a/b"] * 900 + ["/a/c"] * 800, hierarchy="path/2", threshold=500, **BUDGET)
    rows = {row["node"]: row for row in release.by_level().to_pylist()}
    assert list(rows) == ["*", "/a", "/a/b", "/a/c"]
    assert [row["published"] for row in rows.values()] == [False, False, True, True]
    for node, truth in {"*": 1700, "/a": 1700, "/a/b": 900, "/a/c": 800}.items():
        assert rows[node]["lower"] - 100 <= truth <= rows[node]["upper"] + 100
    assert rows["*"]["total"] == rows["/a"]["total"] == sum(release.totals.to_pylist())


def test_marks_of_unpublished_nodes_are_those_of_the_rows_they_rest_on():
    release = hc.tree(["/a/b"] * 900 + ["/c/d"] * 900, hierarchy="path/2", threshold=890, **BUDGET)
    for row in release.by_level().to_pylist():
        if row["node"] == "/a":
            (below,) = (each for each in release.table.to_pylist() if each["node"] == "/a/b")
            assert row["near_threshold"] == below["near_threshold"]


def test_read_from_a_file(tmp_path):
    release = hc.tree(ADDRESSES, hierarchy="ipv4/8", threshold=450, **BUDGET)
    release.write(tmp_path / "tree.json")
    assert hc.read_release(tmp_path / "tree.json").by_level().equals(release.by_level())


def test_no_node():
    release = hc.tree(["/a"] * 3, hierarchy="path/2", threshold=500, **BUDGET)
    assert release.by_level().to_pylist() == []
