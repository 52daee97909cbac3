"""Merged counters: the sum of two summaries, brought back to their size (Lebeda and Tětek 2023, section 7).

Add the counts, subtract the (counters + 1)-th largest from all, drop what is not positive. Up to `counters`
counts can differ by one between neighbours, so this is another type than one stream's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hushcount.errors import KeyTypeError, NotProvedError, ParameterError
from hushcount.privacy import EVENT, USER, PrivacyUnit, check_count
from hushcount.secure import fresh_key
from hushcount.shapes import FloorCounters, ManyKeys, Public
from hushcount.sketches import codec
from hushcount.sketches.held import Counts, Held, check_id, need
from hushcount.sketches.saved import SavedSketch

_UNITS = {EVENT.name: EVENT, USER.name: USER}


class MergedCounters(SavedSketch):
    """At most `counters` keys of several streams, by `sketch.merge`.

    A key's count is at most its true count, and at most `error_bound` below it; error_bound is at most
    total / (counters + 1). Merge in an order that does not depend on the data.

    >>> from hushcount.sketches.misra_gries import MisraGries
    >>> one, other = MisraGries(counters=2), MisraGries(counters=2)
    >>> one.update(["a", "a", "b"])
    >>> other.update(["a", "c"])
    >>> one.merge(other).estimate(["a", "b", "c"]).tolist()
    [2, 0, 0]
    """

    def __init__(self, counters: int, held: Held, members: tuple[str, ...], unit: PrivacyUnit) -> None:
        self.counters = counters
        self.id = fresh_key().hex()
        self.members = members
        self.unit = unit
        self._held = held

    @property
    def total(self) -> int:
        """How many keys have been counted, in all streams."""
        return self._held.total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys, once there are any."""
        return self._held.key_type

    @property
    def error_bound(self) -> int:
        """What was taken off every count, in all streams and merges."""
        return self._held.floor

    def estimate(self, keys: Any) -> Counts:
        """Counts of keys, 0 for those not held."""
        return self._held.estimate(keys)

    def merge(self, other: Any) -> MergedCounters:
        """A new summary of both."""
        return merge(self, other)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(self.counters, self.counters + 1, unit=self.unit, moved=self.counters, shape=ManyKeys)

    def shape(self) -> ManyKeys:
        """All keys that are held; as many as there are counters can move together."""
        held = self._held
        return ManyKeys(
            held.key_array(), held.counts, self.counters, self.counters, self.counters + 1, self.unit
        )

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""
        own = {"id": self.id, "members": list(self.members), "unit": self.unit.name}
        return "merged", {**own, "counters": self.counters, **self._held.fields()}, self._held.arrays()

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> MergedCounters:
        """The sketch of which this was written."""
        counters = check_count("counters", fields["counters"])
        members = tuple(check_id(member) for member in fields["members"])
        need("members", len(set(members)) == len(members) >= 2)
        held = Held.from_parts(fields, arrays, counters)
        sketch = cls(counters, held, members, _UNITS[fields["unit"]])
        sketch.id = check_id(fields["id"])
        return sketch


def merge(one: Any, other: Any) -> MergedCounters:
    """Merge two counter sketches of the same size, key type and unit."""
    sides = (_side(one), _side(other))
    _check(sides)
    members = sides[0].members + sides[1].members
    return MergedCounters(sides[0].size, _reduced(_added(sides), sides[0].size), members, sides[0].unit)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two, as positive counts."""

    held: Held
    size: int
    members: tuple[str, ...]
    unit: PrivacyUnit


def _side(sketch: Any) -> _Side:
    shape = sketch.shape() if callable(getattr(sketch, "shape", None)) else None
    if not isinstance(shape, FloorCounters | ManyKeys) or not hasattr(sketch, "error_bound"):
        raise NotProvedError(
            f"merge is proved for SpaceSaving, MisraGries, UserMisraGries and what they merge to,"
            f" got {type(sketch).__name__}."
        )
    members = getattr(sketch, "members", (sketch.id,))
    if isinstance(shape, ManyKeys):
        keys, counts, size, unit = shape.keys, shape.counts, shape.moved, shape.unit
    else:  # heights above the floor are Misra-Gries counters
        heights = shape.counts - shape.floor
        keys, counts = shape.keys.filter(pa.array(heights >= 1)), heights[heights >= 1]
        size, unit = shape.candidates, EVENT
    held = Held(keys if sketch.key_type is not None else None, counts, sketch.error_bound, sketch.total)
    return _Side(held, size, members, unit)


def _check(sides: tuple[_Side, _Side]) -> None:
    one, other = sides
    if set(one.members) & set(other.members):
        raise ParameterError("merge needs sketches of different data, got the same sketch twice.")
    if one.size != other.size:
        raise ParameterError(f"counters must be equal to merge, got {one.size} and {other.size}.")
    if one.unit != other.unit:
        raise ParameterError(
            f"sketches must count the same unit to merge, got {one.unit.name} and {other.unit.name}."
        )
    kinds = [side.held.key_type for side in sides if side.held.key_type is not None]
    if len(kinds) == 2 and kinds[0] != kinds[1]:
        raise KeyTypeError(f"keys must have one type to merge, got {kinds[0]} and {kinds[1]}.")


def _added(sides: tuple[_Side, _Side]) -> Held:
    helds = [side.held for side in sides if side.held.keys is not None]
    floor, total = (sum(getattr(side.held, name) for side in sides) for name in ("floor", "total"))
    if not helds:
        return Held(None, np.zeros(0, np.int64), floor, total)
    keys, counts = sum_by_key([held.keys for held in helds], [held.counts for held in helds])
    return Held(keys, counts, floor, total)


def _reduced(held: Held, size: int) -> Held:
    if len(held.counts) <= size:
        return held
    taken = int(np.partition(held.counts, -(size + 1))[-(size + 1)])
    kept = held.counts > taken
    keys = held.key_array().filter(pa.array(kept))
    return Held(keys, held.counts[kept] - taken, held.floor + taken, held.total)


def sum_by_key(keys: list[pa.Array], counts: list[Counts]) -> tuple[pa.Array, Counts]:
    """The sums of counts over equal keys."""
    table = pa.table({"key": pa.chunked_array(keys), "count": np.concatenate(counts)})
    summed = table.group_by("key").aggregate([("count", "sum")]).combine_chunks()
    return one_array(summed["key"]), np.asarray(summed["count_sum"].to_numpy(), np.int64)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    return pa.concat_arrays([pa.array([], column.type), *column.chunks])
