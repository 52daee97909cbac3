"""Contribution bounding: each user's rows brought together, and no more than a public number of them kept.

What is kept of a user, and where it comes in the order, depends on that user's rows and a secret key alone:
without one user, all others contribute the same rows in the same order.
Proof: docs/proofs/bounding.md.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, HushcountError
from hushcount.privacy import check_count
from hushcount.randomness import fresh_key
from hushcount.sources.failures import guarded
from hushcount.sources.json_lines import ROWS, literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from hushcount.sources.batches import Batch, Source

MEMORY = "512MB"
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
        """What is kept of the next rows."""
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
    """Where a value differs from the one before it; `last` came before the first."""
    changes = np.ones(len(values), np.bool_)
    changes[1:] = pc.not_equal(values[1:], values[:-1]).to_numpy(zero_copy_only=False)
    changes[0] = last is None or not last.equals(values[0])
    return changes


def _places(begins: Mask, counted: Mask, used: int) -> npt.NDArray[np.int64]:
    """How many rows of its user have been counted up to each row; `used` before the first."""
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
        """Yield users and keys, row by row; `tell` hears of every batch as it is read."""
        types = self.source.columns.without_user().types
        feed = _Feed(self.source, tell)
        cut = Cut(self.bound)
        for rows in guarded(self._sorted(feed), feed.failure):
            users, keys = cut.kept(rows.column("user"), rows.column("key"))
            yield users, restored(keys, types[0]) if len(types) == 1 else keys

    def _sorted(self, feed: _Feed) -> Iterator[pa.RecordBatch]:
        import duckdb

        folder = tempfile.mkdtemp(prefix="hushcount-")
        options: dict[str, Any] = {"threads": 2, "memory_limit": self.memory, "temp_directory": folder}
        try:
            with closing(feed), duckdb.connect(config=options) as connection:
                reader = feed.reader()
                if reader is not None:
                    rows: Any = connection.from_arrow(reader)
                    yield from rows.query("rows", order_query(fresh_key().hex())).to_arrow_reader(ROWS)
        except Exception as error:
            if feed.interrupted(error):
                raise KeyboardInterrupt from None
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def order_query(secret: str) -> str:
    """Users in the order of a keyed hash, and of each the keys in the order of another; equal rows tie."""
    # The outer hash mixes: DuckDB joins the hashes of several values by exclusive or.
    user = f'hash(hash({literal(secret)}, "user"))'
    pair = f'hash(hash({literal(secret)}, "user", key))'
    return f'SELECT "user", key FROM rows ORDER BY {user}, "user", {pair}, key'


class _Feed:
    """Batches of a source as an Arrow stream for DuckDB, and what went wrong while they were read."""

    def __init__(self, source: Source, tell: Callable[[Batch], None]) -> None:
        self._batches = source.batches()
        self._tell = tell
        self._failure: BaseException | None = None

    def reader(self) -> pa.RecordBatchReader | None:
        """The stream; None of a source without rows."""
        first = next(self._batches, None)
        if first is None:
            return None
        start = self._record(first)
        return pa.RecordBatchReader.from_batches(start.schema, self._records(start))

    def _records(self, start: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield start
        try:
            for batch in self._batches:
                yield self._record(batch)
        except BaseException as error:  # DuckDB turns it into words of its own
            self._failure = error
            raise

    def _record(self, batch: Batch) -> pa.RecordBatch:
        self._tell(batch)
        columns = [stored(batch.keys.field("user")), stored(batch.keys.field("key"))]
        return pa.RecordBatch.from_arrays(columns, ["user", "key"])

    def failure(self, error: Exception) -> HushcountError:
        """The sentence in place of DuckDB's, which quotes the data: the source's, if it began there."""
        import duckdb

        if isinstance(self._failure, HushcountError):
            return self._failure
        if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
            return DataError(
                "Bringing the rows of each user together needs more memory or disk space than there is."
            )
        return DataError("The rows of each user could not be brought together.")

    def interrupted(self, error: Exception) -> bool:
        """Whether Ctrl-C ended the sort, or the reading for it."""
        if self._failure is not None or isinstance(error, HushcountError):
            return isinstance(self._failure, KeyboardInterrupt)
        return "interrupt" in str(error).lower()

    def close(self) -> None:
        """Stop reading."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


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
