"""HierarchySketch: what it promises, what it refuses, and files that do not describe one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz.forging import MISFIT, put_together, refusal, taken_apart

from hushcount.errors import DataError, KeyTypeError, NotProvedError, ParameterError
from hushcount.hierarchies.parents import parent_function
from hushcount.sketches.kinds import load
from hushcount.sketches.levels import HierarchySketch
from hushcount.sketches.table import LARGEST_TOTAL

KEYS = ["10.0.0.1", "10.0.0.2", "10.0.9.9", "192.168.0.1", "10.0.0.1"]


def filled(counters: int = 8, name: str = "ipv4/8", keys: Any = tuple(KEYS)) -> HierarchySketch:
    sketch = HierarchySketch(name, counters)
    sketch.update(list(keys))
    return sketch


def test_counts_of_every_level() -> None:
    sketch = filled()
    asked = ["10.0.0.1", "10.200.0.0", "192.168.0.1"]
    assert [sketch.estimate(asked, level).tolist() for level in range(5)] == [
        [5, 5, 5],
        [4, 4, 1],
        [4, 0, 1],
        [3, 0, 1],
        [2, 0, 1],
    ]
    assert sketch.estimate(asked).tolist() == [2, 0, 1]
    assert sketch.error_bounds == (0, 0, 0, 0, 0)


def test_bounds_hold_at_every_level() -> None:
    values = (np.random.default_rng(1).zipf(1.2, 50_000) * 0x9E3779B1 % 2**32).astype(np.uint64)
    sketch = HierarchySketch("ipv4/8", 100)
    sketch.update(values)
    for level in range(5):
        bits = np.uint64(32 - 8 * level)
        nodes, truth = np.unique(values >> bits, return_counts=True)
        counts = sketch.estimate(nodes << bits, level)
        tracked = counts > 0
        floor = sketch.error_bounds[level]
        assert (counts[tracked] >= truth[tracked]).all()
        assert (counts[tracked] - floor <= truth[tracked]).all()
        assert (truth[~tracked] <= floor).all()
        assert floor <= len(values) / 100


def test_malformed_keys_are_dropped_or_stop_the_run() -> None:
    sketch = filled(keys=[*KEYS, "10.0.0", None, ""])
    assert sketch.total == 5
    with pytest.raises(DataError) as error:
        sketch.update(["1.2.3.4", "secret"], on_bad="fail")
    assert "secret" not in str(error.value)
    assert sketch.total == 5
    with pytest.raises(ParameterError, match=r"on_bad must be one of drop, fail, got 'maybe'\."):
        sketch.update(KEYS, on_bad="maybe")


def test_an_empty_sketch_answers() -> None:
    sketch = HierarchySketch("domain/3", 4)
    shape = sketch.shape()
    assert (shape.total, len(shape.levels), sketch.error_bounds) == (0, 3, (0, 0, 0, 0))
    assert sketch.estimate(["a.org"]).tolist() == [0]
    assert load(sketch.to_bytes()).shape().total == 0
    sketch.update([])
    sketch.update(["?"])
    assert sketch.total == 0


def test_single_keys_wait_and_are_counted() -> None:
    sketch = HierarchySketch("ipv4/8", 8)
    for key in KEYS:
        sketch.add(key)
    assert sketch.total == 5
    assert sketch.shape().levels[3].keys.to_pylist() == filled().shape().levels[3].keys.to_pylist()
    with pytest.raises(KeyTypeError):
        sketch.update("10.0.0.1")


@pytest.mark.parametrize("counters", [0, 1, -3, True, 2.5, "8"])
def test_counters_are_checked(counters: Any) -> None:
    with pytest.raises(ParameterError, match="counters must be"):
        HierarchySketch("ipv4/8", counters)


def test_unknown_hierarchies_levels_and_keys_are_refused() -> None:
    with pytest.raises(ParameterError, match="hierarchy must be one of"):
        HierarchySketch("ipv5", 8)
    with pytest.raises(ParameterError, match=r"level must be at most 4, got 5\."):
        filled().estimate(KEYS, 5)
    with pytest.raises(ParameterError, match=r"level must be at least 0, got -1\."):
        filled().estimate(KEYS, -1)
    with pytest.raises(ParameterError, match=r"keys to look up must be keys of hierarchy ipv4/8\."):
        filled().estimate(["no address"])


def test_the_longest_stream_is_refused() -> None:
    sketch = filled()
    sketch._total = LARGEST_TOTAL
    with pytest.raises(DataError, match="A sketch counts at most"):
        sketch.update(KEYS)


def test_merging_is_refused_with_the_way_out() -> None:
    with pytest.raises(
        NotProvedError, match=r"proved for one stream and cannot be merged; count all parts with one sketch,"
    ):
        filled().merge(filled())


def test_files_and_copies(tmp_path: Path) -> None:
    sketch = filled(2)
    sketch.save(tmp_path / "a.hc", position={"row": 3})
    for again in (load(tmp_path / "a.hc"), copy.deepcopy(sketch)):
        assert again.id == sketch.id
        assert again.to_bytes() == sketch.to_bytes()
        assert again.hierarchy == sketch.hierarchy


def test_a_hierarchy_that_no_name_describes_is_not_written() -> None:
    sketch = HierarchySketch(parent_function(lambda key: key[:-1] or None, 3), 4)
    sketch.update(["abc", "abd"])
    assert sketch.estimate(["abc"], 2).tolist() == [2]
    with pytest.raises(ParameterError, match="cannot be written"):
        sketch.to_bytes()


def change(sketch: HierarchySketch, fields: Any = None, arrays: Any = None) -> str:
    header, parts = taken_apart(sketch.to_bytes())
    if fields:
        fields(header["fields"])
    if arrays:
        arrays(parts)
    return refusal(put_together(header, parts))


@pytest.mark.parametrize(
    "fields",
    [
        lambda fields: fields.update(hierarchy="ipv4/4"),
        lambda fields: fields.update(hierarchy="ipv6/16"),
        lambda fields: fields.update(hierarchy="parents:/etc/passwd"),
        lambda fields: fields.update(hierarchy=7),
        lambda fields: fields.update(counters=9),
        lambda fields: fields.update(total=6),
        lambda fields: fields.update(total=5.0),
        lambda fields: fields.update(id="x"),
        lambda fields: fields["levels"].pop(),
        lambda fields: fields["levels"][1].update(total=4),
    ],
)
def test_fields_that_do_not_fit_are_refused(fields: Any) -> None:
    assert change(filled(), fields) == MISFIT


@pytest.mark.parametrize(
    "arrays",
    [
        lambda arrays: arrays["1:words"].__setitem__(0, 10 << 24 | 1),  # no node of level 1
        lambda arrays: arrays["4:words"].__setitem__(0, 1 << 40),
        lambda arrays: arrays["2:counts"].__setitem__(0, 99),
        lambda arrays: arrays.pop("3:words"),
        lambda arrays: arrays.update({"5:words": arrays["4:words"]}),
        lambda arrays: arrays.update({"words": arrays["4:words"]}),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays: Any) -> None:
    assert change(filled(), None, arrays) == MISFIT


def test_components_that_do_not_fit_their_level_are_refused() -> None:
    def another_level(arrays: Any) -> None:
        arrays["2:data"][arrays["2:data"] == 0] = ord("x")

    assert change(filled(name="domain/3", keys=["a.b.c", "d.b.c"]), None, another_level) == MISFIT


def test_the_error_bound_is_that_of_the_worst_level() -> None:
    sketch = HierarchySketch("ipv4/8", 2)
    assert (sketch.error_bound, sketch.key_type) == (0, None)
    sketch.update([f"10.0.{index}.1" for index in range(9)])
    assert sketch.error_bounds == (0, 0, 0, 4, 4)
    assert (sketch.error_bound, sketch.key_type) == (4, sketch.hierarchy.leaf_type)
