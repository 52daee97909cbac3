"""Sources made of another one: rows of a window of time, of a public domain, and those kept of each user."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import cast

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.files.fingerprint import narrowed
from hushcount.keys.arrays import held_as
from hushcount.keys.columns import KeyColumns
from hushcount.keys.domains import Domain, KnownKeys, within
from hushcount.keys.numbers import EventNumbers
from hushcount.keys.times import TimeColumn
from hushcount.keys.weights import WeightColumn
from hushcount.privacy import EVENT, USER, PrivacyUnit
from hushcount.sources.duckdb.bounding import DistinctPairs, PlacedPairs, UserBound, bounded_users
from hushcount.sources.duckdb.pairs import bounded_pairs
from hushcount.sources.source import Batch, Source, unit_note

DROPPED = "Keys outside the domain are dropped."
Progress = Callable[[int, int | None], None]


class WrappedSource(Source):
    """A source made of another: whatever a subclass does not change is that of `source`."""

    __slots__ = ()
    source: Source

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types."""
        return self.source.columns

    @property
    def unit(self) -> PrivacyUnit:
        """What one row is."""
        return self.source.unit

    @property
    def size(self) -> int | None:
        """Bytes in all, when known."""
        return self.source.size

    @property
    def fingerprint(self) -> str:
        """Identifies the source for a checkpoint; empty when it cannot be read a second time."""
        return self.source.fingerprint

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the files that are read."""
        return self.source.inputs

    @property
    def is_pipe(self) -> bool:
        """Whether rows come from a pipe, and are gone when they have been read."""
        return self.source.is_pipe

    @property
    def state(self) -> dict[str, str]:
        """What `open_source` must be given to continue in the same order."""
        return self.source.state

    @property
    def notes(self) -> tuple[str, ...]:
        """Public sentences about how rows become events."""
        return self.source.notes

    @property
    def several(self) -> bool:
        """Whether batches are pairs of a number of events and their key."""
        return self.source.several

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys in order, after the first `skip_rows` rows."""
        return self.source.batches(skip_rows)


@dataclass(frozen=True, slots=True)
class WindowedSource(WrappedSource):
    """A source whose columns drop the rows outside a window; nothing else of it shows the time column."""

    source: Source
    times: TimeColumn
    words: str

    @property
    def columns(self) -> KeyColumns:
        """The key columns, without that of the times."""
        return self.source.columns.without_time()

    @property
    def fingerprint(self) -> str:
        """Identifies these rows; empty when the source cannot be read a second time."""
        return narrowed(self.source.fingerprint, self.times.condition)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say which rows are counted."""
        counted = f"Only rows of the window {self.words} are counted, by {self.times.name}."
        return (*self.source.notes, counted)


@dataclass(frozen=True, slots=True)
class WeighedSource(WrappedSource):
    """A source whose batches are pairs of weight and key, or of a number of events and their key."""

    source: Source
    weight: WeightColumn | EventNumbers

    @property
    def unit(self) -> PrivacyUnit:
        """One row, which changes a count by as much as its weight may be, or one of its events."""
        if isinstance(self.weight, EventNumbers):
            return EVENT
        return replace(self.source.unit, weight=self.weight.change)

    @property
    def columns(self) -> KeyColumns:
        """The key columns, without that of the weights."""
        return self.source.columns.without_weight()

    @property
    def several(self) -> bool:
        """Whether the numbers beside the keys are those of events."""
        return isinstance(self.weight, EventNumbers)

    @property
    def fingerprint(self) -> str:
        """Identifies these rows and weights; empty when the source cannot be read a second time."""
        return narrowed(self.source.fingerprint, self.weight.condition)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say how much a row counts, or what it stands for if it is not the unit."""
        others = self.source.notes
        if isinstance(self.weight, EventNumbers):
            others = tuple(note for note in others if note != unit_note(self.source.unit))
        return (*others, self.weight.note)


@dataclass(frozen=True, slots=True)
class SourceInDomain(WrappedSource):
    """A source without the rows whose key is not in a public domain.

    Whether a row is dropped, and the key that it gets in the type of the domain, depends on this row alone:
    neighbouring data stay neighbours, and the other rows keep their order. Dropped rows are not reported,
    because their number depends on the data.
    """

    source: Source
    domain: Domain

    def __post_init__(self) -> None:
        columns = self.source.columns
        if len(columns.key_names) > 1:
            raise ParameterError(f"domain is for one key column, got {len(columns.key_names)}.")
        if columns.types:
            within(self.domain, pa.array([], columns.types[0]))

    @property
    def columns(self) -> KeyColumns:
        """The columns; the key has the type of the domain."""
        columns = self.source.columns
        return replace(columns, types=(self.domain.key_type, *columns.types[1:]), inferred=())

    @property
    def fingerprint(self) -> str:
        """That of the source and the domain; empty when the source cannot be read a second time."""
        named = repr(self.domain) if not isinstance(self.domain, KnownKeys) else self.domain.digest
        return narrowed(self.source.fingerprint, named)

    @property
    def notes(self) -> tuple[str, ...]:
        """Public sentences about how rows become events."""
        return (*self.source.notes, DROPPED)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the batches of the source, each without the keys outside; closing it closes the source."""
        with closing(cast("Generator[Batch]", self.source.batches(skip_rows))) as batches:
            for batch in batches:
                yield replace(batch, keys=self._within(batch.keys))

    def _within(self, keys: pa.Array) -> pa.Array:
        """Return the keys, or pairs of a user or a number and a key, that are in the domain."""
        if not pa.types.is_struct(keys.type):
            return within(self.domain, keys)[0]
        beside = keys.type.field(0).name
        kept, inside = within(self.domain, keys.field("key"))
        return pa.StructArray.from_arrays(
            [keys.field(beside).filter(pa.array(inside)), kept], [beside, "key"]
        )


@dataclass(frozen=True, slots=True)
class BoundedSource(WrappedSource):
    """The rows of a source that has a user column, at most `bound.largest` of each user, users together.

    `with_users` keeps the user beside each key, as structs, for sketches that count users themselves.
    `progress(done, size)` is called with numbers of bytes while the rows are read and sorted. Rows that need
    not be `ordered`, because nothing depends on their order, come in less time.
    """

    source: Source
    bound: UserBound
    with_users: bool = False
    progress: Progress | None = None
    ordered: bool = True

    @property
    def unit(self) -> PrivacyUnit:
        """One user, with all rows that are kept."""
        return replace(USER, rows=self.bound.largest)

    @property
    def columns(self) -> KeyColumns:
        """The key columns, without the user's."""
        return self.source.columns.without_user()

    @property
    def fingerprint(self) -> str:
        """Nothing: the order of users is drawn anew, so a stopped run cannot be continued."""
        return ""

    @property
    def is_pipe(self) -> bool:
        """No: rows are sorted by user first, so none is counted before the last one came."""
        return False

    @property
    def state(self) -> dict[str, str]:
        """Nothing that another run could continue from."""
        return {}

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the rows that are kept, users together; nothing can be skipped."""
        read = 0

        def tell(batch: Batch) -> None:
            nonlocal read
            read = batch.bytes_read
            if self.progress is not None:
                self.progress(read, self.size)

        for rows in self._rows(tell):
            yield Batch(rows, len(rows), read)

    def _rows(self, tell: Callable[[Batch], None]) -> Iterator[pa.Array]:
        """Yield keys, or structs of a key with its user or with its place among the keys of the user."""
        if not (self.ordered or self.with_users) and isinstance(self.bound, DistinctPairs):
            placed = isinstance(self.bound, PlacedPairs)
            for keys, places in bounded_pairs(self.source, self.bound.largest, tell):
                yield pa.StructArray.from_arrays([keys, places], ["key", "place"]) if placed else keys
            return
        for users, keys in bounded_users(self.source, self.bound, tell):
            yield pa.StructArray.from_arrays([users, keys], ["user", "key"]) if self.with_users else keys


def check_keys(domain: Domain, columns: KeyColumns) -> None:
    """Raise unless keys of these columns can be in the domain; their types are public."""
    if len(columns.key_names) > 1:
        raise ParameterError(f"domain is for one key column, got {len(columns.key_names)}.")
    if len(columns.types) == 1:
        domain.places(pa.array([], held_as(columns.types[0])))


def readable_type(domain: Domain, key_type: str) -> str:
    """Return how to read keys for a domain, which itself turns text into numbers and drops other text."""
    return "auto" if key_type == "int" and pa.types.is_integer(domain.key_type) else key_type
