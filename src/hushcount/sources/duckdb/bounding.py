"""Contribution bounding: each user's rows brought together, and no more than a public number of them kept.

What is kept of a user, and where it comes in the order, depends on that user's rows and a secret key alone:
without one user, all others contribute the same rows in the same order.
Proof: docs/proofs/sources/bounding.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.privacy import check_count
from hushcount.secure import fresh_key
from hushcount.sources.duckdb.json_lines import literal
from hushcount.sources.duckdb.out_of_core import OutOfCore
from hushcount.stores.duckdb import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from hushcount.sources.source import Batch, Source

FAILURES = (
    "Bringing the rows of each user together needs more memory or disk space than there is.",
    "The rows of each user could not be brought together.",
)
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DistinctPairs:
    """At most `largest` different keys of a user, each counted once."""

    largest: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", check_count("max_keys", self.largest))

    def counted(self, repeated: Mask) -> Mask:
        """Which rows take up room in the bound: those that do not repeat the row before."""
        return ~repeated


@dataclass(frozen=True, slots=True)
class AllRows:
    """At most `largest` rows of a user in all, equal ones included."""

    largest: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", check_count("max_events_per_user", self.largest))

    def counted(self, repeated: Mask) -> Mask:
        """Which rows take up room in the bound: all."""
        return np.ones(len(repeated), np.bool_)


Bound = DistinctPairs | AllRows


@dataclass(slots=True)
class Cut:
    """Keeps the first rows of each user, as far as the bound goes, of rows sorted by user and then by key.

    >>> cut = Cut(DistinctPairs(2))
    >>> users, keys = cut.kept(pa.array([1, 1, 1, 1, 2]), pa.array(["a", "a", "b", "c", "a"]))
    >>> users.to_pylist(), keys.to_pylist()
    ([1, 1, 2], ['a', 'b', 'a'])
    """

    bound: Bound
    _last: tuple[pa.Scalar, pa.Scalar] | None = field(default=None, init=False)
    _used: int = field(default=0, init=False)

    def kept(self, users: pa.Array, keys: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return what is kept of the next rows."""
        if not len(users):
            return users, keys
        last_user, last_key = self._last or (None, None)
        begins = _changes(users, last_user)
        counted = self.bound.counted(~begins & ~_changes(keys, last_key))
        places = _places(begins, counted, self._used)
        self._last, self._used = (users[-1], keys[-1]), int(places[-1])
        mask = pa.array(counted & (places <= self.bound.largest))
        return users.filter(mask), keys.filter(mask)


def _changes(values: pa.Array, last: pa.Scalar | None) -> Mask:
    """Return where a value differs from the one before it; `last` came before the first."""
    changes = np.ones(len(values), np.bool_)
    changes[1:] = pc.not_equal(values[1:], values[:-1]).to_numpy(zero_copy_only=False)
    changes[0] = last is None or not last.equals(values[0])
    return changes


def _places(begins: Mask, counted: Mask, used: int) -> npt.NDArray[np.int64]:
    """Return how many rows of its user have been counted up to each row; `used` before the first."""
    total = used + np.cumsum(counted)
    before = np.where(begins, total - counted, 0)
    return np.asarray(total - np.maximum.accumulate(before), np.int64)


@dataclass(frozen=True, slots=True)
class BoundedUsers:
    """The (user, key) pairs of a source, users together in the order of a keyed hash, cut to a bound.

    DuckDB sorts, out of core: in `memory`, and beyond that in a private folder (0700) that is removed at
    the end. Null users and keys are dropped by the source.
    """

    source: Source
    bound: Bound
    memory: str = MEMORY

    def batches(
        self, tell: Callable[[Batch], None] = lambda batch: None
    ) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Yield users and keys, row by row; `tell(batch)` is called for every batch, to report progress."""
        types = self.source.columns.without_user().types
        cut = Cut(self.bound)
        sort = OutOfCore(lambda: order_query(fresh_key().hex()), *FAILURES, self.memory)
        for rows in sort.batches(self.source, partial(_record, tell)):
            users, keys = cut.kept(rows.column("user"), rows.column("key"))
            yield users, restored(keys, types[0]) if len(types) == 1 else keys


def _record(tell: Callable[[Batch], None], batch: Batch) -> pa.RecordBatch:
    tell(batch)
    columns = [stored(batch.keys.field("user")), stored(batch.keys.field("key"))]
    return pa.RecordBatch.from_arrays(columns, ["user", "key"])


def order_query(secret: str) -> str:
    """Users in the order of a keyed hash, and of each the keys in the order of another; equal rows tie."""
    # The outer hash mixes: DuckDB joins the hashes of several values by exclusive or.
    user = f'hash(hash({literal(secret)}, "user"))'
    pair = f'hash(hash({literal(secret)}, "user", key))'
    return f'SELECT "user", key FROM rows ORDER BY {user}, "user", {pair}, key'


def stored(column: pa.Array) -> pa.Array:
    """Values as whole numbers or bytes, which DuckDB gives back exactly.

    >>> stored(pa.array(["é"])).to_pylist()
    [b'\\xc3\\xa9']
    """
    kind = column.type
    if pa.types.is_integer(kind):
        return column
    if pa.types.is_boolean(kind):
        return column.cast(pa.uint8())
    if pa.types.is_temporal(kind):
        return column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return column.cast(pa.binary())


def restored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values of which `stored` was made.

    >>> restored(stored(pa.array(["é"])), pa.string()).to_pylist()
    ['é']
    """
    return column.cast(kind)
