"""The seam: what is public of a sketch is the same before and after counting, and equal to its shape's."""

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.jobs.exact import CountsOnDisk
from hushcount.privacy import RESULT_ROW, USER
from hushcount.sketches.linear import TrackedSketch
from hushcount.sources.open import open_source

SKETCHES = {
    "space-saving": lambda: hc.SpaceSaving(counters=4),
    "misra-gries": lambda: hc.MisraGries(counters=4),
    "exact": hc.Exact,
    "count-min": lambda: hc.CountMin(depth=3, width=64, max_weight=1),
    "count-sketch": lambda: hc.CountSketch(depth=3, width=64, max_weight=1),
    "tracked": lambda: TrackedSketch("count-min", 4, 3, 64),
    "user-misra-gries": lambda: hc.UserMisraGries(counters=4),
    "user-exact": lambda: CountsOnDisk(moved=3, unit=USER),
    "hierarchy": lambda: hc.HierarchySketch("path/2", counters=4),
    "foreign-misra-gries": lambda: hc.MisraGries.from_counters([], [], counters=4),
    "weighted-sample": lambda: hc.WeightedSample([], [], hc.Pps(0.5)),
    "bottom-k": lambda: hc.BottomK(4),
    "merged": lambda: hc.SpaceSaving(counters=4).merge(hc.SpaceSaving(counters=4)),
}
KEYS = ["/a/b", "/a/c", "/d/e", "/a/b", "/f", "/g", "/h/i", "/j"]


def counted(name):
    """A sketch that has counted more keys than it has counters."""
    sketch = SKETCHES[name]()
    if name == "merged":
        sides = [hc.SpaceSaving(counters=4), hc.SpaceSaving(counters=4)]
        for side in sides:
            side.update(KEYS)
        return sides[0].merge(sides[1])
    if name == "foreign-misra-gries":
        return hc.MisraGries.from_counters(["/a/b", "/j"], [2, 1], counters=4)
    if name == "weighted-sample":
        return hc.WeightedSample(["/a/b", "/j"], [2, 1], hc.Pps(0.5))
    if name == "user-misra-gries":
        sketch.update(KEYS, users=list(range(len(KEYS))))
    elif name == "user-exact":
        sketch.read(open_source(KEYS), None)
    else:
        sketch.update(pa.array(KEYS))
    return sketch


@pytest.mark.parametrize("name", SKETCHES)
def test_public_is_equal_before_and_after_counting(name):
    empty, full = SKETCHES[name](), counted(name)
    assert full.total > 0
    assert empty.public() == full.public() == empty.shape().public() == full.shape().public()
    assert isinstance(full.shape(), full.public().shape)


@pytest.mark.parametrize("name", [name for name in SKETCHES if "user" not in name and name != "merged"])
def test_the_unit_reaches_the_shape(name):
    sketch = counted(name)
    sketch.unit = RESULT_ROW
    assert sketch.public().unit == RESULT_ROW
    assert sketch.shape().public().unit == RESULT_ROW
