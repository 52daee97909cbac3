"""The table behind the counter sketches: keys, counts, and the order of their last updates."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Octets, Words
from hushcount.errors import DataError
from hushcount.keys.arrays import ByteKeys, Keys
from hushcount.secure import fresh_key
from hushcount.sketches._kernels import entries as kernels
from hushcount.sketches._kernels import table as layout
from hushcount.sketches._kernels import update

Counts = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.uint32] | Words

LEAST_SLOTS = 256
LEAST_ARENA = 1 << 14
LARGEST_TOTAL = (1 << 39) - 1


@dataclass(frozen=True, slots=True)
class Entries:
    """Tracked keys with their counts, in the order of their last updates."""

    keys: Keys
    counts: Counts

    def __len__(self) -> int:
        return len(self.counts)


class Rule(Enum):
    """What happens to a new key when all counters are in use; EXACT tables grow before that."""

    SPACE_SAVING = layout.SPACE_SAVING
    MISRA_GRIES = layout.MISRA_GRIES
    EXACT = 2


class CounterTable:
    """At most `counters` keys, with at least `spread` places for each."""

    def __init__(self, counters: int, rule: Rule, *, of_bytes: bool, spread: int) -> None:
        slots = max(LEAST_SLOTS, -(-spread * counters // 4) * 4)
        evicts = rule is not Rule.EXACT
        window = int(layout.WINDOW) if evicts else 1
        self.counters = counters
        self.of_bytes = of_bytes
        self._table = layout.Table(
            rows=_zeros(2 * slots),
            passed=np.zeros(slots // 4, np.uint8),
            stacks=_stacks(window, counters) if evicts else np.zeros((1, 1), np.uint32),
            tops=np.zeros(window, np.int64),
            state=_fresh_state(counters, rule),
            refs=np.zeros(slots if of_bytes else 0, np.uint64),
            arena=np.empty(LEAST_ARENA if of_bytes else 0, np.uint8),
        )

    @property
    def used(self) -> int:
        """How many counters are in use."""
        return int(self._table.state[layout.USED])

    @property
    def floor(self) -> int:
        """How often all counters have been decremented (Misra-Gries)."""
        return int(self._table.state[layout.FLOOR])

    @property
    def hash_key(self) -> bytes:
        """The key of the hash that places keys and, for Misra-Gries, ranks them."""
        return bytes(self._table.state[[layout.KEY, layout.ODD]].astype("<u8").tobytes())

    def rewind(self, hash_key: bytes, floor: int) -> None:
        """Give an empty table the hash key and floor of another, before its keys are restored."""
        self._table.state[[layout.KEY, layout.ODD]] = _words_of(hash_key)
        self._table.state[layout.FLOOR] = floor

    def count(self, keys: Keys) -> None:
        """Count keys in their order."""
        if isinstance(keys, ByteKeys):
            self.count_spans(keys.data, keys.offsets[:-1], keys.offsets[1:])
        else:
            update.update_integers(self._table, keys)

    def count_spans(self, data: Octets, begins: Offsets, ends: Offsets) -> None:
        """Count the byte strings data[begins[i] : ends[i]] in their order."""
        if len(ends) and int(ends[-1] - begins[0]) > layout.LONGEST < int((ends - begins).max()):
            raise DataError(f"A key is longer than {layout.LONGEST} bytes; shorten or hash such keys first.")
        done = update.update_bytes(self._table, data, begins, ends, 0)
        while done < len(begins):
            block = slice(done, done + layout.BLOCK)
            lengths = ends[block] - begins[block]
            self._make_room(int(lengths.sum(dtype=np.int64)) + 16 * len(lengths))
            done = update.update_bytes(self._table, data, begins, ends, done)

    def lookup(self, keys: Keys) -> Counts:
        """Counts of keys, 0 for those not tracked."""
        if isinstance(keys, ByteKeys):
            return np.asarray(kernels.lookup_bytes(self._table, keys.data, keys.offsets))
        return np.asarray(kernels.lookup_integers(self._table, keys))

    def entries(self) -> Entries:
        """All tracked keys, least recently updated first."""
        words, places = layout.collect(self._table, np.uint64(0xFFFFFFFFFFFFFFFF))
        counts = (words >> layout.CLOCK_BITS).astype(np.int64)
        if self.of_bytes:
            data, offsets = kernels.gather_bytes(self._table, places)
            return Entries(ByteKeys(data, offsets), counts)
        return Entries(self._table.rows[places] ^ self._table.state[layout.KEY], counts)

    def restore(self, entries: Entries) -> None:
        """Fill an empty table with what `entries` gave."""
        keys, counts = entries.keys, entries.counts.astype(np.uint64)
        if isinstance(keys, ByteKeys):
            self._make_room(int(keys.offsets[-1]) + 16 * len(keys))
            kernels.restore_bytes(self._table, keys.data, keys.offsets, counts)
        else:
            kernels.restore_integers(self._table, keys, counts)

    def _make_room(self, more: int) -> None:
        """Compact the arena, into a larger one if need be, so that `more` bytes fit and as much again."""
        live = kernels.live_bytes(self._table)
        size = LEAST_ARENA
        while size < 2 * live + more:
            size *= 2
        self._table = kernels.compact(self._table, np.empty(size, np.uint8))


def side_by_side(tables: Sequence[CounterTable]) -> layout.Table:
    """Move tables of one size into common arrays, one row a table, which a kernel may walk through."""
    parts = zip(*(table._table for table in tables), strict=True)
    common = layout.Table(*(_rows_of(part) for part in parts))
    for index, table in enumerate(tables):
        table._table = layout.Table(*(part[index] for part in common))
    return common


def _rows_of(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    shape = (len(parts), *parts[0].shape)
    size = len(parts) * parts[0].nbytes
    common = _zeros(-(-size // 8)).view(np.uint8)[:size].view(parts[0].dtype).reshape(shape)
    for row, part in zip(common, parts, strict=True):
        row[...] = part
    return common


def _fresh_state(counters: int, rule: Rule) -> Words:
    state = np.zeros(10, np.uint64)
    state[layout.COUNTERS] = counters
    state[layout.RULE] = rule.value
    state[[layout.KEY, layout.ODD]] = _words_of(fresh_key())
    return state


def _words_of(hash_key: bytes) -> Words:
    words = np.frombuffer(hash_key, "<u8").astype(np.uint64)
    words[1] |= np.uint64(1)
    return words


def _zeros(words: int) -> Words:
    """Zeros that begin on a page, so that a bucket is one cache line; on large pages where there are any."""
    pages = _private_pages(max(8 * words, 1))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint64, words)


def _private_pages(size: int) -> mmap.mmap:
    """Memory of this process alone; by default a fork would write into the table of its parent."""
    if hasattr(mmap, "MAP_ANONYMOUS"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, size)


def _stacks(window: int, counters: int) -> npt.NDArray[np.uint32]:
    words = -(-window * counters // 2)
    return _zeros(words).view(np.uint32)[: window * counters].reshape(window, counters)
