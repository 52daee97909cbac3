"""The hash table behind the counter sketches: keys, their counts, and the order of their last updates.

Layout and invariants of the arrays are described in `_kernels/table.py`; this class owns the arrays, gives
the kernels room, and turns what they keep back into entries.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Octets, Words
from hushcount.keys.arrays import ByteKeys, Keys, to_kernel
from hushcount.keys.memory import Data, asked_arrays
from hushcount.secure import fresh_key
from hushcount.sketches._kernels import codes as kernels
from hushcount.sketches._kernels import restore as restoring
from hushcount.sketches._kernels import table as layout
from hushcount.sketches._kernels import update
from hushcount.sketches._kernels.eviction import scratch_size

Offsets = npt.NDArray[np.uint32] | Words
Spans = tuple[Octets, Offsets, Offsets]  # bytes, and where each string begins and ends

SMALLEST_SLOTS = 256
SMALLEST_ARENA = 1 << 14
LARGEST_TOTAL = (1 << 39) - 1
GRAIN = int(layout.GRAIN) + 1


ONCE: Words = np.zeros(0, np.uint64)  # no times: every key is one event


@dataclass(frozen=True, slots=True)
class Entries:
    """Tracked keys with their counts, in the order of their last updates."""

    keys: Keys
    counts: Counts

    def __len__(self) -> int:
        return len(self.counts)


NO_ENTRIES = Entries(np.zeros(0, np.uint64), np.zeros(0, np.int64))


def looked_up(keys: Data, kind: pa.DataType | None, answer: Callable[[Keys], Counts]) -> Counts:
    """Return what `answer` gives for keys that are asked for; 0 for all while no key has a type."""
    arrays = list(asked_arrays(keys))
    if kind is None:
        return np.zeros(sum(map(len, arrays)), np.int64)
    return np.concatenate([np.zeros(0, np.int64), *(answer(to_kernel(array, kind)) for array in arrays)])


class Rule(Enum):
    """What happens to a new key when all counters are in use; EXACT tables grow before that."""

    SPACE_SAVING = layout.SPACE_SAVING
    MISRA_GRIES = layout.MISRA_GRIES
    EXACT = 2


class CounterTable:
    """At most `counters` keys, with at least `spread` slots for each."""

    def __init__(self, counters: int, rule: Rule, *, of_bytes: bool, spread: int) -> None:
        self.rule, self.of_bytes, self.spread = rule, of_bytes, spread
        self.patience = 0  # batches by code that are not asked about, after one had no room
        self.clear(counters)

    def clear(self, counters: int) -> None:
        """Forget all keys, and make room for this many."""
        slots = _slots(counters, self.spread)
        evicts = self.rule is not Rule.EXACT
        window = int(layout.WINDOW) if evicts else 1
        self.counters = counters
        self._arrays = layout.TableArrays(
            rows=_zeros(2 * slots),
            passed=np.zeros(slots // 4, np.uint8),
            stacks=_stacks(window, counters) if evicts else np.zeros((1, 1), np.uint32),
            tops=np.zeros(window, np.int64),
            state=_fresh_state(counters, self.rule),
            refs=np.zeros(slots if self.of_bytes else 0, np.uint64),
            arena=np.empty(SMALLEST_ARENA if self.of_bytes else 0, np.uint8),
            scratch=np.empty(scratch_size(counters) if self.rule is Rule.MISRA_GRIES else 0, np.uint32),
        )

    @property
    def used(self) -> int:
        """The number of counters in use."""
        return int(self._arrays.state[layout.USED])

    @property
    def decrements(self) -> int:
        """How often all counters have been decremented; only Misra-Gries does so."""
        return int(self._arrays.state[layout.FLOOR]) if self.rule is Rule.MISRA_GRIES else 0

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the table has reserved."""
        return sum(int(array.nbytes) for array in self._arrays)

    def rewind(self, hash_key: bytes, floor: int) -> None:
        """Give an empty table the hash key and floor of another, before its keys are restored."""
        self._arrays.state[[layout.KEY, layout.ODD]] = _words_of(hash_key)
        self._arrays.state[layout.FLOOR] = floor

    def count(self, keys: Keys, times: Words = ONCE) -> None:
        """Count keys in their order, key i for times[i] events; `check_lengths` has passed them."""
        if isinstance(keys, ByteKeys):
            self.count_spans((keys.data, keys.offsets[:-1], keys.offsets[1:]), times)
        else:
            update.update_integers(self._arrays, keys, times)

    def count_spans(self, spans: Spans, times: Words = ONCE) -> None:
        """Count the byte strings data[begins[i] : ends[i]] in their order."""
        data, begins, ends = spans
        done = update.update_bytes(self._arrays, data, (begins, ends), times, 0)
        while done < len(begins):
            block = slice(done, done + layout.BLOCK)
            self._make_room(_rounded_up(ends[block] - begins[block]))
            done = update.update_bytes(self._arrays, data, (begins, ends), times, done)

    def has_room(self, spans: Spans) -> bool:
        """Return whether all keys of a batch have a counter, or find a free one: none can evict another."""
        data, begins, ends = spans
        free = self.counters - self.used
        return len(begins) <= free or bool(kernels.all_have_room(self._arrays, data, begins, ends, free))

    def reserve(self, spans: Spans) -> None:
        """Make room for all of these keys at once, if all of them find a free counter."""
        _, begins, ends = spans
        more = _rounded_up(ends - begins)
        if (
            len(begins) <= self.counters - self.used
            and self._arrays.arena.size < int(self._arrays.state[layout.TOP]) + more
        ):
            self._make_room(more)

    def lookup(self, keys: Keys) -> Counts:
        """Return the counts of keys, 0 for those not tracked."""
        return np.asarray(update.lookup(self._arrays, *self._as_stored(keys)))

    def entries(self) -> Entries:
        """Return all tracked keys, least recently updated first."""
        words, places = layout.collect(self._arrays, np.uint64(0xFFFFFFFFFFFFFFFF))
        counts = (words >> layout.CLOCK_BITS).astype(np.int64)
        if self.of_bytes:
            data, offsets = layout.gather_bytes(self._arrays, places)
            return Entries(ByteKeys(data, offsets), counts)
        return Entries(self._arrays.rows[places] ^ self._arrays.state[layout.KEY], counts)

    def restore(self, entries: Entries) -> None:
        """Fill an empty table with what `entries` gave."""
        keys, data, offsets = self._as_stored(entries.keys)
        if self.of_bytes:
            self._make_room(_rounded_up(np.diff(offsets)))
        restoring.restore(self._arrays, keys, data, offsets, entries.counts.astype(np.uint64))

    def _as_stored(self, keys: Keys) -> tuple[Words, Octets, Offsets]:
        """Return the 64-bit keys of the table, and the bytes for which they stand, none for integers."""
        if isinstance(keys, ByteKeys):
            return update.hashes(self._arrays, keys.data, keys.offsets), keys.data, keys.offsets
        masked = keys ^ self._arrays.state[layout.KEY]
        return masked, np.empty(0, np.uint8), np.zeros(len(keys) + 1, np.uint64)

    def _make_room(self, more: int) -> None:
        """Move the bytes of tracked keys to the front of a new arena that has room for `more` bytes.

        It is twice as large as what is tracked, so that at least as many bytes are stored before the next
        move as this one copies.
        """
        tracked = int(layout.live_bytes(self._arrays))
        arena = np.empty(max(SMALLEST_ARENA, 2 * tracked + more), np.uint8)
        self._arrays = layout.compact(self._arrays, arena)


def memory_bound(counters: int, spread: int, max_key_bytes: int) -> int:
    """Return the most bytes that a table can reserve; `max_key_bytes` 0 stands for keys of 64 bits.

    While the bytes of keys are moved there are two arenas.
    """
    slots = _slots(counters, spread)
    sorting = 24 * counters + 4 * scratch_size(counters)  # while a window is opened, and after decrements
    fixed = 16 * slots + slots // 4 + 4 * int(layout.WINDOW) * counters + sorting + (1 << 12)
    if not max_key_bytes:
        return fixed
    key = -(-max_key_bytes // GRAIN) * GRAIN
    arena = max(SMALLEST_ARENA, (2 * counters + layout.BLOCK) * key)
    return fixed + 8 * slots + 2 * arena


def side_by_side(tables: Sequence[CounterTable]) -> layout.TableArrays:
    """Move tables of one size into common arrays, one row for each table, so that a kernel can visit all."""
    common = layout.TableArrays(*map(_rows_of, zip(*(table._arrays for table in tables), strict=True)))
    for index, table in enumerate(tables):
        table._arrays = layout.TableArrays(*(array[index] for array in common))
    return common


def _rows_of(arrays: Sequence[npt.NDArray[np.generic]]) -> npt.NDArray[np.generic]:
    """Return one array with these as its rows."""
    shape = (len(arrays), *arrays[0].shape)
    size = len(arrays) * arrays[0].nbytes
    common = _zeros(-(-size // 8)).view(np.uint8)[:size].view(arrays[0].dtype).reshape(shape)
    for row, array in zip(common, arrays, strict=True):
        row[...] = array
    return common


def _slots(counters: int, spread: int) -> int:
    """Return the number of slots, whole buckets of four."""
    return max(SMALLEST_SLOTS, -(-spread * counters // 4) * 4)


def _rounded_up(lengths: Offsets) -> int:
    """Return how many bytes of the arena strings of these lengths take."""
    return int((-(-lengths.astype(np.int64) // GRAIN) * GRAIN).sum())


def _fresh_state(counters: int, rule: Rule) -> Words:
    """Return the state of an empty table with a random hash key."""
    state = np.zeros(10, np.uint64)
    state[layout.COUNTERS] = counters
    state[layout.RULE] = rule.value
    state[[layout.KEY, layout.ODD]] = _words_of(fresh_key())
    return state


def _words_of(hash_key: bytes) -> Words:
    """Return the two words of a hash key; the second multiplies, so it must be odd."""
    words = np.frombuffer(hash_key, "<u8").astype(np.uint64)
    words[1] |= np.uint64(1)
    return words


def _zeros(words: int) -> Words:
    """Return zeros that begin on a page, so that a bucket is one cache line; on large pages if possible."""
    pages = _private_pages(max(8 * words, 1))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint64, words)


def _private_pages(size: int) -> mmap.mmap:
    """Return memory of this process alone; by default a fork would write into the table of its parent."""
    if hasattr(mmap, "MAP_ANONYMOUS"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, size)


def _stacks(window: int, counters: int) -> npt.NDArray[np.uint32]:
    """Return a stack for each count of the window, each with room for all counters."""
    words = -(-window * counters // 2)
    return _zeros(words).view(np.uint32)[: window * counters].reshape(window, counters)
