"""Several sketches together: merged into one, or as shards that are released together.

Merged counters are the sum of two summaries, brought back to their size (Lebeda and Tětek 2023, Section 7):
add the counts, subtract the (counters + 1)-th largest from all, drop what is not positive. Up to `counters`
counts can differ by one between neighbours, so this is another type than the sketch of one stream.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.errors import KeyTypeError, NotProvedError, ParameterError
from hushcount.files.container import Contents
from hushcount.keys.arrays import sum_by_key
from hushcount.keys.memory import Data
from hushcount.privacy import EVENT, RESULT_ROW, STREAM_ROW, USER, PrivacyUnit, check_count
from hushcount.secure import fresh_key
from hushcount.shapes import FloorCounters, Histogram, KeyShards, LimitedKeys, Public, Shards
from hushcount.sketches.base import SavedSketch
from hushcount.sketches.held import Held, check_id, need

Dealt = TypeVar("Dealt")
_UNITS = {unit.name: unit for unit in (EVENT, USER, RESULT_ROW, STREAM_ROW)}


@runtime_checkable
class Mergeable(Protocol):
    """A sketch whose counts can be added to those of another."""

    def as_merged(self) -> MergedCounters:
        """Return positive counts, as they are at one moment, as those of a sketch merged of one."""
        ...


class HeldSketch(SavedSketch):
    """A sketch of positive counts in a fixed number of counters, of which one unit can change all.

    A key's count is at most its true count, and at most `error_bound` below it.
    """

    counters: int

    @abstractmethod
    def counted(self) -> Held:
        """Return the counts of all that was counted so far."""

    @abstractmethod
    def as_merged(self) -> MergedCounters:
        """Return the counts as those of a merged sketch."""

    @property
    def total(self) -> int:
        """The number of keys counted, at user level each once for a user."""
        return self.counted().total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys; None before the first."""
        return self.counted().key_type

    @property
    def error_bound(self) -> int:
        """What was taken off every count: at most total / (counters + 1)."""
        return self.counted().floor

    def estimate(self, keys: Data) -> Counts:
        """Return the counts of keys, 0 for those that are not tracked.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys to look up; none may be null.
        """
        return self.counted().estimate(keys)

    def merge(self, other: object) -> MergedCounters:
        """Return a sketch of both.

        Parameters
        ----------
        other : SpaceSaving, MisraGries, UserMisraGries or what they merge to
            A sketch of other events or other users, with as many counters and keys of the same type.
        """
        return merge(self, other)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(
            self.counters, self.counters + 1, unit=self.unit, moved=self.counters, shape=LimitedKeys
        )

    def shape(self) -> LimitedKeys:
        """Return all keys; one unit can change as many counts as there are counters."""
        held, size = self.counted(), self.counters
        return LimitedKeys(held.key_array(), held.counts, size, size, size + 1, self.unit)


class MergedCounters(HeldSketch):
    """At most `counters` keys of several streams, made by `sketch.merge`.

    A key's count is at most its true count, and at most `error_bound` below it; error_bound is at most
    total / (counters + 1). No event, and at user level no user, may be in two of the merged sketches; the
    order of merging must not depend on the data. `members` are the ids of the merged sketches.

    Examples
    --------
    >>> from hushcount.sketches.counters import MisraGries
    >>> one, other = MisraGries(counters=2), MisraGries(counters=2)
    >>> one.update(["a", "a", "b"])
    >>> other.update(["a", "c"])
    >>> one.merge(other).estimate(["a", "b", "c"]).tolist()
    [2, 0, 0]
    """

    def __init__(self, counters: int, held: Held, members: tuple[str, ...], unit: PrivacyUnit) -> None:
        super().__init__()
        self.counters = counters
        self.id = fresh_key().hex()
        self.members = members
        self.unit = unit
        self._held = held

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What whoever merged the sketches has to make sure of, and nobody can check."""
        return (f"no {self.unit.name} is in two of the {len(self.members)} merged sketches",)

    def update(self, keys: Data) -> NoReturn:
        """Refuse: only sketches of one stream count keys."""
        raise NotProvedError(
            "Merged sketches count no more keys; count them with another sketch and merge it."
        )

    def counted(self) -> Held:
        """Return the counts."""
        return self._held

    def as_merged(self) -> MergedCounters:
        """Return itself."""
        return self

    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        own = {"id": self.id, "members": list(self.members), "unit": self.unit.name}
        fields = {**own, "counters": self.counters, **self._held.fields()}
        return Contents("merged", fields, self._held.arrays())

    @classmethod
    def from_contents(cls, contents: Contents) -> MergedCounters:
        """Return the sketch that `contents` described, or raise if it describes none."""
        fields = contents.fields
        counters = check_count("counters", fields["counters"])
        members = tuple(check_id(member) for member in fields["members"])
        need("members", len(set(members)) == len(members) >= 2)
        held = Held.from_contents(contents, counters)
        sketch = cls(counters, held, members, _UNITS[fields["unit"]])
        sketch.id = check_id(fields["id"])
        return sketch


def merge(one: object, other: object) -> MergedCounters:
    """Return the sketch of two counter sketches of the same size, key type and unit."""
    first, second = _mergeable(one), _mergeable(other)
    members = first.members + second.members
    check_apart(members)
    _check(first, second)
    held = _reduced(_added([first.counted(), second.counted()]), first.counters)
    return MergedCounters(first.counters, held, members, first.unit)


def _mergeable(sketch: object) -> MergedCounters:
    if not isinstance(sketch, Mergeable):
        raise NotProvedError(
            "merge is proved for SpaceSaving, MisraGries, UserMisraGries and what they merge to,"
            f" got {type(sketch).__name__}."
        )
    return sketch.as_merged()


def _check(one: MergedCounters, other: MergedCounters) -> None:
    """Raise unless the counts of two sketches can be added."""
    if one.counters != other.counters:
        raise ParameterError(f"counters must be equal to merge, got {one.counters} and {other.counters}.")
    rows = max(one.unit.rows, other.unit.rows)
    if rows > 1:
        raise NotProvedError(
            f"merge is proved for one row of each user, not for {rows}; release these sketches together, or"
            " count with UserMisraGries (--kind user-misra-gries)."
        )
    check_alike([one.unit, other.unit], [one.key_type, other.key_type])


def check_apart(members: Sequence[str]) -> None:
    """Raise if a sketch is merged with itself, or with one that it is a part of."""
    if len(set(members)) < len(members):
        raise ParameterError("merge needs sketches of different data, got the same sketch twice.")


def check_alike(units: Sequence[PrivacyUnit], kinds: Sequence[pa.DataType | None]) -> None:
    """Raise unless two sketches count the same unit, and keys of one type as far as they hold any."""
    if units[0] != units[1]:
        raise ParameterError(
            f"sketches must count the same unit to merge, got {units[0].name} and {units[1].name}."
        )
    if None not in kinds and kinds[0] != kinds[1]:
        raise KeyTypeError(f"keys must have one type to merge, got {kinds[0]} and {kinds[1]}.")


def _added(helds: Sequence[Held]) -> Held:
    """Return the sums of counts, floors and totals."""
    floor, total = sum(held.floor for held in helds), sum(held.total for held in helds)
    filled = [held for held in helds if held.keys is not None]
    if not filled:
        return Held(None, np.zeros(0, np.int64), floor, total)
    keys, counts = sum_by_key([held.key_array() for held in filled], [held.counts for held in filled])
    return Held(keys, counts, floor, total)


def _reduced(held: Held, counters: int) -> Held:
    """Return at most `counters` keys: what is too much is taken off all counts."""
    if len(held.counts) <= counters:
        return held
    taken = int(np.partition(held.counts, -(counters + 1))[-(counters + 1)])
    kept = held.counts > taken
    keys = held.key_array().filter(pa.array(kept))
    return Held(keys, held.counts[kept] - taken, held.floor + taken, held.total)


class DealtByKey(list[Dealt]):
    """Sketches of shards to which events were dealt by their key."""


@runtime_checkable
class Shaped(Protocol):
    """Whatever hands a summary to a mechanism."""

    def shape(self) -> object:
        """Return the summary."""
        ...


def shards_of(sketches: Sequence[object]) -> Shards:
    """Return the shape of several SpaceSaving or MisraGries sketches, each of its own part of the data."""
    if not sketches:
        raise ParameterError("sketches must be at least one, got none.")
    shapes = [_shape(sketch) for sketch in sketches]
    names = {sketch.id if isinstance(sketch, SavedSketch) else str(id(sketch)) for sketch in sketches}
    if len(names) < len(sketches):
        raise ParameterError("sketches must be of disjoint parts, got the same sketch twice.")
    kinds = [shape.keys.type for shape in shapes if len(shape.keys)]
    for kind in kinds:
        if kind != kinds[0]:
            raise KeyTypeError(f"keys must have one type in all shards, got {kinds[0]} and {kind}.")
    together = KeyShards if isinstance(sketches, DealtByKey) else Shards
    return together(tuple(_typed(shape, kinds[0] if kinds else pa.string()) for shape in shapes))


def _shape(sketch: object) -> FloorCounters:
    shape = sketch.shape() if isinstance(sketch, Shaped) else None
    if not isinstance(shape, FloorCounters):
        alone = "merge them, and release the sum" if isinstance(shape, Histogram) else "release it alone"
        raise NotProvedError(
            f"shards is proved for SpaceSaving and MisraGries sketches, got {type(sketch).__name__}; {alone}."
        )
    return shape


def _typed(shape: FloorCounters, kind: pa.DataType) -> FloorCounters:
    """Return a shape whose keys have a type, which those of an empty sketch lack."""
    return shape if len(shape.keys) else replace(shape, keys=pa.array([], kind))
