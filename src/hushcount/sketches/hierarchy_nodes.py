"""The nodes of a block of leaves at every level, as byte strings for a counter table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Octets
from hushcount.hierarchies.base import Hierarchy, IntegerHierarchy, octets
from hushcount.hierarchies.components import BETWEEN, ComponentHierarchy
from hushcount.sketches._kernels.levels import component_spans
from hushcount.sketches.table import Offsets

Spans = tuple[Octets, Offsets, Offsets]


def node_spans(hierarchy: Hierarchy, leaves: pa.Array) -> Iterator[Spans]:
    """(data, begins, ends) of the nodes at level 1, 2, ...: number i is data[begins[i] : ends[i]]."""
    if isinstance(hierarchy, ComponentHierarchy):
        read = octets(leaves)
        begins, ends = component_spans(read.data, read.offsets, hierarchy.height)
        yield from ((read.data, begins, level) for level in ends)
    else:
        for level in range(1, hierarchy.height + 1):
            yield _span(hierarchy.nodes(leaves, level))


def _span(nodes: pa.Array) -> Spans:
    width = nodes.type.byte_width if pa.types.is_fixed_size_binary(nodes.type) else None
    if width is None:
        read = octets(nodes)
        return read.data, read.offsets[:-1], read.offsets[1:]
    bounds = np.uint64(width) * np.arange(nodes.offset, nodes.offset + len(nodes) + 1, dtype=np.uint64)
    return np.frombuffer(nodes.buffers()[1], np.uint8), bounds[:-1], bounds[1:]


def are_nodes(hierarchy: Hierarchy, nodes: pa.Array, level: int) -> bool:
    """Whether nodes that were read can be nodes of a level: below the one root, and not deeper."""
    if not hierarchy.nodes(nodes, level).equals(nodes):
        return False
    if isinstance(hierarchy, ComponentHierarchy):
        zeros = pc.count_substring(nodes, BETWEEN)
        return bool(pc.all(pc.equal(zeros, level - 1)).as_py())
    if isinstance(hierarchy, IntegerHierarchy):
        return not (nodes.to_numpy() >> hierarchy.shifts[0]).any()
    return True
