"""The different keys of each user, a bounded number of them, in any order: for counting.

Rows are dealt to parts by a hash of their user, so that each part fits into memory, where its users are
brought together. A part that does not fit is sorted by DuckDB, out of core.
Proof: docs/proofs/sources/bounding.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts, Mask
from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import guarded
from hushcount.keys.arrays import changes
from hushcount.secure import fresh_key
from hushcount.sources.duckdb import bounding, dealt
from hushcount.sources.duckdb.dealt import ROOM, DealtPart, DealtRows
from hushcount.sources.duckdb.out_of_core import OutOfCore, Tell, out_of_memory, untold
from hushcount.sources.source import Batch, Source
from hushcount.stores.duckdb import SMALL_MEMORY, connect, keyed_hash

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hushcount.keys.columns import KeyColumns

LARGEST_PART = 96 << 20  # bytes of rows whose users are brought together in memory
Kept = tuple[pa.Array, Counts]


def first_pairs(rows: pa.RecordBatch, largest: int) -> Kept:
    """Return the first `largest` keys of each user, each once, by hash and then by key, with their places.

    All rows of a user are there, in any order.
    """
    users, keys = rows.column("user").dictionary_encode().indices, rows.column("key")
    codes, hashes = users.to_numpy(), rows.column("hash").to_numpy()
    order = by_user_and_hash(codes, hashes)
    starts = _starts((codes, hashes), keys, order)
    if starts is None:  # keys of one user with one hash: one pair of keys in 2^64
        named = pa.table([users, rows.column("hash"), keys], ["user", "hash", "key"])
        order = pc.sort_indices(named, [(name, "ascending") for name in named.column_names]).to_numpy()
        starts = changes(keys.take(pa.array(order)), None)
        starts |= np.diff(codes[order], prepend=-1) != 0
    pairs = order[starts]
    begins = np.diff(codes[pairs], prepend=-1) != 0
    places = bounding.places_of(begins, np.ones(len(pairs), np.bool_), 0)
    few = places <= largest
    return keys.take(pa.array(pairs[few])), places[few]


def _starts(both: tuple[Counts, Counts], keys: pa.Array, order: Counts) -> Mask | None:
    """Return which rows of an order begin a pair of user and hash; None if one pair has different keys."""
    codes, hashes = (each[order] for each in both)
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (codes[1:] != codes[:-1]) | (hashes[1:] != hashes[:-1])
    again = np.flatnonzero(~starts)
    same = pc.equal(keys.take(pa.array(order[again])), keys.take(pa.array(order[again - 1])))
    return starts if pc.all(same, min_count=0).as_py() else None


def by_user_and_hash(codes: Counts, hashes: Counts) -> Counts:
    """Return the order of rows by code and then by hash.

    As many leading bits of the hash as there is room for follow the code in one word, which sorts faster than
    two. Only if two hashes of one code agree in them and not in the others are both compared.
    """
    width = np.uint64(int(codes.max(initial=0)).bit_length())
    words = hashes >> width
    if width:
        words |= codes.astype(np.uint64) << (np.uint64(64) - width)
    order = np.argsort(words)
    words, sorted_hashes = words[order], hashes[order]
    if ((words[1:] == words[:-1]) & (sorted_hashes[1:] != sorted_hashes[:-1])).any():
        return np.lexsort((hashes, codes))
    return order


def bounded_pairs(
    source: Source, largest: int, tell: Tell = untold, memory: str = SMALL_MEMORY, room: int = ROOM
) -> Iterator[Kept]:
    """Yield keys of all users, at most `largest` different ones of each, and the place of each among them.

    They are picked as `bounded_users` picks them, in less time, because users need no order here. Rows
    wait in `room` bytes; parts that are too large are sorted in `memory`; beyond both they are on disk.
    """
    kind = source.columns.counted_type
    with closing(DealtRows(room)) as rows:
        for keys, places in guarded(_kept(source, largest, tell, memory, rows), _sentence):
            yield keys.cast(kind), places


def _kept(source: Source, largest: int, tell: Tell, memory: str, rows: DealtRows) -> Iterator[Kept]:
    """Deal all rows, and yield what is kept of part after part."""
    secret = fresh_key().hex()
    with connect(memory=memory) as connection:
        connection.execute("SET threads = 1")  # batches are too small to share
        for batch in source.batches():
            tell(batch)
            record = bounding.record_of(batch)
            if record.num_rows:  # not all of them without a user or a key
                deal(connection, secret, record, rows)
    for part in rows.parts():
        if part.size <= LARGEST_PART:
            yield first_pairs(part.rows(), largest)
        else:
            sort = OutOfCore(bounding.order_query(secret), *bounding.FAILURES, memory)
            yield from sorted_pairs(sort, PartSource(source, part), largest)


def sorted_pairs(sort: OutOfCore, source: PartSource, largest: int) -> Iterator[Kept]:
    """Yield what is kept of a part that DuckDB sorts."""
    cut = bounding.Cut(bounding.DistinctPairs(largest))
    for rows in sort.batches(source, bounding.record_of):
        _, keys = cut.kept(rows.column("user"), rows.column("key"))
        yield keys, cut.places


@dataclass(frozen=True, slots=True)
class PartSource(Source):
    """The rows of a part, as a source."""

    source: Source
    part: DealtPart

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types."""
        return self.source.columns

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield all rows; nothing can be skipped."""
        for rows in self.part.batches():
            columns = [rows.column("user"), rows.column("key")]
            yield Batch(pa.StructArray.from_arrays(columns, ["user", "key"]), rows.num_rows, 0)


def deal(connection: DuckDBPyConnection, secret: str, rows: pa.RecordBatch, to: DealtRows) -> None:
    """Deal rows by their users, each with the hash of its pair."""
    hashed = connection.from_arrow(rows).query("rows", hashes_query(secret))
    found = hashed.to_arrow_table().combine_chunks()  # type: ignore[union-attr]
    columns = [*rows.columns, found["hash"].chunk(0)]
    named = pa.RecordBatch.from_arrays(columns, ["user", "key", "hash"])
    to.add(named, found["part"].to_numpy())


def hashes_query(secret: str) -> str:
    """Return the query that gives the keyed hash of user and key of each row, and the part of its user."""
    pair, part = keyed_hash(secret, "user", "key"), f'hash("user") % {dealt.PARTS}'
    return f"SELECT {pair} AS hash, CAST({part} AS UTINYINT) AS part FROM rows"


def _sentence(error: Exception) -> HushcountError:
    """Return what is said in place of the words of DuckDB or the system, which may quote the data."""
    return DataError(bounding.FAILURES[0 if out_of_memory(error) or isinstance(error, OSError) else 1])
