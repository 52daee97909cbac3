"""One SpaceSaving sketch for each level of a hierarchy, fed in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.hierarchies.base import Hierarchy, IntegerHierarchy, check_on_bad, good_leaves
from hushcount.hierarchies.registry import named_hierarchy, parse_hierarchy
from hushcount.keys.memory import asked_arrays, key_arrays
from hushcount.privacy import check_count
from hushcount.secure import fresh_key
from hushcount.shapes import FloorCounters, LevelCounters, Public
from hushcount.sketches import codec
from hushcount.sketches._kernels.levels import BLOCK_OF_LEAVES, update_levels
from hushcount.sketches.held import check_id, need
from hushcount.sketches.hierarchy_nodes import are_nodes, node_spans
from hushcount.sketches.saved import SavedSketch
from hushcount.sketches.space_saving import SpaceSaving, check_counters
from hushcount.sketches.table import LARGEST_TOTAL, side_by_side

Counts = npt.NDArray[np.int64]
BUFFER = 4096


class HierarchySketch(SavedSketch):
    """`counters` counters for each level below the root; the root is the number of events.

    Equal to one SpaceSaving sketch a level, each fed with the nodes of all leaves at that level. Malformed
    keys are dropped.

    >>> sketch = HierarchySketch("ipv4/8", counters=4)
    >>> sketch.update(["10.0.0.1", "10.0.0.2", "?", "10.9.0.1"])
    >>> sketch.total, sketch.estimate(["10.0.0.7", "10.7.7.7"], level=1).tolist()
    (3, [3, 3])
    """

    def __init__(self, hierarchy: Hierarchy | str, counters: int = 4096) -> None:
        self.id = fresh_key().hex()
        self.hierarchy = parse_hierarchy(hierarchy)
        self.counters = check_counters(counters)
        self._levels = [SpaceSaving(self.counters) for _ in range(self.hierarchy.height)]
        self._tables: Any = None
        self._total = 0
        self._buffer: list[Any] = []

    @property
    def total(self) -> int:
        """How many events have been counted, those with malformed keys left out."""
        self._flush()
        return self._total

    @property
    def error_bounds(self) -> tuple[int, ...]:
        """The floors of all levels, 0 for the root."""
        self._flush()
        return (0, *(level.error_bound for level in self._levels))

    def update(self, keys: Any, on_bad: str = "drop") -> None:
        """Count a batch of keys in its order; `on_bad="fail"` stops at a malformed key."""
        check_on_bad(on_bad)
        self._flush()
        for array in key_arrays(keys):
            self.update_leaves(good_leaves(self.hierarchy, array, on_bad))

    def add(self, key: Any) -> None:
        """Count one key; a few thousand wait together."""
        if self._buffer and type(key) is not type(self._buffer[-1]):
            self._flush()
        self._buffer.append(key)
        if len(self._buffer) >= BUFFER:
            self._flush()

    def update_leaves(self, leaves: pa.Array) -> None:
        """Count leaves of the hierarchy, without nulls, in their order."""
        if not len(leaves):
            return
        if self._total + len(leaves) > LARGEST_TOTAL:
            raise DataError(f"A sketch counts at most {LARGEST_TOTAL} events; start another.")
        if not self._total:
            self._open()
        if isinstance(self.hierarchy, IntegerHierarchy):
            words = np.asarray(leaves.to_numpy(zero_copy_only=True), np.uint64)
            update_levels(self._tables, words, self.hierarchy.shifts[1:])
        else:
            self._count_nodes(leaves)
        self._total += len(leaves)
        for level in self._levels:
            level._keys.total = self._total

    def estimate(self, keys: Any, level: int | None = None) -> Counts:
        """Counts of the nodes of keys at a level (the leaves by default), 0 for those not tracked."""
        depth = self.hierarchy.height if level is None else level
        check_count("level", depth, least=0, most=self.hierarchy.height)
        self._flush()
        found = [self._estimates(leaves, depth) for leaves in self._asked(keys)]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return replace(
            self._levels[0].public(), unit=self.unit, height=self.hierarchy.height, shape=LevelCounters
        )

    def shape(self) -> LevelCounters:
        """The number of events, and floor and candidates of every level below the root."""
        self._flush()
        levels = tuple(replace(self._typed(level.shape()), unit=self.unit) for level in self._levels)
        return LevelCounters(self.hierarchy, self._total, levels)

    def merge(self, other: Any) -> NoReturn:
        """Refuse: the floors of merged sketches move in another way than those of one stream."""
        raise NotProvedError(
            "HierarchySketch is proved for one stream and cannot be merged; count all parts with one sketch,"
            ' or use hc.tree with method="offline".'
        )

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""
        self._flush()
        fields: dict[str, Any] = {
            "id": self.id,
            "hierarchy": _check_named(self.hierarchy),
            "counters": self.counters,
        }
        arrays: codec.Arrays = {}
        fields["levels"] = []
        for index, level in enumerate(self._levels, start=1):
            _, own, of_level = level.parts()
            fields["levels"].append(own)
            arrays |= {f"{index}:{name}": array for name, array in of_level.items()}
        return "hierarchy", {**fields, "total": self._total}, arrays

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> HierarchySketch:
        """The sketch of which this was written."""
        sketch = cls(named_hierarchy(fields["hierarchy"]), fields["counters"])
        need("levels", len(fields["levels"]) == len(sketch._levels))
        sketch.id = check_id(fields["id"])
        sketch._total = fields["total"]
        for index, own in enumerate(fields["levels"]):
            prefix = f"{index + 1}:"
            of_level = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            sketch._levels[index] = SpaceSaving.from_parts(own, of_level)
            sketch._check_read(index)
        need("arrays", len(arrays) == sum(len(level.parts()[2]) for level in sketch._levels))
        if sketch._total:
            sketch._join()
        return sketch

    def _check_read(self, index: int) -> None:
        """Raise unless a level that was read holds nodes of its level, and as many events as all others."""
        level = self._levels[index]
        need("counters", level.counters == self.counters)
        need("total", type(self._total) is int and level.total == self._total)
        if self._total:
            keys = level._key_array(level._keys.entries())
            need("keys", keys.type == self.hierarchy.leaf_type)
            need("keys", are_nodes(self.hierarchy, keys, index + 1))

    def _typed(self, level: FloorCounters) -> FloorCounters:
        """An empty sketch has no type of its own yet."""
        return replace(level, keys=level.keys.cast(self.hierarchy.leaf_type))

    def _open(self) -> None:
        """Make the tables, now that there is something to count."""
        for level in self._levels:
            level._keys.open(self.hierarchy.leaf_type)
        self._join()

    def _join(self) -> None:
        """Let one kernel walk through the tables of all levels."""
        if isinstance(self.hierarchy, IntegerHierarchy):
            self._tables = side_by_side([level._keys.table for level in self._levels])

    def _count_nodes(self, leaves: pa.Array) -> None:
        for start in range(0, len(leaves), BLOCK_OF_LEAVES):
            spans = node_spans(self.hierarchy, leaves.slice(start, BLOCK_OF_LEAVES))
            for level, (data, begins, ends) in zip(self._levels, spans, strict=True):
                level._keys.table.count_spans(data, begins, ends)

    def _asked(self, keys: Any) -> Iterator[pa.Array]:
        for array in asked_arrays(keys):
            leaves = self.hierarchy.leaves(array)
            if leaves.null_count:
                raise ParameterError(f"keys to look up must be keys of hierarchy {self.hierarchy.name}.")
            yield leaves

    def _estimates(self, leaves: pa.Array, level: int) -> Counts:
        if level == 0:
            return np.full(len(leaves), self._total, np.int64)
        return self._levels[level - 1].estimate(self.hierarchy.nodes(leaves, level))

    def _flush(self) -> None:
        waiting, self._buffer = self._buffer, []
        if waiting:
            self.update(waiting)


def _check_named(hierarchy: Hierarchy) -> str:
    """Return the name of a hierarchy that its name alone describes, or raise."""
    try:
        named = named_hierarchy(hierarchy.name)
    except ParameterError:
        named = None
    if named != hierarchy:
        raise ParameterError(
            f"A sketch of hierarchy {hierarchy.name} cannot be written: only such hierarchies can be"
            " that a name like ipv4/8 describes."
        )
    return hierarchy.name
