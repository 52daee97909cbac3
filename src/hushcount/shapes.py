"""The shapes of a summary: how two neighbouring summaries can differ.

A sketch hands a mechanism one of these values and nothing else; a mechanism accepts only the shapes
it is proved for. Neighbours: add or remove one event, or what `unit` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.privacy import EVENT, PrivacyUnit

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from hushcount.hierarchies.base import Hierarchy, Levels
    from hushcount.keys.row_hash import RowHash

    Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Histogram:
    """One key moves by one: keys with their counts, all at least 1."""

    keys: pa.Array
    counts: Counts


@dataclass(frozen=True, slots=True)
class FloorCounters:
    """One key or the floor moves by one, plus at most two isolated keys a side at height at most 1.

    `keys` are the candidates of one stream (a full SpaceSaving sketch leaves out the key next in line
    for eviction), `counts` their absolute counts: count - floor <= true <= count. At most `candidates`
    keys, a public number. `floor` <= n / `parts` for a stream of n events.
    """

    keys: pa.Array
    counts: Counts
    floor: int
    candidates: int
    parts: int


@dataclass(frozen=True, slots=True)
class Cells:
    """One cell a row moves by the weight of one event, up or down: the cells of a linear sketch.

    `cells` is depth x width; `max_weight` is the public bound on weights, None if there is none. Of a
    `partial` sketch counts may be below zero.
    """

    cells: Counts
    hashing: RowHash
    key_type: pa.DataType
    max_weight: int | None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class TrackedCells:
    """Cells of weights +1 and -1, and the keys that a SpaceSaving sketch of the additions tracks.

    A key that is not tracked was added at most `events` / `parts` times. `hashes` are those of the keys.
    `events`, how many additions and deletions there were, is raw data: it is only compared with a bound.
    """

    cells: Cells
    keys: pa.Array
    hashes: npt.NDArray[np.uint64]
    parts: int
    events: int


@dataclass(frozen=True, slots=True)
class Shards:
    """Summaries of disjoint parts of the data: one of them differs, in the way of FloorCounters.

    Which part an event belongs to is a function of the event alone. The number of parts is public.
    """

    parts: tuple[FloorCounters, ...]


@dataclass(frozen=True, slots=True)
class ManyKeys:
    """Up to `moved` keys move by one, all in the same direction: keys with counts of at least 1.

    `moved` is public. Counts are exact where `parts` is None; else true - n / `parts` <= count <= true for n
    counted keys, and at most `candidates` keys are held.
    """

    keys: pa.Array
    counts: Counts
    moved: int
    candidates: int | None = None
    parts: int | None = None
    unit: PrivacyUnit = EVENT


@dataclass(frozen=True, slots=True)
class LeafBatch:
    """Consecutive leaves of a hierarchy, sorted and distinct, with counts of at least 1.

    `shared` is the level of the deepest node that a leaf shares with the leaf before it, across batches too;
    -1 for the first leaf of all.
    """

    leaves: pa.Array
    counts: Counts
    shared: Levels


@dataclass(frozen=True, slots=True)
class LeafCounts:
    """One leaf moves by one: the leaves of a hierarchy in sorted order, with exact counts of at least 1.

    `batches()` starts anew from the first leaf, unless the data can be read only once.
    """

    hierarchy: Hierarchy
    batches: Callable[[], Iterator[LeafBatch]]
    unit: PrivacyUnit = EVENT


@dataclass(frozen=True, slots=True)
class LevelCounters:
    """One event moves `total` by one and every level in the way of FloorCounters, all of them together.

    `total` is the number of events, which is the count of the root; `levels` are the summaries of level 1
    to the leaves, each of the nodes of the same events in the same order.
    """

    hierarchy: Hierarchy
    total: int
    levels: tuple[FloorCounters, ...]
