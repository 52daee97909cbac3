"""Contribution bounding: each user's rows brought together, and no more than a public number of them kept.

What is kept of a user, and where it comes in the order, depends on that user's rows and a secret key alone:
without one user, all others contribute the same rows in the same order.
Proof: docs/proofs/sources/bounding.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts, Mask
from hushcount.keys.arrays import changes, stored
from hushcount.privacy import check_count
from hushcount.secure import fresh_key
from hushcount.sources.duckdb.out_of_core import OutOfCore, Tell, untold
from hushcount.sources.source import Batch, Source
from hushcount.stores.duckdb import MEMORY, SMALL_MEMORY, keyed_hash

FAILURES = (
    "Bringing the rows of each user together needs more memory or disk space than there is.",
    "The rows of each user could not be brought together.",
)


@dataclass(frozen=True, slots=True)
class UserBound:
    """At most `largest` rows of a user; a subclass says which rows count, and names the option."""

    largest: int
    option: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", check_count(self.option, self.largest))


class DistinctPairs(UserBound):
    """At most `largest` different keys of a user, each counted once."""

    option = "max_keys"


class PlacedPairs(DistinctPairs):
    """The same, each key with its place among the keys of its user."""


class AllRows(UserBound):
    """At most `largest` rows of a user in all, equal ones included."""

    option = "max_events_per_user"


@dataclass(slots=True)
class Cut:
    """Keeps the first rows of each user, as far as the bound goes, of rows sorted by user and then by key.

    >>> cut = Cut(DistinctPairs(2))
    >>> users, keys = cut.kept(pa.array([1, 1, 1, 1, 2]), pa.array(["a", "a", "b", "c", "a"]))
    >>> users.to_pylist(), keys.to_pylist()
    ([1, 1, 2], ['a', 'b', 'a'])
    """

    bound: UserBound
    _last: tuple[pa.Scalar, pa.Scalar] | None = field(default=None, init=False)
    _used: int = field(default=0, init=False)

    def kept(self, users: pa.Array, keys: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return what is kept of the next rows."""
        if not len(users):
            return users, keys
        last_user, last_key = self._last or (None, None)
        begins = changes(users, last_user)
        counted = begins | changes(keys, last_key)  # rows that do not repeat the one before
        if isinstance(self.bound, AllRows):
            counted[:] = True
        places = _places(begins, counted, self._used)
        self._last, self._used = (users[-1], keys[-1]), int(places[-1])
        mask = pa.array(counted & (places <= self.bound.largest))
        return users.filter(mask), keys.filter(mask)


@dataclass(slots=True)
class PairCut:
    """Keeps the first `largest` keys of each user, each once, of rows sorted by user and by hash of the pair.

    Rows of one user with one hash lie together, in an order that may be any. If they hold different keys,
    which happens to one pair of keys in 2^64, none of them is kept: the user's own rows alone decide that.
    """

    largest: int
    _held: pa.RecordBatch | None = field(default=None, init=False)  # the last row: its like may follow
    _clashed: bool = field(default=False, init=False)  # whether one of its like has another key
    _last: pa.Scalar | None = field(default=None, init=False)
    _used: int = field(default=0, init=False)

    def kept(self, rows: pa.RecordBatch, last: bool = False) -> tuple[pa.Array, Counts]:
        """Return the keys that are kept of the next rows, and the place of each among those of its user."""
        if self._held is not None:
            rows = pa.concat_batches([self._held, rows])
        if not rows.num_rows:
            return rows.column("key"), np.zeros(0, np.int64)
        starts = changes(rows.column("user"), None) | changes(rows.column("hash"), None)
        clashes = self._clashes(rows.column("key"), starts)
        ends = np.flatnonzero(starts[1:])
        if last:
            ends = np.append(ends, rows.num_rows - 1)
        self._held, self._clashed = rows.slice(rows.num_rows - 1), bool(clashes[-1])
        return self._first(rows.take(pa.array(ends[~clashes[: len(ends)]])))

    def _clashes(self, keys: pa.Array, starts: Mask) -> Mask:
        """Return for each run of equal users and hashes whether it holds different keys."""
        runs = np.cumsum(starts) - 1
        again = np.flatnonzero(~starts)
        other = pc.not_equal(keys.take(pa.array(again)), keys.take(pa.array(again - 1)))
        clashes = np.zeros(runs[-1] + 1, np.bool_)
        clashes[runs[again[other.to_numpy(zero_copy_only=False)]]] = True
        clashes[0] |= self._clashed
        return clashes

    def _first(self, pairs: pa.RecordBatch) -> tuple[pa.Array, Counts]:
        """Return what is kept of different pairs."""
        users, keys = pairs.column("user"), pairs.column("key")
        if not len(users):
            return keys, np.zeros(0, np.int64)
        places = _places(changes(users, self._last), np.ones(len(users), np.bool_), self._used)
        self._last, self._used = users[-1], int(places[-1])
        few = places <= self.largest
        return keys.filter(pa.array(few)), places[few]


def _places(begins: Mask, counted: Mask, used: int) -> Counts:
    """Return how many rows of its user have been counted up to each row; `used` before the first."""
    total = used + np.cumsum(counted)
    before = np.where(begins, total - counted, 0)
    return np.asarray(total - np.maximum.accumulate(before), np.int64)


def bounded_users(
    source: Source, bound: UserBound, tell: Tell = untold, memory: str = MEMORY
) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield users and keys of a source, cut to a bound; users come together, in the order of a keyed hash.

    Null users and keys are dropped by the source. `tell(batch)` is called for every batch that is read.
    """
    kind, cut = source.columns.counted_type, Cut(bound)
    sort = OutOfCore(order_query(fresh_key().hex()), *FAILURES, memory)
    for rows in sort.batches(source, _pairs, tell):
        users, keys = cut.kept(rows.column("user"), rows.column("key"))
        yield users, keys.cast(kind)


def bounded_pairs(
    source: Source, largest: int, tell: Tell = untold, memory: str = SMALL_MEMORY
) -> Iterator[tuple[pa.Array, Counts]]:
    """Yield keys of all users, at most `largest` different ones of each, and the place of each among them.

    They are picked as `bounded_users` picks them, in less time, because users need no order here.
    """
    kind, cut, empty = source.columns.counted_type, PairCut(largest), None
    sort = OutOfCore(pairs_query(fresh_key().hex()), *FAILURES, memory)
    for rows in sort.batches(source, _pairs, tell):
        keys, places = cut.kept(rows)
        yield keys.cast(kind), places
        empty = rows.slice(0, 0)
    if empty is not None:
        keys, places = cut.kept(empty, last=True)
        yield keys.cast(kind), places


def _pairs(batch: Batch) -> pa.RecordBatch:
    """Return users and keys as DuckDB sorts them."""
    return pa.record_batch({name: stored(batch.keys.field(name)) for name in ("user", "key")})


def order_query(secret: str) -> str:
    """Return the query that sorts users by a keyed hash, and the keys of each by another; equal rows tie."""
    user, pair = keyed_hash(secret, "user"), keyed_hash(secret, "user", "key")
    return f'SELECT "user", key FROM rows ORDER BY {user}, "user", {pair}, key'


def pairs_query(secret: str) -> str:
    """Return the query that sorts rows by user and a keyed hash of user and key, and gives the hash too."""
    pair = keyed_hash(secret, "user", "key")
    return f'SELECT "user", key, {pair} AS hash FROM rows ORDER BY "user", hash'
