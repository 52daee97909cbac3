"""The hash table behind the counter sketches: keys, their counts, and the order of their last updates.

Layout and invariants of the arrays are described in `_kernels/table.py`; this class owns the arrays, gives
the kernels room, and turns what they keep back into entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Octets, Words
from hushcount.compiled.late import late
from hushcount.keys.arrays import ByteKeys, CodedKeys, Keys, to_kernel
from hushcount.keys.memory import Data, asked_arrays
from hushcount.secure import fresh_key
from hushcount.sketches._kernels import arrays as layout
from hushcount.sketches._kernels.arrays import scratch_size
from hushcount.sketches.tables.few import FewKeys, strings_of
from hushcount.sketches.tables.pages import stacks_of, zeros

kernels = late("hushcount.sketches._kernels.table")
codes = late("hushcount.sketches._kernels.codes")
restoring = late("hushcount.sketches._kernels.restore")
update = late("hushcount.sketches._kernels.update")

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
    """At most `counters` keys, with at least `spread` slots for each.

    The arrays are made, and the kernels loaded, when more rows come than a dictionary counts as fast.
    """

    def __init__(self, counters: int, rule: Rule, *, of_bytes: bool, spread: int) -> None:
        self.rule, self.of_bytes, self.spread = rule, of_bytes, spread
        self._hash_key = fresh_key()
        self.clear(counters)

    def clear(self, counters: int) -> None:
        """Forget all keys, and make room for this many."""
        self.counters = counters
        self._few: FewKeys | None = FewKeys(counters)
        self._made: layout.TableArrays | None = None

    @property
    def _arrays(self) -> layout.TableArrays:
        """The arrays; they take over what was counted without them."""
        if self._made is None:
            self._made = self._new_arrays()
            if self._few is not None and len(self._few):
                self.restore(self._few_entries(self._few))
            self._few = None
        return self._made

    def _new_arrays(self) -> layout.TableArrays:
        """Return the arrays of an empty table."""
        counters, slots = self.counters, _slots(self.counters, self.spread)
        evicts = self.rule is not Rule.EXACT
        window = int(layout.WINDOW) if evicts else 1
        return layout.TableArrays(
            rows=zeros(2 * slots),
            passed=np.zeros(slots // 4, np.uint8),
            stacks=stacks_of(window, counters) if evicts else np.zeros((1, 1), np.uint32),
            tops=np.zeros(window, np.int64),
            state=_fresh_state(counters, self.rule, self._hash_key),
            refs=np.zeros(slots if self.of_bytes else 0, np.uint64),
            arena=np.empty(SMALLEST_ARENA if self.of_bytes else 0, np.uint8),
            scratch=np.empty(scratch_size(counters) if self.rule is Rule.MISRA_GRIES else 0, np.uint32),
        )

    @property
    def used(self) -> int:
        """The number of counters in use."""
        return int(self._arrays.state[layout.USED]) if self._few is None else len(self._few)

    @property
    def decrements(self) -> int:
        """How often all counters have been decremented; only Misra-Gries does so."""
        lowers = self._few is None and self.rule is Rule.MISRA_GRIES
        return int(self._arrays.state[layout.FLOOR]) if lowers else 0

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the table has reserved."""
        return sum(int(array.nbytes) for array in self._made or ())

    def rewind(self, hash_key: bytes, floor: int) -> None:
        """Give an empty table the hash key and floor of another, before its keys are restored."""
        self._hash_key = hash_key
        if floor:
            self._few = None
            self._arrays.state[layout.FLOOR] = floor

    def count(self, keys: Keys, times: Words = ONCE) -> None:
        """Count keys in their order, key i for times[i] events; `check_lengths` has passed them."""
        if isinstance(keys, ByteKeys):
            self.count_spans((keys.data, keys.offsets[:-1], keys.offsets[1:]), times)
        elif self._few is not None and self._few.takes(len(keys)):
            self._few.count(keys.tolist(), times)
        else:
            update.update_integers(self._arrays, keys, times)

    def counts_few(self, rows: int) -> bool:
        """Return whether so many rows more are few enough to be counted without arrays."""
        return self._few is not None and self._few.takes(rows)

    def count_spans(self, spans: Spans, times: Words = ONCE) -> None:
        """Count the byte strings data[begins[i] : ends[i]] in their order."""
        data, begins, ends = spans
        if self._few is not None and self._few.takes(len(begins)):
            self._few.count(strings_of(*spans), times)
            return
        done = update.update_bytes(self._arrays, data, (begins, ends), times, 0)
        while done < len(begins):
            block = slice(done, done + layout.BLOCK)
            self._make_room(_rounded_up(ends[block] - begins[block]))
            done = update.update_bytes(self._arrays, data, (begins, ends), times, done)

    def count_codes(self, keys: CodedKeys) -> None:
        """Count rows in their order; a key that was found is not looked for again until it is evicted."""
        page = (keys.values.data, keys.values.offsets)
        size, slots = len(keys.values), self._arrays.rows.size // 2
        seen = (np.zeros(size, np.uint64), np.zeros(size, np.uint32), np.zeros(slots, np.uint32))
        codes.look_up_page(self._arrays, page, seen)
        done = codes.update_codes(self._arrays, page, keys.codes, seen, 0)
        while done < len(keys):
            block = keys.codes[done : done + layout.BLOCK]
            self._make_room(_rounded_up(np.diff(keys.values.offsets)[block]))
            done = codes.update_codes(self._arrays, page, keys.codes, seen, done)

    def reserve(self, spans: Spans) -> None:
        """Make room for the bytes of all of these keys at once: each of them may find a free counter."""
        _, begins, ends = spans
        more = _rounded_up(ends - begins)
        if self._arrays.arena.size < int(self._arrays.state[layout.TOP]) + more:
            self._make_room(more)

    def lookup(self, keys: Keys) -> Counts:
        """Return the counts of keys, 0 for those not tracked."""
        if self._few is not None:
            if isinstance(keys, ByteKeys):
                return self._few.lookup(strings_of(keys.data, keys.offsets[:-1], keys.offsets[1:]))
            return self._few.lookup(keys.tolist())
        return np.asarray(update.lookup(self._arrays, *self._as_stored(keys)))

    def entries(self) -> Entries:
        """Return all tracked keys, least recently updated first."""
        if self._few is not None:
            return self._few_entries(self._few)
        words, places = kernels.collect(self._arrays, np.uint64(0xFFFFFFFFFFFFFFFF))
        counts = (words >> layout.CLOCK_BITS).astype(np.int64)
        if self.of_bytes:
            data, offsets = kernels.gather_bytes(self._arrays, places)
            return Entries(ByteKeys(data, offsets), counts)
        return Entries(self._arrays.rows[places] ^ self._arrays.state[layout.KEY], counts)

    def _few_entries(self, few: FewKeys) -> Entries:
        """Return the keys of a dictionary with their counts."""
        return Entries(few.keys(self.of_bytes), few.counts())

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
        tracked = int(kernels.live_bytes(self._arrays))
        arena = np.empty(max(SMALLEST_ARENA, 2 * tracked + more), np.uint8)
        self._made = kernels.compact(self._arrays, arena)


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
        table._made = layout.TableArrays(*(array[index] for array in common))
    return common


def _rows_of(arrays: Sequence[npt.NDArray[np.generic]]) -> npt.NDArray[np.generic]:
    """Return one array with these as its rows."""
    shape = (len(arrays), *arrays[0].shape)
    size = len(arrays) * arrays[0].nbytes
    common = zeros(-(-size // 8)).view(np.uint8)[:size].view(arrays[0].dtype).reshape(shape)
    for row, array in zip(common, arrays, strict=True):
        row[...] = array
    return common


def _slots(counters: int, spread: int) -> int:
    """Return the number of slots, whole buckets of four."""
    return max(SMALLEST_SLOTS, -(-spread * counters // 4) * 4)


def _rounded_up(lengths: Offsets) -> int:
    """Return how many bytes of the arena strings of these lengths take."""
    return int((-(-lengths.astype(np.int64) // GRAIN) * GRAIN).sum())


def _fresh_state(counters: int, rule: Rule, hash_key: bytes) -> Words:
    """Return the state of an empty table."""
    state = np.zeros(10, np.uint64)
    state[layout.COUNTERS] = counters
    state[layout.RULE] = rule.value
    state[[layout.KEY, layout.ODD]] = _words_of(hash_key)
    return state


def _words_of(hash_key: bytes) -> Words:
    """Return the two words of a hash key; the second multiplies, so it must be odd."""
    words = np.frombuffer(hash_key, "<u8").astype(np.uint64)
    words[1] |= np.uint64(1)
    return words
