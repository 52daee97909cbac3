"""The exact tree: equal to the definition, and marked as raw data wherever it is shown."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.jobs.trees.raw import RAW

VISITS = ["/a/x"] * 5 + ["/a/y"] * 3 + ["/a/z"] * 2 + ["/b/x"] * 4 + ["/c"]


def by_definition(keys: list[str], threshold: int) -> dict[str, tuple[int, int]]:
    """Residuals and totals of two levels and the root, from the leaves up, key by key."""
    leaves = Counter(key if key.count("/") == 2 else f"{key}/·" for key in keys)
    found: dict[str, tuple[int, int]] = {}
    left = dict(leaves)
    for level in (2, 1, 0):
        residuals, totals = Counter(), Counter()
        for leaf, count in leaves.items():
            node = "/".join(leaf.split("/")[: level + 1]) if level else "*"
            totals[node] += count
            residuals[node] += left[leaf]
        for node, residual in residuals.items():
            if residual >= threshold:
                found[node] = residual, totals[node]
                for leaf in leaves:
                    if node in ("*", leaf) or leaf.startswith(f"{node}/"):
                        left[leaf] = 0
    return found


@pytest.mark.parametrize("threshold", range(1, 17))
def test_it_is_the_definition(threshold):
    tree = hc.exact_tree(VISITS, hierarchy="path/2", threshold=threshold)
    rows = {row["node"]: (row["exact_residual"], row["exact_total"]) for row in tree.table.to_pylist()}
    assert rows == by_definition(VISITS, threshold)


def test_random_addresses_agree_with_the_private_tree_far_above_the_threshold():
    generator = np.random.default_rng(4)
    keys = [f"10.0.{a}.{b}" for a, b in zip(*generator.integers(0, 3, (2, 9000)), strict=True)]
    exact = hc.exact_tree(keys, hierarchy="ipv4/8", threshold=500)
    private = hc.tree(keys, hierarchy="ipv4/8", threshold=500, epsilon=1.0, delta=1e-6)
    assert sorted(exact.table["node"].to_pylist()) == sorted(private.nodes.to_pylist())


def test_by_level_no_node_takes_from_another():
    tree = hc.exact_tree(VISITS, hierarchy="path/2", threshold=5, by_level=True)
    rows = [(row["node"], row["exact_residual"], row["exact_total"]) for row in tree.table.to_pylist()]
    assert rows == [("/a/x", 5, 5), ("/a", 10, 10), ("*", 15, 15)]


def test_it_is_marked_as_raw_data_everywhere():
    tree = hc.exact_tree(VISITS, hierarchy="path/2", threshold=5)
    assert str(tree).splitlines()[0] == repr(tree).splitlines()[0] == RAW
    assert RAW in tree._repr_html_()
    assert tree.table.schema.metadata == {b"hushcount": RAW.encode()}
    assert tree.table.column_names == ["node", "level", "exact_residual", "exact_total"]
    assert (len(tree), tree.threshold, tree.hierarchy) == (3, 5, "path/2")
    long = hc.exact_tree([f"/{n}/a" for n in range(30)], hierarchy="path/2", threshold=1)
    assert repr(long).splitlines()[-1] == "... and 10 further nodes"


def test_weights_are_summed():
    flows = pa.table({"src": ["10.0.0.1", "10.0.0.1", "10.0.0.2"], "bytes": [50, 500, -7]})
    tree = hc.exact_tree(flows, column="src", hierarchy="ipv4/8", threshold=1, weight="bytes", max_weight=100)
    assert tree.table.to_pylist() == [
        {"node": "10.0.0.1", "level": 4, "exact_residual": 150, "exact_total": 150}
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"threshold": 0}, "threshold must be at least 1, got 0."),
        ({"threshold": 2, "by_level": "yes"}, "by_level must be True or False, got 'yes'."),
        (
            {"threshold": 2, "max_weight": 2},
            "max_weight is the largest weight of a row, so it needs weight, a column.",
        ),
    ],
)
def test_refusals(given, sentence):
    with pytest.raises(hc.errors.ParameterError) as caught:
        hc.exact_tree(VISITS, hierarchy="path/2", **given)
    assert str(caught.value) == sentence


def test_a_malformed_key_may_stop_it():
    with pytest.raises(hc.errors.DataError, match="malformed for hierarchy ipv4/8"):
        hc.exact_tree(["10.0.0.1", "secret"], hierarchy="ipv4/8", threshold=1, on_bad="fail")
