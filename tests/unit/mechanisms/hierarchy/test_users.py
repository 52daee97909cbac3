"""Gaussian noise on the users of every node: sizes, refusals, what it costs and says."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import NotProvedError, ParameterError
from hushcount.hierarchies.base import UserLeafBatch
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.mechanisms.hierarchy.totals import NEAR
from hushcount.mechanisms.hierarchy.users import NodeError, NodeRelease
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.privacy import USER, Budget
from hushcount.shapes import LeafCounts, NodeCounts, Public
from hushcount.testing import SeededBits

BUDGET = Budget(1.0, 1e-6)
PATHS = parse_hierarchy("path/2")


def batches(*parts):
    """Batches of (path, known, users), sorted."""
    before = None
    for part in parts:
        leaves = PATHS.leaves(pa.array([path for path, _, _ in part]))
        users = np.array([users for _, _, users in part])
        known = np.array([known for _, known, _ in part], np.int16)
        yield UserLeafBatch(leaves, users, PATHS.shared(leaves, before), known)
        before = leaves[-1]


def shape(*parts, moved=5):
    return NodeCounts(PATHS, lambda: batches(*parts), moved, USER)


ROWS = [("/a/x", -1, 5000), ("/a/y", -1, 1000), ("/a/y", 1, 4000), ("/b/z", -1, 500), ("/b/z", 0, 2500)]


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2, 3, 4)])
def test_numbers_do_not_depend_on_batches(cuts):
    parts = [ROWS[first:last] for first, last in zip((0, *cuts), (*cuts, len(ROWS)), strict=True)]
    mechanism = NodeRelease(BUDGET, Public(height=2, moved=5), by_level=True)
    table = mechanism.release(shape(*parts), SeededBits(1)).table
    totals = dict(zip(table["node"].to_pylist(), table["total"].to_pylist(), strict=True))
    truth = {"*": 6500, "/a": 6000, "/a/x": 5000, "/a/y": 5000, "/b": 3000, "/b/z": 3000}
    assert {node: round(total, -2) for node, total in totals.items()} == truth


def test_a_tree_takes_descendants_off():
    mechanism = NodeRelease(BUDGET, Public(height=2, moved=5), threshold=1000)
    tree = mechanism.release(shape(ROWS), SeededBits(1))
    assert sorted(tree.nodes.to_pylist()) == ["/a/x", "/a/y", "/b/z"]
    assert tree.guarantee.parameters["table"] == "tree"
    assert tree.guarantee.unit == USER


def test_no_rows_give_no_nodes():
    assert len(NodeRelease(BUDGET, Public(height=2, moved=5)).release(shape(), SeededBits(1))) == 0


def test_a_threshold_below_the_smallest_is_refused():
    least = NodeRelease(BUDGET, Public(height=2, moved=5)).threshold
    with pytest.raises(ParameterError) as caught:
        NodeRelease(BUDGET, Public(height=2, moved=5), least - 1)
    assert str(caught.value) == (
        f"threshold must be at least {least} if one user changes 5 numbers at (1, 1e-06), got {least - 1}."
    )


def test_other_summaries_and_sizes_are_refused():
    mechanism = NodeRelease(BUDGET, Public(height=2, moved=5))
    with pytest.raises(NotProvedError, match="is proved for the users of every node of a hierarchy, not for"):
        mechanism.release(LeafCounts(PATHS, lambda: iter(())), SeededBits(1))
    with pytest.raises(ParameterError, match="moved must be 5 as calibrated, got 6"):
        mechanism.release(shape(moved=6), SeededBits(1))
    with pytest.raises(ParameterError, match="rows of one unit must be 1 as calibrated, got 8"):
        mechanism.release(replace(shape(), unit=replace(USER, rows=8)), SeededBits(1))


def test_it_is_charged_by_its_curve():
    event = NodeRelease(BUDGET, Public(height=2, moved=5)).event()
    assert (float(event.epsilon), float(event.delta)) == (1, 1e-6)
    charge = NodeRelease(BUDGET, Public(height=2, moved=5)).finer_charge()
    assert [curve.moved for curve in charge.curves] == [5]


def test_sentences():
    said = NodeError(DiscreteGaussian(10), 50, by_level=True, height=2, max_events=1000).sentences(0.95)
    assert said == (
        "If you pick a node before you see the table, then with probability 0.95 its true total lies within"
        " 20 of its total. Each user counts once per node.",
        "residual is the total: no node takes anything from another.",
        NEAR,
        "For all nodes at once, with probability 0.95, every total is within 37 of the truth, and a node that"
        " is not in the table has at most 81.",
    )
    said = NodeError(DiscreteGaussian(10), 50, by_level=False).sentences(0.95)
    assert said[1:] == (
        "residual is the total without the totals of the nearest published descendants; whoever is below two"
        " of them is subtracted twice, so it is too small rather than too large.",
        NEAR,
    )
    said = NodeError(DiscreteGaussian(10), 50, False, height=2, max_events=1000).sentences(0.95)
    assert said[-1].endswith("at most 81, beyond the totals of its nearest published descendants.")


@pytest.mark.parametrize("kind", [HierarchyRelease, LevelFloorRelease])
def test_trees_of_rows_protect_users_as_groups(kind):
    public = Public(height=3, unit=replace(USER, rows=8))
    mechanism = kind(BUDGET, public)
    assert mechanism.row.epsilon < 1 / 8
    assert mechanism.row.delta < 1e-6
    assert mechanism.threshold > kind(BUDGET, Public(height=3)).threshold
    promise = mechanism.foretold(public.unit)
    assert (promise.epsilon, promise.delta, promise.parameters["max_rows"]) == (1.0, 1e-6, 8)
    assert promise.mechanism.endswith("for groups of 8 rows")
    event = mechanism.event()
    assert (float(event.epsilon), float(event.delta)) == (1, 1e-6)
    alone = kind(BUDGET, Public(height=3, unit=USER))
    assert (alone.threshold, alone.row) == (kind(BUDGET, Public(height=3)).threshold, BUDGET)
