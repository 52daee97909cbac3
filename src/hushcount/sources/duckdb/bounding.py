"""Contribution bounding: each user's rows brought together, and no more than a public number of them kept.

What is kept of a user, and where it comes in the order, depends on that user's rows and a secret key alone:
without one user, all others contribute the same rows in the same order.
Proof: docs/proofs/sources/bounding.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Mask, Words
from hushcount.keys.arrays import ByteKeys, changes, stored, to_kernel
from hushcount.privacy import check_count
from hushcount.secure import fresh_key
from hushcount.sources.duckdb.out_of_core import OutOfCore, Tell, untold
from hushcount.sources.source import Batch, Source
from hushcount.stores.duckdb import MEMORY

FAILURES = (
    "Bringing the rows of each user together needs more memory or disk space than there is.",
    "The rows of each user could not be brought together.",
)
# Users by a keyed hash, and the keys of each by another; equal rows tie.
ORDER_QUERY = 'SELECT "user", key FROM rows ORDER BY user_hash, "user", hash, key'


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
    """Keeps the first rows of each user, up to the bound; rows come sorted by user and then by key.

    `places` are of the rows returned last: 1 for the first row of a user, 2 for the next, and so on.

    >>> cut = Cut(DistinctPairs(2))
    >>> users, keys = cut.kept(pa.array([1, 1, 1, 1, 2]), pa.array(["a", "a", "b", "c", "a"]))
    >>> users.to_pylist(), keys.to_pylist()
    ([1, 1, 2], ['a', 'b', 'a'])
    """

    bound: UserBound
    places: Counts = field(default_factory=lambda: np.zeros(0, np.int64), init=False)
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
        places = places_of(begins, counted, self._used)
        self._last, self._used = (users[-1], keys[-1]), int(places[-1])
        few = counted & (places <= self.bound.largest)
        self.places, mask = places[few], pa.array(few)
        return users.filter(mask), keys.filter(mask)


def places_of(begins: Mask, counted: Mask, used: int) -> Counts:
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
    sort = OutOfCore(ORDER_QUERY, *FAILURES, memory)
    for rows in sort.batches(source, PairHash().record_of, tell):
        users, keys = cut.kept(rows.column("user"), rows.column("key"))
        yield users, keys.cast(kind)


class PairHash:
    """Hashes of users, and of users with their keys, under a secret that is drawn for one run."""

    def __init__(self) -> None:
        stream = hashlib.shake_256(fresh_key()).digest(32)
        self._key, self._odd, self._left, self._right = np.frombuffer(stream, "<u8").astype(np.uint64)
        self._odd |= np.uint64(1)

    def record_of(self, batch: Batch) -> pa.RecordBatch:
        """Return users and keys as DuckDB sorts them, with the hashes of both users and pairs."""
        user, key = (stored(batch.keys.field(name)) for name in ("user", "key"))
        users, pairs = self.hashes(user, key)
        return pa.record_batch({"user": user, "key": key, "hash": pairs, "user_hash": users})

    def hashes(self, users: pa.Array, keys: pa.Array) -> tuple[Words, Words]:
        """Return the hash of every user, and of every pair of a user and a key."""
        from hushcount.sources.duckdb._kernels.pairs import hashes_of_pairs

        of_users = self._hashes(users)
        return of_users, hashes_of_pairs(of_users, self._hashes(keys), self._left, self._right)

    def _hashes(self, values: pa.Array) -> Words:
        from hushcount.sources.duckdb._kernels import pairs

        words = to_kernel(values, values.type)
        if isinstance(words, ByteKeys):
            return np.asarray(pairs.hashes_of_bytes(words.data, words.offsets, self._key, self._odd))
        return np.asarray(pairs.hashes_of_words(words, self._odd))
