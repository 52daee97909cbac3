"""The seam between counting and noise: what a mechanism is told about a sketch, and nothing else.

A *shape* is the summary that a sketch hands over: its type fixes how those of data with one more `unit` may
differ. `public()` gives numbers that no data changes: they calibrate a mechanism before a row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from hushcount.privacy import EVENT, PrivacyUnit, check_count

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.compiled.arrays import Counts, Words
    from hushcount.hierarchies.base import Hierarchy, LeafBatch, UserLeafBatch
    from hushcount.keys.domains import Domain
    from hushcount.keys.row_hash import RowHash
    from hushcount.shapes.samples import SamplingScheme


@dataclass(frozen=True, slots=True)
class Public:
    """Numbers that a mechanism may use without paying, because no data changes them.

    `candidates` is the most keys that the summary can hold; n events have a floor of at most n / `parts`; one
    unit changes at most `moved` counts, by 1; `height` counts the levels below the root of a hierarchy;
    `shape` is the type of the summary; `scheme` how a sample was drawn. The caller states `max_events`, a
    bound on events, `domain`, all keys there can be, and `min_users`, the least count.
    """

    candidates: int | None = None
    parts: int | None = None
    max_events: int | None = None
    unit: PrivacyUnit = EVENT
    moved: int | None = None
    domain: Domain | None = None
    height: int | None = None
    shape: type[Shape] | None = None
    min_users: int | None = None
    scheme: SamplingScheme | None = None

    def __post_init__(self) -> None:
        for name in ("candidates", "parts", "max_events", "moved", "height", "min_users"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_count(name, value))

    @property
    def largest_floor(self) -> int | None:
        """The largest floor that a stream of at most `max_events` events can have, if that is known."""
        return None if self.max_events is None or self.parts is None else self.max_events // self.parts

    def within(self, max_events: int | None, domain: Domain | None = None) -> Public:
        """Return these numbers with the two that the caller states about the data."""
        return replace(self, max_events=max_events, domain=domain)


NOTHING_PUBLIC = Public()


class Shape(Protocol):
    """A summary of raw data; `words` names the sketches that give it, for messages."""

    words: ClassVar[str]

    def public(self) -> Public:
        """Return the numbers that no data changes."""


class Sketch(Protocol):
    """Raw data in bounded memory, counted in the order of the stream."""

    unit: PrivacyUnit

    @property
    def total(self) -> int:
        """The number of events counted so far: raw data."""

    def update(self, keys: pa.Array) -> None:
        """Count a batch of keys in its order."""

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""

    def shape(self) -> Shape:
        """Return the summary that a mechanism may see."""


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
    """Counters of one stream. Between neighbours either the floor or one count changes by 1.

    Each side may track up to two keys that the other does not, at most 1 above the floor. `keys` are the
    candidates (a full SpaceSaving sketch leaves out the key to be evicted next), at most `candidates`;
    count - floor <= true count <= count; n events have a floor of at most n / `parts`.
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

    `max_weight` is the public bound on weights, if there is one. A `partial` sketch may go below zero.
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
class UserCells(Cells):
    """Count-Min cells in which each user counts once: of a row one user changes min(rows, width), by 1."""

    words: ClassVar[str] = "cells that count users"

    def public(self) -> Public:
        """Return the unit, and how many cells one user can change."""
        moved = self.hashing.depth * min(self.unit.rows, self.hashing.width)
        return Public(unit=self.unit, moved=moved, shape=UserCells)


@dataclass(frozen=True, slots=True)
class TrackedCells:
    """Cells of additions and deletions, and tracked keys: of others at most `events` / `parts` was added."""

    cells: Cells
    keys: pa.Array
    hashes: Words
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
    """Summaries of parts of the data, by a function of each event; one differs, as FloorCounters do."""

    parts: tuple[FloorCounters, ...]
    words: ClassVar[str] = "a list of SpaceSaving or MisraGries sketches"

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected: the same in all parts."""
        return self.parts[0].unit

    def public(self) -> Public:
        """Return the size of each sketch if all have the same: floors are n / parts in all, at most."""
        first, *others = {part.public() for part in self.parts}
        return replace(Public(unit=self.unit) if others else first, shape=type(self))


class KeyShards(Shards):
    """Shards to which events were assigned by their key: no key is in two of them."""

    words: ClassVar[str] = "sketches of shards by key"


@dataclass(frozen=True, slots=True)
class ManyKeys:
    """Counts, at least 1, too low by n / `parts` at most; one unit changes up to `moved` by 1, one way."""

    keys: pa.Array
    counts: Counts
    moved: int
    candidates: int | None = None
    parts: int | None = None
    unit: PrivacyUnit = EVENT
    words: ClassVar[str] = "merged and user-level sketches"

    def public(self) -> Public:
        """Return the sensitivity and the size of the summary."""
        return Public(self.candidates, self.parts, unit=self.unit, moved=self.moved, shape=type(self))


class LimitedKeys(ManyKeys):
    """Counts of a sketch that never stores more than `candidates` keys, whatever the data are."""


@dataclass(frozen=True, slots=True)
class ExactCounts:
    """Exact counts, at least 1, in blocks from disk; a unit changes up to `moved` by 1, in one direction."""

    blocks: Iterable[tuple[pa.Array, Counts]]
    moved: int = 1
    unit: PrivacyUnit = EVENT
    words: ClassVar[str] = "exact counts"

    def public(self) -> Public:
        """Return the sensitivity; the number of keys is raw data."""
        return Public(unit=self.unit, moved=self.moved, shape=ExactCounts)


@dataclass(frozen=True, slots=True)
class KeySets:
    """The keys of each user, at most `moved`: `sums(by_size, stay)` adds by_size[n - 1] if n keys stay."""

    sums: Callable[[Counts, pa.Array | None], Iterator[tuple[pa.Array, Counts]]]
    moved: int
    unit: PrivacyUnit = EVENT
    words: ClassVar[str] = "the sets of keys of users"

    def public(self) -> Public:
        """Return the bound on the keys of a user."""
        return Public(unit=self.unit, moved=self.moved, shape=KeySets)


@dataclass(frozen=True, slots=True)
class LeafCounts:
    """The leaves of a hierarchy, sorted, with counts of at least 1, read once. One event changes one by 1."""

    hierarchy: Hierarchy
    batches: Callable[[], Iterator[LeafBatch]]
    unit: PrivacyUnit = EVENT
    words: ClassVar[str] = "the exact leaf counts of a hierarchy"

    def public(self) -> Public:
        """Return the height of the hierarchy."""
        return Public(unit=self.unit, height=self.hierarchy.height, shape=LeafCounts)


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """The users of every node, each once: one user changes at most `moved` counts, by 1 in one direction."""

    hierarchy: Hierarchy
    batches: Callable[[], Iterator[UserLeafBatch]]
    moved: int
    unit: PrivacyUnit = EVENT
    words: ClassVar[str] = "the users of every node of a hierarchy"

    def public(self) -> Public:
        """Return the height of the hierarchy and the sensitivity."""
        return Public(unit=self.unit, moved=self.moved, height=self.hierarchy.height, shape=NodeCounts)


@dataclass(frozen=True, slots=True)
class LevelCounters:
    """`total`, of the root, changes by 1, `levels` as FloorCounters; down to `exact` floors are always 0."""

    hierarchy: Hierarchy
    total: int
    levels: tuple[FloorCounters, ...]
    exact: int = 0
    words: ClassVar[str] = "a HierarchySketch"

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected: the same at all levels."""
        return self.levels[0].unit

    def public(self) -> Public:
        """Return the height of the hierarchy and the size of the sketch of one level."""
        return replace(self.levels[0].public(), height=len(self.levels), shape=LevelCounters)
