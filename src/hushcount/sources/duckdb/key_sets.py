"""Sets of keys of users, kept by DuckDB: sums of weights by key, again with fewer keys."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import attempt, guarded
from hushcount.files.leftovers import private_folder
from hushcount.sources.duckdb.bounding import restored, stored
from hushcount.sources.duckdb.json_lines import ROWS
from hushcount.stores.duckdb import MEMORY, connect, record_batches

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts

TOO_LARGE = "Keeping the keys of each user needs more memory or disk space than there is."
FAILED = "The keys of each user could not be kept."
SUMS = """
SELECT key, CAST(sum(weight) AS BIGINT) AS total FROM pairs
JOIN (SELECT "user", weight FROM (SELECT "user", count(*) AS size FROM pairs GROUP BY "user") JOIN weights
      USING (size)) USING ("user")
GROUP BY key ORDER BY key
"""


class KeptSets:
    """The (user, key) pairs of all users, in DuckDB: in little memory, and beyond that in a private folder.

    Users come one after the other, each with different keys, and are numbered: names of users are not kept.
    """

    def __init__(self, memory: str = MEMORY) -> None:
        kept = ExitStack()
        self._close = weakref.finalize(self, kept.close)
        folder = kept.enter_context(private_folder())
        self._connection = connect(folder, memory)
        kept.callback(self._connection.close)
        self._kind: pa.DataType | None = None
        self._last: pa.Scalar | None = None
        self._users = -1

    def add(self, users: pa.Array, keys: pa.Array) -> None:
        """Keep pairs; the rows of a user are together, also across calls."""
        attempt(_sentence, self._add, users, keys)

    def _add(self, users: pa.Array, keys: pa.Array) -> None:
        if not len(users):
            return
        relation = self._connection.from_arrow(pa.table({"user": self._numbered(users), "key": stored(keys)}))
        if self._kind is None:
            relation.create("pairs")
        else:
            relation.insert_into("pairs")
        self._kind = keys.type

    def _numbered(self, users: pa.Array) -> pa.Array:
        """Return the number of the user of each row."""
        new = np.ones(len(users), bool)
        if len(users) > 1:
            new[1:] = pc.not_equal(users[1:], users[:-1]).to_numpy(zero_copy_only=False)
        new[0] = self._last is None or users[0] != self._last
        numbers = self._users + np.cumsum(new)
        self._users, self._last = int(numbers[-1]), users[-1]
        return pa.array(numbers, pa.int64())

    def sums(self, by_size: Counts, stay: pa.Array | None) -> Iterator[tuple[pa.Array, Counts]]:
        """Yield keys with the sum of the weights of their users; keys that are not in `stay` leave for good.

        The weight of a user of n keys is `by_size[n - 1]`.
        """
        if self._kind is None:
            return
        kind = self._kind
        attempt(_sentence, self._prepare, by_size, stay)
        for rows in guarded(self._rows(), _sentence):
            yield restored(rows.column("key"), kind), rows.column("total").to_numpy()

    def _prepare(self, by_size: Counts, stay: pa.Array | None) -> None:
        """Cut the sets, and give DuckDB the weights."""
        connection = self._connection
        if stay is not None:
            keys = pa.table({"key": stored(stay.cast(self._kind))})
            connection.register("stay", keys)
            connection.execute("CREATE TABLE fewer AS SELECT * FROM pairs SEMI JOIN stay USING (key)")
            connection.execute("DROP TABLE pairs; ALTER TABLE fewer RENAME TO pairs")
            connection.unregister("stay")
        sizes = pa.table({"size": np.arange(1, len(by_size) + 1), "weight": by_size})
        connection.register("weights", sizes)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        yield from record_batches(self._connection.sql(SUMS), ROWS)


def _sentence(error: Exception) -> HushcountError:
    """Return what is said in place of DuckDB's words, which quote the data."""
    out = isinstance(error, MemoryError) or "out of memory" in str(error).lower()
    return DataError(TOO_LARGE if out else FAILED)
