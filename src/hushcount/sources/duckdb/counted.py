"""Keys counted exactly, sorted or stored by DuckDB, however many: what exceeds its memory goes to disk."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts
from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import attempt, guarded
from hushcount.files.leftovers import private_folder
from hushcount.keys.arrays import changes, stored
from hushcount.secure import fresh_key
from hushcount.sources.duckdb.out_of_core import OutOfCore, Tell, out_of_memory, untold
from hushcount.sources.source import Batch, Source
from hushcount.sources.wrapped import WeighedSource, WrappedSource
from hushcount.stores.duckdb import MEMORY, ROWS, connect, keyed_hash, record_batches

KEYS_MEMORY = "288MB"  # beside Python, its libraries and a sketch, so that a process takes below 600 MB
FAILURES = (
    "Counting the keys needs more memory or disk space than there is.",
    "The keys could not be counted.",
)
SORT_FAILURES = (
    "Sorting the rows needs more memory or disk space than there is.",
    "The rows could not be sorted.",
)
LEAVES_QUERY = "SELECT leaf, count(*) AS leaves FROM rows GROUP BY leaf ORDER BY leaf"
# A sum of weights that is not above 0 is no count: such a key is as one that does not occur.
SUM = "CAST(sum(weight) AS BIGINT)"
ABOVE = "HAVING sum(weight) > 0"
WEIGHED_LEAVES = f"SELECT leaf, {SUM} AS leaves FROM rows GROUP BY leaf {ABOVE} ORDER BY leaf"
KEPT_TOO_LARGE = "Keeping the keys of each user needs more memory or disk space than there is."
NOT_KEPT = "The keys of each user could not be kept."
SUMS = """
SELECT key, CAST(sum(weight) AS BIGINT) AS total FROM pairs
JOIN (SELECT "user", weight FROM (SELECT "user", count(*) AS size FROM pairs GROUP BY "user") JOIN weights
      USING (size)) USING ("user")
GROUP BY key ORDER BY key
"""


def counted_keys(
    source: Source, tell: Tell = untold, memory: str = KEYS_MEMORY
) -> Iterator[tuple[pa.Array, Counts]]:
    """Yield keys and counts, in no particular order; `tell(batch)` is called for each batch read.

    Keys beside their weights are counted by the sum of these, if it is above 0; so are keys that a database
    has counted.
    """
    grouped = source.grouped()
    weighed = isinstance(source, WeighedSource) or grouped is not None
    source = grouped or source
    query = "SELECT key, count(*) AS keys FROM rows GROUP BY key"
    if weighed:
        query = f"SELECT key, {SUM} AS keys FROM rows GROUP BY key {ABOVE}"
    kind = pa.string()

    def record(batch: Batch) -> pa.RecordBatch:
        nonlocal kind  # an iterable has a type from its first keys on
        keys = batch.keys.field("key") if weighed else batch.keys
        kind = keys.type if len(keys) else kind
        columns = {"key": stored(keys)}
        return pa.record_batch(columns | {"weight": batch.keys.field("weight")} if weighed else columns)

    for rows in OutOfCore(query, *FAILURES, memory).batches(source, record, tell):
        yield rows.column("key").cast(kind), rows.column("keys").to_numpy()


def counted_by_bound(source: Source, bounds: tuple[int, ...], tell: Tell) -> Iterator[pa.RecordBatch]:
    """Yield keys with the numbers of their users, for each of several bounds on the keys of a user.

    The source gives keys with their places among the keys of their users.
    """
    within = [f"count(*) FILTER (place <= {bound}) AS within_{bound}" for bound in bounds]
    query = f"SELECT key, {', '.join(within)} FROM rows GROUP BY key"
    kind = pa.string()

    def record(batch: Batch) -> pa.RecordBatch:
        nonlocal kind
        kind = batch.keys.field("key").type if len(batch.keys) else kind
        few = batch.keys.filter(pc.less_equal(batch.keys.field("place"), bounds[-1]))
        return pa.record_batch({"key": stored(few.field("key")), "place": few.field("place")})

    for rows in OutOfCore(query, *FAILURES, KEYS_MEMORY).batches(source, record, tell):
        yield rows.set_column(0, "key", rows.column("key").cast(kind))


def counted_leaves(
    source: Source,
    leaves: Callable[[pa.Array], pa.Array],
    kind: pa.DataType,
    tell: Tell = untold,
    memory: str = MEMORY,
) -> Iterator[tuple[pa.Array, Counts]]:
    """Yield the distinct leaves of all keys of a source with their counts, sorted by leaf.

    `leaves` maps keys to their leaves without nulls, of type `kind`: whole numbers or bytes, which sort by
    value and as unsigned bytes. Keys beside their weights it maps to pairs of weight and leaf.
    """
    grouped = source.grouped()
    weighed = isinstance(source, WeighedSource) or grouped is not None
    source = grouped or source

    def record(batch: Batch) -> pa.RecordBatch:
        found = leaves(batch.keys)
        return pa.RecordBatch.from_struct_array(found) if weighed else pa.record_batch({"leaf": found})

    query = WEIGHED_LEAVES if weighed else LEAVES_QUERY
    for rows in OutOfCore(query, *FAILURES, memory).batches(source, record, tell):
        yield rows.column("leaf").cast(kind), rows.column("leaves").to_numpy()


def counted_users(paths: Source, kind: pa.DataType, several: bool = False) -> Iterator[pa.RecordBatch]:
    """Yield leaf, known and users, sorted by leaf, of a source whose keys are structs of leaf and known.

    Keys that stand for several events say so by a third field, `times`.
    """
    users = "CAST(sum(times) AS BIGINT)" if several else "count(*)"
    query = f"SELECT leaf, known, {users} AS users FROM rows GROUP BY leaf, known ORDER BY leaf, known"

    def record(batch: Batch) -> pa.RecordBatch:
        return pa.RecordBatch.from_struct_array(batch.keys)

    for rows in OutOfCore(query, *FAILURES).batches(paths, record):
        yield rows.set_column(0, "leaf", rows.column("leaf").cast(kind))


@dataclass(frozen=True, slots=True)
class RowsByHash(WrappedSource):
    """A source with its rows, which have no order of their own, in the order of a keyed hash of the key.

    The order in which a query engine returns rows may change when one row goes, or from run to run. The hash
    of a key under a secret drawn for this source is a total order in which no other row has a part: without
    one row, all others come in the same order as before. Equal keys cannot be told apart, so their order does
    not matter: a database that can counts them, and what is sorted are keys with their numbers of events.
    """

    source: Source
    secret: str = field(default_factory=lambda: fresh_key().hex(), repr=False)

    @property
    def _grouped(self) -> Source | None:
        """Equal keys together with their numbers, if a database counts them."""
        return self.source.grouped() if self.columns.weight is None else None

    @property
    def several(self) -> bool:
        """Whether keys have numbers of events beside them."""
        return self.columns.weight is not None or self._grouped is not None

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys sorted, after the first `skip_rows` of them; rows with a null are left out."""
        beside = ", weight" if self.several else ""
        query = f"SELECT key{beside} FROM rows ORDER BY {keyed_hash(self.secret, 'key')}, key"

        def record(batch: Batch) -> pa.RecordBatch:
            if not beside:
                return pa.record_batch({"key": stored(batch.keys)})
            pairs = {"key": stored(batch.keys.field("key")), "weight": batch.keys.field("weight")}
            return pa.record_batch(pairs)

        source = self._grouped or self.source
        for rows in OutOfCore(query, *SORT_FAILURES, KEYS_MEMORY).batches(source, record):
            some = rows.slice(skip_rows)
            skip_rows = max(skip_rows - rows.num_rows, 0)
            if some.num_rows:
                keys = some.column("key").cast(self.columns.counted_type)
                pairs = [some.column("weight"), keys] if beside else []
                batch = pa.StructArray.from_arrays(pairs, ["weight", "key"]) if beside else keys
                yield Batch(batch, len(keys), 0)


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
        numbers = self._users + np.cumsum(changes(users, self._last))
        self._users, self._last = int(numbers[-1]), users[-1]
        return pa.array(numbers, pa.int64())

    def sums(self, by_size: Counts, stay: pa.Array | None) -> Iterator[tuple[pa.Array, Counts]]:
        """Yield keys with the sum of the weights of their users; keys that are not in `stay` are dropped.

        The weight of a user of n keys is `by_size[n - 1]`.
        """
        if self._kind is None:
            return
        kind = self._kind
        attempt(_sentence, self._prepare, by_size, stay)
        for rows in guarded(self._rows(), _sentence):
            yield rows.column("key").cast(kind), rows.column("total").to_numpy()

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
    return DataError(KEPT_TOO_LARGE if out_of_memory(error) else NOT_KEPT)
