"""Public domains as a caller gives them (a range, a list or a file of keys), and sources cut down to one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.files.fingerprint import narrowed
from hushcount.keys.arrays import held_as
from hushcount.keys.domains import KnownKeys, as_domain
from hushcount.sources.open import open_source
from hushcount.sources.source import Batch, WrappedSource

if TYPE_CHECKING:
    from hushcount.keys.columns import KeyColumns
    from hushcount.keys.domains import Domain
    from hushcount.keys.memory import Data
    from hushcount.sources.source import Source

DROPPED = "Keys outside the domain are dropped."
COLUMNAR = (".parquet", ".arrow", ".feather")


def read_domain(value: Data, key_type: str = "auto") -> Domain | None:
    """Return the domain of A..B, of a list of keys, or of a file with one key per line (or one column).

    >>> read_domain("1..6").size
    6
    """
    if value is None:
        return None
    if isinstance(value, os.PathLike) or (isinstance(value, str) and os.path.isfile(value)):
        return _read_file(os.fspath(value), key_type)
    if isinstance(value, str) and ".." not in value:
        raise ParameterError(f"domain must be A..B or a file of keys, got {value}.")
    return as_domain(value)


def _read_file(path: str, key_type: str) -> Domain:
    """Return the domain that a file lists."""
    form = None if Path(path).suffix.lower() in COLUMNAR else "lines"
    source = open_source(path, format=form, key_type=key_type)
    keys = [source.columns.keys([batch.keys]) for batch in source.batches()]
    if not keys:
        raise ParameterError("domain must hold at least one key, got none.")
    return KnownKeys.of(pa.chunked_array(keys))


def check_keys(domain: Domain, columns: KeyColumns) -> None:
    """Raise unless keys of these columns can be in the domain; their types are public."""
    if len(columns.key_names) > 1:
        raise ParameterError(f"domain is for one key column, got {len(columns.key_names)}.")
    if len(columns.types) == 1:
        domain.places(pa.array([], held_as(columns.types[0])))


def readable_type(domain: Domain, key_type: str) -> str:
    """Return how to read keys for a domain, which itself turns text into numbers and drops other text."""
    return "auto" if key_type == "int" and pa.types.is_integer(domain.key_type) else key_type


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
            self.domain.within(pa.array([], columns.types[0]))

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
        batches = self.source.batches(skip_rows)
        try:
            for batch in batches:
                yield replace(batch, keys=self._within(batch.keys))
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close()

    def _within(self, keys: pa.Array) -> pa.Array:
        """Return the keys, or pairs of user and key, that are in the domain."""
        if self.source.columns.user is None:
            return self.domain.within(keys)[0]
        kept, inside = self.domain.within(keys.field("key"))
        return pa.StructArray.from_arrays(
            [keys.field("user").filter(pa.array(inside)), kept], ["user", "key"]
        )
