"""Rows that stand for several events: one step leaves a sketch as one event after the other would."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.property.streams import check_invariants, table_of

import hushcount as hc
from hushcount.shapes import Sketch
from hushcount.sketches.counters import MisraGries, SpaceSaving
from hushcount.sketches.exact import Exact
from hushcount.sketches.levels import HierarchySketch
from hushcount.sketches.linear import CountMin, CountSketch

Row = tuple[int, int]
NUMBERS = st.one_of(st.integers(0, 4), st.integers(0, 40), st.integers(0, 3000))
SEEDED = settings(max_examples=150, deadline=None, derandomize=True, database=None)
ROWS = st.lists(st.tuples(st.integers(0, 12), NUMBERS), max_size=60)
BATCHES = st.lists(ROWS, min_size=1, max_size=3)


def keys_of(rows: list[int], of_bytes: bool) -> pa.Array:
    """Keys as numbers, or as text of unlike lengths."""
    if not of_bytes:
        return pa.array(rows, pa.int64())
    return pa.array([str(key) * (1 + 9 * (key % 3)) for key in rows], pa.string())


def entries_of(sketch: Sketch) -> list[tuple[object, int]]:
    """Tracked keys with their counts, in the order of their last updates."""
    entries = sketch.entries()
    return list(zip(sketch.key_array(entries).to_pylist(), entries.counts.tolist(), strict=True))


def both_ways(together: Sketch, single: Sketch, batches: list[list[Row]], of_bytes: bool) -> None:
    """Count batches by rows, and event by event; compare all that decides how the sketches go on."""
    for batch in batches:
        keys, times = [key for key, _ in batch], [number for _, number in batch]
        together.update(keys_of(keys, of_bytes), times=times)
        single.update(keys_of(np.repeat(np.array(keys, int), times).tolist(), of_bytes))
        assert together.total == single.total
        assert entries_of(together) == entries_of(single)
        assert together.error_bound == single.error_bound
        if together._table is not None:
            check_invariants(table_of(together))


@pytest.mark.parametrize("of_bytes", [False, True])
@SEEDED
@given(counters=st.integers(2, 9), batches=BATCHES)
def test_space_saving(counters: int, batches: list[list[Row]], of_bytes: bool) -> None:
    both_ways(SpaceSaving(counters), SpaceSaving(counters), batches, of_bytes)


@pytest.mark.parametrize("of_bytes", [False, True])
@SEEDED
@given(counters=st.integers(2, 9), batches=BATCHES)
@example(counters=2, batches=[[(0, 40), (1, 60), (2, 39), (3, 1), (4, 20), (5, 3000)]])
@example(counters=2, batches=[[(0, 1), (1, 1), (2, 17), (3, 500)], [(0, 3), (1, 16), (2, 16), (4, 2)]])
def test_misra_gries(counters: int, batches: list[list[Row]], of_bytes: bool) -> None:
    together, single = MisraGries(counters), MisraGries(counters)
    single._order = together._order
    both_ways(together, single, batches, of_bytes)


@pytest.mark.parametrize("of_bytes", [False, True])
@SEEDED
@given(batches=BATCHES)
def test_exact(batches: list[list[Row]], of_bytes: bool) -> None:
    both_ways(Exact(), Exact(), batches, of_bytes)


@pytest.mark.parametrize("hierarchy", ["ipv4/8", "path/3"])
@SEEDED
@given(counters=st.integers(2, 6), rows=ROWS)
def test_levels(counters: int, rows: list[Row], hierarchy: str) -> None:
    address = hierarchy == "ipv4/8"
    form = "10.{0}.{1}.{2}" if address else "/a{1}/b{2}"
    names = ["?" if address and key == 12 else form.format(key % 2, key % 3, key) for key, _ in rows]
    times = [number for _, number in rows]
    together, single = HierarchySketch(hierarchy, counters), HierarchySketch(hierarchy, counters)
    together.update(pa.array(names, pa.string()), times=times)
    events = [name for name, number in zip(names, times, strict=True) for _ in range(number)]
    single.update(pa.array(events, pa.string()))
    assert together.total == single.total
    assert list(map(entries_of, together._levels)) == list(map(entries_of, single._levels))
    assert together.error_bounds == single.error_bounds


@pytest.mark.parametrize("kind", [CountMin, CountSketch])
@SEEDED
@given(rows=ROWS)
def test_cells(rows: list[Row], kind: type[CountMin]) -> None:
    keys, times = [key for key, _ in rows], [number for _, number in rows]
    together, single = (kind(depth=3, width=16, seed=1, max_weight=1) for _ in range(2))
    together.update(pa.array(keys, pa.int64()), times=times)
    single.update(pa.array(np.repeat(np.array(keys, int), times)))
    assert (together.cells == single.cells).all()
    assert together.total == single.total


def test_large_numbers_take_no_more_steps() -> None:
    sketch = MisraGries(2)
    sketch.update(["a", "b", "c", "d"], times=[1 << 36, 1 << 35, 1 << 37, 5])
    left = (1 << 37) - (1 << 35)  # of c, after b has come to zero
    assert sketch.estimate(["a", "b", "c", "d"]).tolist() == [(1 << 36) - (1 << 35) - 5, 0, left - 5, 0]
    assert sketch.total == (1 << 36) + (1 << 35) + (1 << 37) + 5


BAD = "times must have one whole number from 0 on for each key, and no key may be null."


@pytest.mark.parametrize("sketch", [SpaceSaving, Exact, CountMin, lambda: HierarchySketch("path/2")])
@pytest.mark.parametrize(
    ("keys", "times"),
    [(["a"], [1, 2]), (["a", None], [1, 2]), (["a"], [-1]), (["a"], [1.5]), (["a"], [[1]]), (["a"], ["1"])],
)
def test_bad_numbers_change_nothing(sketch: type[SpaceSaving], keys: list[str], times: list[object]) -> None:
    made = sketch()
    with pytest.raises(hc.errors.ParameterError) as caught:
        made.update(keys, times=times)
    assert (str(caught.value), made.total) == (BAD, 0)


@pytest.mark.parametrize("sketch", [SpaceSaving, Exact, CountMin, lambda: HierarchySketch("path/2")])
def test_more_events_than_a_sketch_can_count(sketch: type[SpaceSaving]) -> None:
    made = sketch()
    made.update(["/a"], times=[(1 << 39) - 2])
    for times in ([2], [1 << 63, 1 << 63]):
        with pytest.raises(hc.errors.DataError, match=r"^A sketch counts at most 549755813887 events"):
            made.update(["/b"] * len(times), times=np.array(times, np.uint64))
    assert made.total == (1 << 39) - 2
