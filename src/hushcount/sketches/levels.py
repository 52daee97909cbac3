"""HierarchySketch: one SpaceSaving sketch for each level of a hierarchy, fed with the nodes of all leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts, Words
from hushcount.compiled.late import late
from hushcount.errors import NotProvedError, ParameterError
from hushcount.files.container import Contents
from hushcount.hierarchies.base import Hierarchy, IntegerHierarchy, good_leaves, octets
from hushcount.hierarchies.components import BETWEEN, ComponentHierarchy
from hushcount.hierarchies.registry import named_hierarchy, parse_hierarchy
from hushcount.keys.memory import Data, asked_arrays, key_arrays
from hushcount.keys.plain import check_lengths, check_on_bad
from hushcount.privacy import check_count
from hushcount.secure import fresh_key
from hushcount.shapes import FloorCounters, LevelCounters, Public
from hushcount.sketches._kernels.arrays import TableArrays
from hushcount.sketches.base import BufferedSketch, alone
from hushcount.sketches.counters import SpaceSaving, check_counters
from hushcount.sketches.held import check_id, check_memory, need
from hushcount.sketches.several import check_room, several
from hushcount.sketches.table import ONCE, CounterTable, Spans, side_by_side

kernels = late("hushcount.sketches._kernels.levels")


class HierarchySketch(BufferedSketch[list[pa.Array]]):
    """`counters` counters for each level below the root; the root is the number of events.

    Equal to a SpaceSaving sketch of each level fed with the nodes of all leaves. Malformed keys are dropped.

    Parameters
    ----------
    hierarchy : str or hierarchy
        A name such as "ipv4/8" or "path/4"; only a sketch of such a hierarchy can be saved.
    counters : int
        The number of nodes that can be tracked on each level, 2 to 4,194,304.

    Examples
    --------
    >>> sketch = HierarchySketch("ipv4/8", counters=4)
    >>> sketch.update(["10.0.0.1", "10.0.0.2", "?", "10.9.0.1"])
    >>> sketch.total, sketch.estimate(["10.0.0.7", "10.7.7.7"], level=1).tolist()
    (3, [3, 3])
    """

    def __init__(self, hierarchy: Hierarchy | str, counters: int = 4096) -> None:
        super().__init__()
        self.id = fresh_key().hex()
        self.hierarchy = parse_hierarchy(hierarchy)
        self.counters = check_counters(counters)
        self._levels = [SpaceSaving(self.counters) for _ in range(self.hierarchy.height)]
        self._tables: TableArrays | None = None  # of all levels, for one kernel to walk through

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the leaves; None before the first."""
        return self.hierarchy.leaf_type if self.total else None

    @property
    @alone
    def error_bounds(self) -> tuple[int, ...]:
        """The floors of all levels, 0 for the root."""
        self.flush()
        return (0, *(level.error_bound for level in self._levels))

    @property
    def error_bound(self) -> int:
        """The largest floor of all levels: no count is further above the truth."""
        return max(self.error_bounds)

    @alone
    def update(self, keys: Data, on_bad: str = "drop", *, times: npt.ArrayLike | None = None) -> None:
        """Count a batch of keys in its order, or none of them if one cannot be counted.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of one type. Nulls are ignored. An iterable must fit in memory.
        on_bad : "drop" or "fail"
            What to do with a malformed key.
        times : array or iterable of int, optional
            How many consecutive events each key stands for, 1 by default; no key may then be null.
        """
        check_on_bad(on_bad)
        self.flush()
        if times is None:
            self.count(self.prepared(keys, on_bad))
            return
        some, numbers = several(keys, times, self._total)
        good_leaves(self.hierarchy, some, on_bad)  # raises for what it must not hold
        kept = (leaves := self.hierarchy.leaves(some)).is_valid()
        batches = self._check_leaves([leaves.filter(kept)])
        self.count(batches, numbers[kept.to_numpy(zero_copy_only=False)])

    @alone
    def estimate(self, keys: Data, level: int | None = None) -> Counts:
        """Return the counts of the nodes of keys, 0 for those not tracked.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of the hierarchy; none may be null or malformed.
        level : int, optional
            The level of the nodes, 0 for the root; the leaves by default.
        """
        depth = self.hierarchy.height if level is None else level
        check_count("level", depth, least=0, most=self.hierarchy.height)
        self.flush()
        found = [self._estimates(leaves, depth) for leaves in self._asked(keys)]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        height = self.hierarchy.height
        return replace(self._levels[0].public(), unit=self.unit, height=height, shape=LevelCounters)

    @alone
    def shape(self) -> LevelCounters:
        """Return the number of events, and floor and candidates of every level below the root."""
        self.flush()
        levels = tuple(self._typed(level.shape()) for level in self._levels)
        return LevelCounters(self.hierarchy, self._total, levels, self.exact_levels)

    @property
    def exact_levels(self) -> int:
        """Down to which level there are fewer possible nodes than counters, a public number."""
        known = (self.hierarchy.possible(level) for level in range(1, self.hierarchy.height + 1))
        return len(list(takewhile(lambda nodes: nodes is not None and nodes < self.counters, known)))

    def merge(self, other: object) -> NoReturn:
        """Refuse: between neighbours, floors of merged sketches differ otherwise than those of one stream."""
        raise NotProvedError(
            "HierarchySketch is proved for one stream and cannot be merged; count all parts with one sketch,"
            " or publish an offline tree of all data (hushcount tree, hc.tree)."
        )

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        self.flush()
        levels = [level.contents() for level in self._levels]
        fields = {
            "id": self.id,
            "hierarchy": _check_named(self.hierarchy),
            "counters": self.counters,
            "levels": [level.fields for level in levels],
            "total": self._total,
        }
        arrays = {
            f"{index}:{name}": array
            for index, level in enumerate(levels, start=1)
            for name, array in level.arrays.items()
        }
        return Contents("hierarchy", fields, arrays)

    @classmethod
    def from_contents(cls, contents: Contents) -> HierarchySketch:
        """Return the sketch that `contents` described, or raise if it describes none."""
        fields, arrays = contents.fields, dict(contents.arrays)
        sketch = cls(named_hierarchy(fields["hierarchy"]), fields["counters"])
        check_memory(len(sketch._levels) * SpaceSaving.memory_bound(sketch.counters), arrays)
        need("levels", len(fields["levels"]) == len(sketch._levels))
        sketch.id = check_id(fields["id"])
        sketch._total = fields["total"]
        for index, own in enumerate(fields["levels"]):
            prefix = f"{index + 1}:"
            names = [name for name in arrays if name.startswith(prefix)]
            of_level = {name.removeprefix(prefix): arrays.pop(name) for name in names}
            sketch._levels[index] = SpaceSaving.from_contents(Contents("space-saving", own, of_level))
            sketch._check_read(index)
        need("arrays", not arrays)
        if sketch._total:
            sketch._open()
        return sketch

    def _check_read(self, index: int) -> None:
        """Raise unless a level that was read holds nodes of its level, and as many events as all others."""
        level = self._levels[index]
        need("counters", level.counters == self.counters)
        need("total", type(self._total) is int and level.total == self._total)
        if self._total:
            keys = level.key_array(level.entries())
            need("keys", keys.type == self.hierarchy.leaf_type)
            need("keys", _are_nodes(self.hierarchy, keys, index + 1))

    def _typed(self, level: FloorCounters) -> FloorCounters:
        """Return a shape with the unit, and with a type of keys, which an empty sketch lacks."""
        return replace(level, keys=level.keys.cast(self.hierarchy.leaf_type), unit=self.unit)

    def _open(self) -> list[CounterTable]:
        """Return the tables of all levels; they are made at the first key."""
        tables = [level.open(self.hierarchy.leaf_type) for level in self._levels]
        if isinstance(self.hierarchy, IntegerHierarchy) and self._tables is None:
            self._tables = side_by_side(tables)
        return tables

    def prepared(self, keys: Data, on_bad: str = "drop") -> list[pa.Array]:
        """Return the leaves of a batch, or raise; no level has changed yet."""
        found = (good_leaves(self.hierarchy, array, on_bad) for array in key_arrays(keys))
        return self._check_leaves([leaves for leaves in found if len(leaves)])

    def _check_leaves(self, batches: list[pa.Array]) -> list[pa.Array]:
        """Return leaves that can be counted, or raise; a node is never longer than its leaf."""
        for leaves in batches:
            if pa.types.is_binary(leaves.type):
                check_lengths(octets(leaves))
        check_room(self._total, sum(map(len, batches)))
        return batches

    def count(self, batches: list[pa.Array], times: Words = ONCE) -> None:
        """Count leaves that were checked; those of a single batch may stand for several events each."""
        for leaves in batches:
            tables = self._open()
            if isinstance(self.hierarchy, IntegerHierarchy):
                words = np.asarray(leaves.to_numpy(zero_copy_only=True), np.uint64)
                kernels.update_levels(self._tables, words, times, self.hierarchy.shifts[1:])
            else:
                self._count_nodes(tables, leaves, times)
            events = int(times.sum()) if len(times) else len(leaves)
            self._total += events
            for level in self._levels:
                level.counted(events)

    def _count_nodes(self, tables: Sequence[CounterTable], leaves: pa.Array, times: Words) -> None:
        """Count the nodes of leaves on every level, in blocks that stay in cache."""
        for start in range(0, len(leaves), kernels.BLOCK_OF_LEAVES):
            spans = _node_spans(self.hierarchy, leaves.slice(start, kernels.BLOCK_OF_LEAVES))
            numbers = times[start : start + kernels.BLOCK_OF_LEAVES]
            for table, span in zip(tables, spans, strict=True):
                table.count_spans(span, numbers)

    def _asked(self, keys: Data) -> Iterator[pa.Array]:
        for array in asked_arrays(keys):
            leaves = self.hierarchy.leaves(array)
            if leaves.null_count:
                raise ParameterError(f"keys to look up must be keys of hierarchy {self.hierarchy.name}.")
            yield leaves

    def _estimates(self, leaves: pa.Array, level: int) -> Counts:
        if level == 0:
            return np.full(len(leaves), self._total, np.int64)
        return self._levels[level - 1].estimate(self.hierarchy.nodes(leaves, level))


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


def _node_spans(hierarchy: Hierarchy, leaves: pa.Array) -> Iterator[Spans]:
    """Yield (data, begins, ends) of the nodes at level 1, 2, ...: node i is data[begins[i] : ends[i]]."""
    if isinstance(hierarchy, ComponentHierarchy):
        read = octets(leaves)
        begins, ends = kernels.component_spans(read.data, read.offsets, hierarchy.height)
        yield from ((read.data, begins, level) for level in ends)
    else:
        for level in range(1, hierarchy.height + 1):
            yield _span(hierarchy.nodes(leaves, level))


def _span(nodes: pa.Array) -> Spans:
    """Return data, begins and ends of byte strings."""
    if not pa.types.is_fixed_size_binary(nodes.type):
        read = octets(nodes)
        return read.data, read.offsets[:-1], read.offsets[1:]
    places = np.arange(nodes.offset, nodes.offset + len(nodes) + 1, dtype=np.uint64)
    bounds = np.uint64(nodes.type.byte_width) * places
    return np.frombuffer(nodes.buffers()[1], np.uint8), bounds[:-1], bounds[1:]


def _are_nodes(hierarchy: Hierarchy, nodes: pa.Array, level: int) -> bool:
    """Return whether nodes that were read can be nodes of a level: below the one root, and not deeper."""
    if not hierarchy.nodes(nodes, level).equals(nodes):
        return False
    if isinstance(hierarchy, ComponentHierarchy):
        zeros = pc.count_substring(nodes, BETWEEN)
        return bool(pc.all(pc.equal(zeros, level - 1)).as_py())
    if isinstance(hierarchy, IntegerHierarchy):
        return not (nodes.to_numpy() >> hierarchy.shifts[0]).any()
    return True
