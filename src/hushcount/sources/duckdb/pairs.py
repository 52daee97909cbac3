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

from hushcount.compiled.arrays import Counts, Words
from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import guarded
from hushcount.sources.duckdb import bounding, dealt
from hushcount.sources.duckdb.bounding import Cut, DistinctPairs, PairHash
from hushcount.sources.duckdb.dealt import ROOM, DealtPart, DealtRows
from hushcount.sources.duckdb.out_of_core import OutOfCore, Tell, out_of_memory, untold
from hushcount.sources.source import Batch, Source
from hushcount.stores.duckdb import SMALL_MEMORY

if TYPE_CHECKING:
    from hushcount.keys.columns import KeyColumns

LARGEST_PART = 96 << 20  # bytes of rows whose users are brought together in memory
Kept = tuple[pa.Array, Counts]


def first_pairs(rows: pa.RecordBatch, largest: int) -> Kept:
    """Return the first `largest` keys of each user, each once, by hash and then by key, with their places.

    All rows of a user are there, in any order.
    """
    from hushcount.sources.duckdb._kernels.pairs import first_rows

    users, keys = rows.column("user").dictionary_encode().indices, rows.column("key")
    codes, hashes = users.to_numpy(), rows.column("hash").to_numpy()
    order = by_user_and_hash(codes, hashes)
    kept, places, again, before, in_order = first_rows(order, codes, hashes, largest)
    same = pc.equal(keys.take(pa.array(again)), keys.take(pa.array(before)))
    if in_order and pc.all(same, min_count=0).as_py():
        return keys.take(pa.array(kept)), places
    return _first_of_sorted(pa.table([users, rows.column("hash"), keys], ["user", "hash", "key"]), largest)


def _first_of_sorted(rows: pa.Table, largest: int) -> Kept:
    """Return the same of keys of one user with one hash: one pair of keys in 2^64."""
    cut, ordered = (
        Cut(DistinctPairs(largest)),
        rows.sort_by([(name, "ascending") for name in rows.column_names]),
    )
    users, _, keys = ordered.combine_chunks().to_batches()[0].columns
    return cut.kept(users, keys)[1], cut.places


def by_user_and_hash(codes: Counts, hashes: Words) -> Counts:
    """Return the order of rows by code and then by hash, or nearly so.

    As many leading bits of the hash as there is room for follow the code in one word, which sorts faster than
    two. The others are not compared.
    """
    width = np.uint64(int(codes.max(initial=0)).bit_length())
    words = hashes >> width
    if width:
        words |= codes.astype(np.uint64) << (np.uint64(64) - width)
    return np.argsort(words)


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
    hashing = PairHash()
    for batch in source.batches():
        tell(batch)
        if len(batch.keys):  # not all of them without a user or a key
            deal(hashing.record_of(batch), rows)
    for part in rows.parts():
        if part.size <= LARGEST_PART:
            yield first_pairs(part.rows(), largest)
        else:
            sort = OutOfCore(bounding.ORDER_QUERY, *bounding.FAILURES, memory)
            yield from sorted_pairs(sort, PartSource(source, part), hashing, largest)


def sorted_pairs(sort: OutOfCore, source: PartSource, hashing: PairHash, largest: int) -> Iterator[Kept]:
    """Yield what is kept of a part that DuckDB sorts."""
    cut = Cut(DistinctPairs(largest))
    for rows in sort.batches(source, hashing.record_of):
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


def deal(rows: pa.RecordBatch, to: DealtRows) -> None:
    """Deal rows by their users, each with the hash of its pair."""
    from hushcount.sources.duckdb._kernels.pairs import parts_of

    to.add(rows.select(["user", "key", "hash"]), parts_of(rows.column("user_hash").to_numpy(), dealt.PARTS))


def _sentence(error: Exception) -> HushcountError:
    """Return what is said in place of the words of DuckDB or the system, which may quote the data."""
    return DataError(bounding.FAILURES[0 if out_of_memory(error) or isinstance(error, OSError) else 1])
