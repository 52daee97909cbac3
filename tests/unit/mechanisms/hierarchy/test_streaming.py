"""The streaming release of a hierarchy: calibration, levels, residuals, intervals, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.jobs.release import release
from hushcount.mechanisms.hierarchy.levels import (
    GaussianLevels,
    LaplaceLevels,
    calibrated_levels,
    least_threshold,
    spent,
)
from hushcount.mechanisms.hierarchy.residuals import NoisyLevel, NoisyLevels, conservative_tree
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.privacy import Budget
from hushcount.shapes import Public
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.levels import HierarchySketch

BUDGET = Budget(1.0, 1e-6)


def flows(seed: int, events: int = 60_000) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    octets = [(rng.zipf(1.5, events) * 37) % 256 for _ in range(4)]
    return np.asarray(octets[0] << 24 | octets[1] << 16 | octets[2] << 8 | octets[3], np.int64)


def sketched(values: np.ndarray[Any, Any], counters: int = 4000) -> HierarchySketch:
    sketch = HierarchySketch("ipv4/8", counters)
    sketch.update(values)
    return sketch


# Calibration


def simple(noise: Any, levels: int) -> int:
    """Smallest G with HS(levels moved) + levels P[max(1 + z1 - z0, z2 - z0) >= G] <= 1e-6 at epsilon 1."""
    moved = float(noise.divergences(levels, 1.0)[-1])
    threshold = 1
    while moved + levels * noise.isolated_tail(threshold) > 1e-6:
        threshold += 1
    return threshold


def test_the_simple_condition_gives_the_figures_of_32_levels() -> None:
    assert simple(LaplaceLevels(1 / 32), 32) == 629
    assert simple(LaplaceLevels(0.0416), 32) == 478
    assert simple(GaussianLevels(24.69), 32) == 199


def test_the_condition_by_levels_is_lower() -> None:
    """32 levels with the root."""
    assert least_threshold(LaplaceLevels(1 / 32), 1.0, 1e-6, 31) == 628
    assert least_threshold(LaplaceLevels(0.0425), 1.0, 1e-6, 31) in (463, 464, 465)
    assert least_threshold(GaussianLevels(24.28125), 1.0, 1e-6, 31) == 195


@pytest.mark.parametrize(
    ("height", "threshold", "kind"),
    [(1, 33, LaplaceLevels), (4, 73, GaussianLevels), (32, 198, GaussianLevels), (128, 407, GaussianLevels)],
)
def test_the_lower_threshold_is_taken(height: int, threshold: int, kind: type) -> None:
    found = calibrated_levels(1.0, 1e-6, height)
    assert (found.threshold, type(found.noise)) == (threshold, kind)


@pytest.mark.parametrize("budget", [(1.0, 1e-6), (0.1, 1e-9), (10.0, 1e-12), (0.01, 0.1), (20.0, 1e-280)])
@pytest.mark.parametrize("height", [1, 4, 33])
def test_every_budget_is_kept_and_a_lower_threshold_is_not_allowed(budget: Any, height: int) -> None:
    found = calibrated_levels(*budget, height)
    moved = found.noise.divergences(height + 1, budget[0])
    assert spent(found.noise, moved, found.threshold) <= budget[1]
    assert found.threshold == 1 or spent(found.noise, moved, found.threshold - 1) > budget[1] * (1 - 1e-7)


def test_noise_that_is_too_small_has_no_threshold() -> None:
    assert least_threshold(GaussianLevels(2.0), 1.0, 1e-6, 4) is None
    assert least_threshold(LaplaceLevels(0.5), 1.0, 1e-6, 4) is None


# The release


def test_a_release_is_near_the_truth() -> None:
    values = flows(1)
    tree = LevelFloorRelease(BUDGET, Public(height=4), 2000).release(sketched(values).shape(), SeededBits(7))
    rows = {row["node"]: row for row in tree.table.to_pylist()}
    assert rows["*"]["level"] == 0
    truth = {"*": 60_000, "37.0.0.0/8": int((values >> 24 == 37).sum())}
    truth["37.37.0.0/16"] = int((values >> 16 == 37 << 8 | 37).sum())
    for node, count in truth.items():
        assert rows[node]["lower"] <= count <= rows[node]["upper"]
        assert abs(rows[node]["total"] - count) < 200
    assert all(row["residual"] >= 2000 for row in rows.values())
    assert rows["37.37.0.0/16"]["parent"] == "37.0.0.0/8"
    assert tree.guarantee.parameters["above_floor"] == 73
    assert tree.guarantee.parameters["hierarchy"] == "ipv4/8"
    assert len(tree.accuracy().sentences) == 5


def test_intervals_hold_as_often_as_they_say() -> None:
    """One node, 400 releases: 0.8 is accepted, and intervals half as wide would not be."""
    shape = sketched(flows(2), 300).shape()
    truth = int((flows(2) >> 24 == 37).sum())
    found = [
        LevelFloorRelease(BUDGET, Public(height=4), 5000).release(shape, SeededBits(seed)).at_confidence(0.8)
        for seed in range(400)
    ]
    rows = [next(r for r in tree.table.to_pylist() if r["node"] == "37.0.0.0/8") for tree in found]
    misses = sum(not row["lower"] <= truth <= row["upper"] for row in rows)
    narrow = sum(not row["total"] - 4 <= truth <= row["total"] + 4 for row in rows)
    assert misses <= 130 < narrow


def test_an_empty_stream_gives_an_empty_tree() -> None:
    for name in ("ipv4/8", "domain/4", "ipv6/16"):
        sketch = HierarchySketch(name, 4)
        tree = LevelFloorRelease(BUDGET, Public(height=sketch.hierarchy.height)).release(
            sketch.shape(), SeededBits(3)
        )
        assert len(tree) == 0
        assert tree.threshold == calibrated_levels(1.0, 1e-6, sketch.hierarchy.height).threshold


def test_text_hierarchies_are_released() -> None:
    sketch = HierarchySketch("domain/3", 100)
    sketch.update(["www.example.com"] * 900 + ["mail.example.com"] * 700 + ["a.org"] * 600 + ["b.net"] * 3)
    tree = LevelFloorRelease(BUDGET, Public(height=3), 500).release(sketch.shape(), SeededBits(5))
    assert tree.nodes.to_pylist() == ["com.example.www", "com.example.mail", "org.a.·"]
    assert tree.parents.to_pylist() == [None, None, None]
    v6 = HierarchySketch("ipv6/16", 100)
    v6.update([f"2001:db8::{i % 50:x}" for i in range(5000)])
    tree = LevelFloorRelease(BUDGET, Public(height=8), 1000).release(v6.shape(), SeededBits(5))
    assert tree.nodes.to_pylist() == ["2001:db8::/112"]


def test_floors_above_the_threshold_are_noted() -> None:
    values = np.random.default_rng(1).integers(0, 2**32, 20_000)
    tree = LevelFloorRelease(BUDGET, Public(height=4), 100).release(
        sketched(values, 10).shape(), SeededBits(1)
    )
    assert len(tree.notes) == 1
    assert tree.notes[0].startswith(
        "At some levels the sketch shows only nodes larger than the threshold 100: level 1 (at least "
    )
    assert (
        LevelFloorRelease(BUDGET, Public(height=4), 9000)
        .release(sketched(values, 10).shape(), SeededBits(1))
        .notes
        == ()
    )


def test_what_is_published_of_a_level_clears_its_noisy_floor() -> None:
    mechanism = LevelFloorRelease(BUDGET, Public(height=4), 100)
    shape = sketched(flows(3), 500).shape()
    noisy = mechanism.noisy_levels(shape, SeededBits(2))
    assert abs(noisy.total - 60_000) < 100
    for depth, (level, own) in enumerate(zip(noisy.below, shape.levels, strict=True), start=1):
        assert (level.counts - level.floor >= (73 if depth > shape.exact else 53)).all()
        assert abs(level.floor - own.floor) < 100
        assert 0 < len(level.nodes) == len(level.counts) < len(own.counts)


# Refusals


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (72, "threshold must be at least 73 for a streaming release of height 4 at (1, 1e-06), got 72."),
        (0, "threshold must be at least 1, got 0."),
        (True, "threshold must be a whole number, got True."),
        (80.5, "threshold must be a whole number, got 80.5."),
        ("many", "threshold must be a whole number, got 'many'."),
        (1 << 63, f"threshold must be at most {(1 << 63) - 1}, got {1 << 63}."),
    ],
)
def test_thresholds_are_checked(threshold: Any, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        LevelFloorRelease(BUDGET, Public(height=4), threshold)
    assert str(error.value) == message


def test_other_shapes_and_heights_are_refused() -> None:
    sketch = SpaceSaving(4)
    with pytest.raises(
        NotProvedError,
        match=(
            "is proved for a HierarchySketch, not for a single SpaceSaving or MisraGries stream; count "
            "with Hier"
        ),
    ):
        LevelFloorRelease(BUDGET, Public(height=4)).release(sketch.shape(), SeededBits(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"height must be 3 as calibrated, got 4\."):
        LevelFloorRelease(BUDGET, Public(height=3)).release(sketched(flows(1, 10)).shape(), SeededBits(1))
    with pytest.raises(ParameterError, match=r"height must be at least 1, got 0\."):
        LevelFloorRelease(BUDGET, Public(height=0))
    assert len(release(HierarchySketch("ipv4/8", 4), epsilon=1.0, delta=1e-6)) == 0


# Residuals


def level(nodes: list[int], counts: list[int], floor: int) -> NoisyLevel:
    return NoisyLevel(pa.array(nodes, pa.uint64()), np.array(counts, np.int64), floor)


def test_residuals_are_counts_without_the_lower_estimates_of_published_descendants() -> None:
    a, b, c = 10 << 24, 10 << 24 | 1 << 16, 10 << 24 | 1 << 16 | 2 << 8
    levels = NoisyLevels(
        1000,
        (
            level([a, 20 << 24], [800, 90], 5),
            level([b], [700], -30),
            level([c, 20 << 24], [650, 60], 50),
            level([c | 3, c | 4], [400, 250], 10),
        ),
    )
    rows = conservative_tree(parse_hierarchy("ipv4/8"), levels, 200).depth_first()
    found = [rows.nodes.to_pylist(), rows.residuals.tolist(), rows.totals.tolist(), rows.parents.tolist()]
    # c: 650 - 390 - 240 = 20; b: 700 - 630 = 70; a: 800 - 630 = 170; root: 1000 - 630
    assert found == [["*", "10.1.2.3", "10.1.2.4"], [370, 400, 250], [1000, 400, 250], [-1, 0, 0]]
    rows = conservative_tree(parse_hierarchy("ipv4/8"), levels, 60).depth_first()
    # b: 700 - 630, lower 700; a: 800 - 700, lower 795; 20.0.0.0/24 60, lower 10; its /8 90 - 10, lower 85
    assert dict(zip(rows.nodes.to_pylist(), rows.residuals.tolist(), strict=True)) == {
        "*": 120,
        "10.0.0.0/8": 100,
        "10.1.0.0/16": 70,
        "10.1.2.3": 400,
        "10.1.2.4": 250,
        "20.0.0.0/8": 80,
        "20.0.0.0/24": 60,
    }
    above = {rows.nodes[i].as_py(): p for i, p in enumerate(rows.parents.tolist())}
    assert rows.nodes[above["10.1.2.3"]].as_py() == "10.1.0.0/16"
    assert rows.nodes[above["20.0.0.0/24"]].as_py() == "20.0.0.0/8"


def test_nothing_is_published_below_the_threshold() -> None:
    none = (level([], [], 3),) * 4
    assert len(conservative_tree(parse_hierarchy("ipv4/8"), NoisyLevels(99, none), 100)) == 0
    rows = conservative_tree(parse_hierarchy("ipv4/8"), NoisyLevels(100, none), 100)
    assert rows.nodes.to_pylist() == ["*"]


@pytest.mark.parametrize(
    ("epsilon", "delta", "text"),
    [
        (1.0, 5e-324, "delta must be 0 or at least 1e-280, got 5e-324."),
        (1.0, 9e-281, "delta must be 0 or at least 1e-280, got 9e-281."),
        (1e-9, 1e-6, "epsilon must be at least 1e-08 for a streaming tree of height 4, got 1e-09."),
    ],
)
def test_budgets_beyond_floating_point_are_refused_in_words_of_the_caller(epsilon, delta, text):
    with pytest.raises(ParameterError) as refused:
        LevelFloorRelease(Budget(epsilon, delta), Public(height=4))
    assert str(refused.value) == text


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-8, 1e-6), (1.0, 1e-280), (20.0, 1e-280), (1e-8, 1e-280)])
def test_the_least_budgets_are_accepted(epsilon, delta):
    assert LevelFloorRelease(Budget(epsilon, delta), Public(height=4)).threshold >= 1


def test_the_table_by_level_is_a_function_of_the_same_published_levels() -> None:
    """Every noisy count that clears its floor and the threshold, and nothing else; the draw is the same."""
    shape = sketched(flows(1)).shape()
    tree, table = (
        LevelFloorRelease(BUDGET, Public(height=4), 500, by_level=by_level) for by_level in (False, True)
    )
    noisy = table.noisy_levels(shape, SeededBits(7))
    expected = {("*", noisy.total)} if noisy.total >= 500 else set()
    for depth, level in enumerate(noisy.below, start=1):
        kept = level.counts >= 500
        nodes = level.nodes.filter(pa.array(kept))
        labels = shape.hierarchy.labels(nodes, np.full(len(nodes), depth, np.int16)).to_pylist()
        expected |= set(zip(labels, level.counts[kept].tolist(), strict=True))
    found = table.release(shape, SeededBits(7))
    assert set(zip(found.nodes.to_pylist(), found.totals.to_pylist(), strict=True)) == expected
    assert found.residuals.to_pylist() == found.totals.to_pylist()
    assert set(tree.release(shape, SeededBits(7)).nodes.to_pylist()) <= set(found.nodes.to_pylist())
    assert found.guarantee.parameters["table"] == "by level"
    assert found.guarantee.epsilon == BUDGET.epsilon
    assert "residual is the total: no node takes anything from another." in found.accuracy().sentences
