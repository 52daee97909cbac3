"""What all sketches share: bytes, an identity, a lock, a buffer for single keys, counters behind keys."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from threading import RLock
from typing import Concatenate, Generic, ParamSpec, Self, TypeVar

import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.errors import DataError, HushcountError
from hushcount.files import container
from hushcount.files.container import Contents, Fields, type_from_text, type_to_text
from hushcount.keys.arrays import from_kernel, held_as, is_bytes
from hushcount.keys.memory import Data
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.secure import fresh_key
from hushcount.shapes import Public, Shape
from hushcount.sketches.coded.batch import PreparedKeys
from hushcount.sketches.held import check_counts, check_id, check_keys, entries_from, entry_arrays, need
from hushcount.sketches.several import check_room, several
from hushcount.sketches.table import NO_ENTRIES, ONCE, CounterTable, Entries, looked_up
from hushcount.sketches.tables.packed import packed, unpacked

BUFFER = 4096

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_Locked = TypeVar("_Locked", bound="SavedSketch")
Batch = TypeVar("Batch")


def alone(
    method: Callable[Concatenate[_Locked, _Given], _Answer],
) -> Callable[Concatenate[_Locked, _Given], _Answer]:
    """Let one thread at a time into the methods of a sketch: kernels trust that nobody else writes."""

    @wraps(method)
    def guarded(self: _Locked, /, *args: _Given.args, **named: _Given.kwargs) -> _Answer:
        with self.lock:
            return method(self, *args, **named)

    return guarded


class SavedSketch(ABC):
    """A sketch that can be written and read again, and that threads may share."""

    id: str
    unit: PrivacyUnit = EVENT  # what one row of its source stands for

    def __init__(self) -> None:
        self.lock = RLock()

    @property
    @abstractmethod
    def total(self) -> int:
        """The number of keys counted so far: raw data."""

    @property
    @abstractmethod
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys; None before the first."""

    @property
    @abstractmethod
    def error_bound(self) -> int:
        """How far estimates may lie from the truth."""

    @abstractmethod
    def update(self, keys: Data) -> None:
        """Count a batch of keys in its order, or none of them if one cannot be counted."""

    @abstractmethod
    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""

    @abstractmethod
    def shape(self) -> Shape:
        """Return the summary that a mechanism may see."""

    @abstractmethod
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""

    @classmethod
    @abstractmethod
    def from_contents(cls, contents: Contents) -> Self:
        """Return the sketch that `contents` described, or raise if it describes none."""

    def to_bytes(self, position: Fields | None = None) -> bytes:
        """Return the bytes that `save` writes; `position` is how far a run has read its source."""
        return container.encode(replace(self.contents(), position=position))

    def save(self, path: str | os.PathLike[str], position: Fields | None = None) -> None:
        """Write the sketch, which is raw data, whole or not at all; only its owner may read the file."""
        container.write(path, replace(self.contents(), position=position))

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        """Copy and pickle a sketch by its bytes."""
        from hushcount.sketches.kinds import load

        return load, (self.to_bytes(),)


class BufferedSketch(SavedSketch, Generic[Batch]):
    """A sketch to which keys can be added one by one; they are counted in batches of 4,096.

    `add` takes no lock: appending to a list is one step for Python. Whoever counts the buffer holds the lock
    and takes away only what it has seen, so a key that is added meanwhile stays for the next batch.
    """

    def __init__(self) -> None:
        super().__init__()
        self._buffer: list[object] = []
        self._buffered: type | None = None
        self._total = 0
        self._key_type: pa.DataType | None = None

    @property
    def total(self) -> int:
        """The number of keys counted, or the sum of their weights."""
        self.flush()
        return self._total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys; None before the first."""
        self.flush()
        return self._key_type

    def add(self, key: object) -> None:
        """Count one key. Keys are buffered and counted in batches of 4,096.

        `key` is text, a whole number, bytes, a date or a time, as the others are; None is ignored. A key that
        cannot be counted is left out and reported once, at the latest by the next call that needs the counts;
        that call does nothing else, and can be repeated. All other keys are counted.
        """
        if type(key) is not self._buffered:
            self._add_other(key)
            return
        self._buffer.append(key)
        if len(self._buffer) >= BUFFER:
            self.flush()

    @alone
    def flush(self) -> None:
        """Count the keys that were added one by one."""
        waiting = self._buffer[:]
        del self._buffer[: len(waiting)]
        if not waiting:
            return
        refusal: HushcountError | None = None
        try:
            batch = self.prepared(waiting)
        except HushcountError:
            good, refusal = self._countable(waiting)
            batch = self.prepared(good)
        self.count(batch)
        if refusal is not None:
            raise refusal

    @abstractmethod
    def prepared(self, keys: Data) -> Batch:
        """Return a batch ready to be counted, or raise; the sketch does not change."""

    @abstractmethod
    def count(self, batch: Batch) -> None:
        """Count a batch that `prepared` has returned."""

    @alone
    def _add_other(self, key: object) -> None:
        """Count a key of another type than the one before at once, so that it is refused at once."""
        if key is None:
            return
        try:
            self.flush()
        finally:
            self.count(self.prepared([key]))
            self._buffered = type(key)

    def _countable(self, keys: Sequence[object]) -> tuple[list[object], HushcountError | None]:
        """Return the keys that can be counted, and the error of the last that cannot."""
        try:
            self.prepared(keys)
            return list(keys), None
        except HushcountError as error:
            if len(keys) == 1:
                return [], error
        half = len(keys) // 2
        first, refusal = self._countable(keys[:half])
        second, later = self._countable(keys[half:])
        return first + second, later or refusal


class CounterSketch(BufferedSketch[PreparedKeys]):
    """Counts keys in their order; the table is made when the type of the keys is known."""

    def __init__(self) -> None:
        super().__init__()
        self.id = fresh_key().hex()
        self._table: CounterTable | None = None

    @abstractmethod
    def _new_table(self, of_bytes: bool) -> CounterTable:
        """Return an empty table for byte strings, or for words of 64 bits."""

    @alone
    def update(self, keys: Data, *, times: npt.ArrayLike | None = None) -> None:
        """Count a batch of keys in its order, or none of them if one cannot be counted.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of one type. Nulls are ignored. An iterable must fit in memory.
        times : array or iterable of int, optional
            How many consecutive events each key stands for, 1 by default; no key may then be null.
        """
        self.flush()
        some, numbers = (keys, ONCE) if times is None else several(keys, times, self._total)
        self.count(self.prepared(some)._replace(times=numbers))

    @alone
    def estimate(self, keys: Data) -> Counts:
        """Return the counts of keys, 0 for those not tracked.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys to look up; none may be null.
        """
        self.flush()
        return looked_up(keys, self._key_type, lambda some: self.open(self._key_type).lookup(some))

    def prepared(self, keys: Data) -> PreparedKeys:
        """Return a batch ready to be counted, or raise; the sketch does not change."""
        batch = PreparedKeys.of(keys, self._key_type)
        check_room(self._total, batch.rows)
        return batch

    def count(self, batch: PreparedKeys) -> None:
        """Count a batch that `prepared` has returned."""
        if batch.kind is None:
            return
        batch.count_in(self.open(batch.kind))
        self.counted(batch.events)

    def counted(self, events: int) -> None:
        """Take note of events that a kernel has counted in the table."""
        self._total += events

    def open(self, kind: pa.DataType) -> CounterTable:
        """Return the table, made for keys of this type if there is none yet."""
        if self._table is None:
            self._key_type = held_as(kind)
            self._table = self._new_table(is_bytes(self._key_type))
        return self._table

    def entries(self) -> Entries:
        """Return all tracked keys with their counts; raise if the counts do not add up to the total."""
        self.flush()
        if self._table is None:
            return NO_ENTRIES
        entries = self._table.entries()
        if int(entries.counts.sum()) + self._table.decrements != self._total:
            raise DataError(
                "The counters of this sketch do not add up to the number of events, so it cannot be used;"
                " count the data again with a new one."
            )
        return entries

    def key_array(self, entries: Entries) -> pa.Array:
        """Return the keys of entries in their own type."""
        kind = self._key_type or pa.string()
        return from_kernel(entries.keys, kind) if len(entries) else pa.array([], kind)

    def _saved_as(self, kind: str, **fields: object) -> Contents:
        """Return what is written of a sketch: its own fields and those of all counter sketches."""
        entries = self.entries()
        common = {"id": self.id, "total": self._total, "key_type": type_to_text(self._key_type)}
        return Contents(kind, {**common, **fields}, packed(entry_arrays(entries)))

    def _restore(self, contents: Contents, floor: int = 0) -> None:
        """Fill a new sketch with what was written; raise ValueError if it describes none."""
        fields, entries = contents.fields, entries_from(unpacked(contents.arrays))
        kind = type_from_text(fields["key_type"])
        check_counts(fields, entries, kind, floor)
        self.id = check_id(fields["id"])
        self._total = fields["total"]
        if kind is not None:
            check_keys(entries.keys, kind)
            table = self.open(kind)
            table.restore(entries)
            need("keys", len(table.entries()) == len(entries))  # else the file lists a key twice
