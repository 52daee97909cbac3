"""Exact heavy nodes by hand, and what the threshold may be."""

import pyarrow as pa
import pytest

from hushcount.errors import ParameterError
from hushcount.hierarchies.components import path
from hushcount.sketches.leaves import count_leaves, heavy_hitters_by_level, hierarchical_heavy_hitters

KEYS = ["/a/x"] * 5 + ["/a/y"] * 3 + ["/a/z"] * 1 + ["/b/x"] * 2 + ["/c/x"] * 1


def named(found, hierarchy, counts):
    return dict(zip(hierarchy.labels(found.nodes, found.levels).to_pylist(), counts.tolist(), strict=True))


def test_residuals_leave_out_what_is_below_deeper_heavy_nodes():
    hierarchy = path(2)
    found = hierarchical_heavy_hitters(count_leaves(hierarchy, pa.array(KEYS)), 3)
    assert named(found, hierarchy, found.residuals) == {"/a/x": 5, "/a/y": 3, "*": 4}
    assert named(found, hierarchy, found.totals) == {"/a/x": 5, "/a/y": 3, "*": 12}
    assert found.levels.tolist() == [2, 2, 0]
    assert len(found) == 3
    found = hierarchical_heavy_hitters(count_leaves(hierarchy, pa.array(KEYS)), 4)
    assert named(found, hierarchy, found.residuals) == {"/a/x": 5, "/a": 4}


def test_by_level_nothing_is_left_out():
    hierarchy = path(2)
    found = heavy_hitters_by_level(count_leaves(hierarchy, pa.array(KEYS)), 3)
    assert named(found, hierarchy, found.totals) == {"/a/x": 5, "/a/y": 3, "/a": 9, "*": 12}
    assert found.residuals.tolist() == found.totals.tolist()


@pytest.mark.parametrize("function", [hierarchical_heavy_hitters, heavy_hitters_by_level])
def test_no_leaves(function):
    found = function(count_leaves(path(2), pa.array([], pa.string())), 1)
    assert len(found) == len(found.nodes) == len(found.totals) == 0


@pytest.mark.parametrize("function", [hierarchical_heavy_hitters, heavy_hitters_by_level])
@pytest.mark.parametrize("threshold", [0, -1, True, 1.5, float("nan"), float("inf"), None, "3"])
def test_thresholds(function, threshold):
    with pytest.raises(ParameterError, match=r"^threshold must be "):
        function(count_leaves(path(2), pa.array(["/a"])), threshold)
