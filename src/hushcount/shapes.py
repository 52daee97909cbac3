"""The seam between counting and noise: what a mechanism is told about a sketch, and nothing else.

A *shape* is the summary that a sketch hands over. Its type fixes how the summaries of neighbouring data may
differ (its sensitivity), and a mechanism accepts only the shapes it is proved for. Neighbours are data sets
of which one has one more `unit`: one event unless the unit says otherwise.

`public()` of a sketch or a shape gives the numbers that no data changes. It is the same before and after
counting, so a mechanism is calibrated, or refused, before the first row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from hushcount.privacy import EVENT, PrivacyUnit, check_count

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from hushcount.hierarchies.base import Hierarchy, Levels
    from hushcount.keys.domains import Domain
    from hushcount.keys.row_hash import RowHash

    Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Public:
    """Numbers that a mechanism may use without paying, because no data changes them.

    `candidates` is the largest number of keys that the summary can hold; the floor of a stream of n events is
    at most n / `parts`; `moved` is the number of counts that one unit can change; `height` is the number of
    levels below the root of a hierarchy; `shape` is the type of the summary. `max_events`, a bound on the
    number of events, and `domain`, all keys that can be published, are what the caller states about the data.
    """

    candidates: int | None = None
    parts: int | None = None
    max_events: int | None = None
    unit: PrivacyUnit = EVENT
    moved: int | None = None
    domain: Domain | None = None
    height: int | None = None
    shape: type[Shape] | None = None

    def __post_init__(self) -> None:
        for name in ("candidates", "parts", "max_events", "moved", "height"):
            value: int | None = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_count(name, value))

    @property
    def largest_floor(self) -> int | None:
        """The largest floor that a stream of at most `max_events` events can have, if that is known."""
        if self.max_events is None or self.parts is None:
            return None
        return self.max_events // self.parts

    def within(self, max_events: int | None, domain: Domain | None = None) -> Public:
        """Return these numbers with the two that the caller states about the data."""
        return replace(self, max_events=max_events, domain=domain)


NOTHING_PUBLIC = Public()


class Shape(Protocol):
    """A summary of raw data; `words` names the sketches that give it, for messages."""

    words: ClassVar[str]

    def public(self) -> Public:
        """Return the numbers that no data changes."""
        ...


class Sketch(Protocol):
    """Raw data in bounded memory, counted in the order of the stream."""

    unit: PrivacyUnit

    @property
    def total(self) -> int:
        """The number of events counted so far: raw data."""
        ...

    def update(self, keys: pa.Array) -> None:
        """Count a batch of keys in its order."""
        ...

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        ...

    def shape(self) -> Shape:
        """Return the summary that a mechanism may see."""
        ...


@dataclass(frozen=True, slots=True)
class Histogram:
    """Exact counts by key, all at least 1. Adding or removing one event changes one count by 1."""

    keys: pa.Array
    counts: Counts
    unit: PrivacyUnit = EVENT

    words: ClassVar[str] = "exact counts"

    def public(self) -> Public:
        """Return the unit; the number of keys is raw data."""
        return Public(unit=self.unit, shape=Histogram)


@dataclass(frozen=True, slots=True)
class FloorCounters:
    """Counters of one stream.

    Between neighbours either the floor or one count changes by 1, and each side may track up to two keys that
    the other does not, at most 1 above the floor.

    `keys` are the candidates (a full SpaceSaving sketch leaves out the key that would be evicted next), and
    count - floor <= true count <= count. There are at most `candidates` keys, and the floor is at most
    n / `parts` for a stream of n events; both numbers are public.
    """

    keys: pa.Array
    counts: Counts
    floor: int
    candidates: int
    parts: int
    unit: PrivacyUnit = EVENT

    words: ClassVar[str] = "a single SpaceSaving or MisraGries stream"

    def public(self) -> Public:
        """Return the size of the sketch."""
        return Public(self.candidates, self.parts, unit=self.unit, shape=FloorCounters)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a linear sketch, depth x width. One event changes one cell per row by at most its weight.

    `max_weight` is the public bound on weights, None if there is none. A `partial` sketch may hold counts
    below zero.
    """

    cells: Counts
    hashing: RowHash
    key_type: pa.DataType
    max_weight: int | None
    partial: bool = False
    unit: PrivacyUnit = EVENT

    words: ClassVar[str] = "CountMin and CountSketch sketches"

    def public(self) -> Public:
        """Return the unit."""
        return Public(unit=self.unit, shape=Cells)


@dataclass(frozen=True, slots=True)
class TrackedCells:
    """Cells of weights +1 and -1, and the keys that a SpaceSaving sketch of the additions tracks.

    A key that is not tracked was added at most `events` / `parts` times. `hashes` are those of the keys.
    `events`, the number of additions and deletions, is raw data: it is only compared with a public bound.
    """

    cells: Cells
    keys: pa.Array
    hashes: npt.NDArray[np.uint64]
    parts: int
    events: int

    words: ClassVar[str] = "a linear sketch with tracked keys"

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected."""
        return self.cells.unit

    def public(self) -> Public:
        """Return the number of tracked keys."""
        return Public(parts=self.parts, unit=self.unit, shape=TrackedCells)


@dataclass(frozen=True, slots=True)
class Shards:
    """Summaries of disjoint parts of the data. Between neighbours one differs, as FloorCounters do.

    The part to which an event belongs is a function of the event alone. The number of parts is public.
    """

    parts: tuple[FloorCounters, ...]

    words: ClassVar[str] = "a list of SpaceSaving or MisraGries sketches"

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected: the same in all parts."""
        return self.parts[0].unit

    def public(self) -> Public:
        """Return the unit."""
        return Public(unit=self.unit, shape=type(self))


@dataclass(frozen=True, slots=True)
class KeyShards(Shards):
    """Shards to which events were assigned by their key: no key is in two of them."""


@dataclass(frozen=True, slots=True)
class ManyKeys:
    """Counts, at least 1, of which one unit can change up to `moved`, each by 1 and all in one direction.

    `moved` is public. Counts are exact if `parts` is None; otherwise they are at most n / `parts` too low for
    n counted keys, and at most `candidates` keys are stored.
    """

    keys: pa.Array
    counts: Counts
    moved: int
    candidates: int | None = None
    parts: int | None = None
    unit: PrivacyUnit = EVENT

    words: ClassVar[str] = "merged and user-level sketches"

    def public(self) -> Public:
        """Return the sensitivity and the size of the summary."""
        return Public(self.candidates, self.parts, unit=self.unit, moved=self.moved, shape=ManyKeys)


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
    """The leaves of a hierarchy in sorted order, with exact counts of at least 1. One event changes one by 1.

    `batches()` starts again from the first leaf, unless the data can be read only once.
    """

    hierarchy: Hierarchy
    batches: Callable[[], Iterator[LeafBatch]]
    unit: PrivacyUnit = EVENT

    words: ClassVar[str] = "the exact leaf counts of a hierarchy"

    def public(self) -> Public:
        """Return the height of the hierarchy."""
        return Public(unit=self.unit, height=self.hierarchy.height, shape=LeafCounts)


@dataclass(frozen=True, slots=True)
class LevelCounters:
    """One event changes `total` by 1 and every level as FloorCounters change, all of them together.

    `total` is the number of events, which is the count of the root; `levels` are the summaries of level 1 to
    the leaves, each of the nodes of the same events in the same order.
    """

    hierarchy: Hierarchy
    total: int
    levels: tuple[FloorCounters, ...]

    words: ClassVar[str] = "a HierarchySketch"

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected: the same at all levels."""
        return self.levels[0].unit

    def public(self) -> Public:
        """Return the height of the hierarchy and the size of the sketch of one level."""
        first = self.levels[0].public()
        return replace(first, height=len(self.levels), shape=LevelCounters)
