"""Rows of a query in a database, as they come, or in the order of a keyed hash of the key.

Equal keys are counted by the database itself where exact counts are asked for, so that few rows travel.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.files.failures import attempt, guarded
from hushcount.keys.columns import KeyColumns
from hushcount.keys.memory import Data
from hushcount.privacy import RESULT_ROW, PrivacyUnit
from hushcount.sources.formats.registry import Piece, after
from hushcount.sources.read_ahead import read_ahead
from hushcount.sources.source import Batch, Source, unit_note
from hushcount.stores.database import is_server
from hushcount.stores.reading import QueryReader, is_connection, of_query, open_reader

NUMBER = "hushcount_number"  # the column of how many rows have a key
QUERY_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class DatabaseSource(Source):
    """Rows of a query's result, in the order in which the database returns them.

    That order is no property of the data, so this is for counting that does not depend on it; `RowsByHash`
    sorts the rows for all other. `fields` are the columns of the query as the database declares them.
    """

    reader: QueryReader = field(repr=False)
    query: str
    columns: KeyColumns = field()  # it takes the place of the property of a source, which is no default
    fields: tuple[pa.Field, ...] = ()

    @property
    def unit(self) -> PrivacyUnit:
        """One row of the result is one event."""
        return RESULT_ROW

    @property
    def arriving(self) -> tuple[pa.DataType, ...]:
        """The types in which the columns arrive, whatever the keys are read as."""
        return tuple(_read_as(each.type) for each in self.fields)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The file of the database, if it is one."""
        return self.reader.files

    @property
    def notes(self) -> tuple[str, ...]:
        """What the unit is, and what happens to nulls."""
        return (unit_note(RESULT_ROW), *self.columns.notes)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Run the query, of the columns that are counted alone."""
        asked = ", ".join(map(self.reader.value, self.fields))
        pieces = after(self._pieces(of_query(asked, self.query), self.arriving), skip_rows)
        return self._ahead(self._keyed(pieces))

    def grouped(self) -> Source | None:
        """Return the keys with how often they occur, counted by the database; None if it could not tell."""
        columns = self.columns
        if columns.user or columns.weight or columns.times or columns.padded:
            return None  # rows of which more is known than their key
        groups = [group for each in self.fields if (group := self.reader.group(each)) is not None]
        return _CountedSource(self, tuple(groups)) if len(groups) == len(self.fields) else None

    def _keyed(self, pieces: Iterator[Piece]) -> Iterator[Batch]:
        for piece in pieces:
            for keys, rows in self.columns.parts(piece.columns or ()):
                yield Batch(keys, rows, 0)

    def _ahead(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        return read_ahead(batches, cancel=self.reader.cancel, patience=QUERY_PATIENCE)

    def _pieces(self, query: str, types: Sequence[pa.DataType]) -> Iterator[Piece]:
        for batch in guarded(self.reader.batches(query, types), self.reader.failure):
            yield Piece(batch.columns, batch.num_rows, 0)


@dataclass(frozen=True, slots=True)
class _CountedSource(Source):
    """Pairs of weight and key, where the weight is the number of rows that have the key."""

    source: DatabaseSource
    groups: tuple[str, ...]

    @property
    def columns(self) -> KeyColumns:
        """The key columns with their types."""
        return self.source.columns

    @property
    def unit(self) -> PrivacyUnit:
        """One row of the result is one event."""
        return RESULT_ROW

    @property
    def several(self) -> bool:
        """Every key has the number of its rows beside it."""
        return True

    @property
    def inputs(self) -> tuple[str, ...]:
        """The file of the database, if it is one."""
        return self.source.inputs

    @property
    def notes(self) -> tuple[str, ...]:
        """What the unit is, and what happens to nulls."""
        return self.source.notes

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Run the query; nothing can be skipped."""
        return self.source._ahead(self._pairs())

    def _pairs(self) -> Iterator[Batch]:
        """Yield the pairs: the number stands where a user would, which drops it with a key that is none."""
        source, known = self.source, self.columns
        asked = ", ".join(f"{group} AS k{place}" for place, group in enumerate(self.groups))
        by = ", ".join(str(place + 1) for place in range(len(self.groups)))
        query = of_query(f"{asked}, count(*) AS {NUMBER}", source.query, f" GROUP BY {by}")
        types = (*source.arriving, pa.int64())
        columns = KeyColumns.with_user(known, NUMBER)
        for piece in source._pieces(query, types):
            for pairs, rows in columns.parts(piece.columns or ()):
                weighed = [pairs.field("user").cast(pa.int64()), pairs.field("key")]
                yield Batch(pa.StructArray.from_arrays(weighed, ["weight", "key"]), rows, 0)


def is_database(data: Data) -> bool:
    """Return whether data are the address of a server, or a connection to one."""
    return (isinstance(data, str) and is_server(data)) or is_connection(data)


def open_in_database(
    data: Data, sql: str, columns: KeyColumns, state: Mapping[str, str] | None, ordered: bool
) -> Source:
    """Open the rows of a query in a server, a file or an ADBC connection, without running it."""
    if isinstance(data, str) and data == "-":
        raise ParameterError("sql takes the place of data and format; give one or the other.")
    reader = open_reader(data)
    if reader is None:
        from hushcount.sources.duckdb.sql import open_sql

        return open_sql(sql, columns, state, os.fspath(data))
    schema = attempt(reader.failure, reader.schema, sql)
    columns = columns.within(schema.names, "the SQL result")
    fields = tuple(schema.field(name) for name in columns.names)
    columns = columns.typed(_read_as(each.type) for each in fields)
    source = DatabaseSource(reader, sql, columns, fields)
    if not ordered or columns.user is not None:
        return source
    from hushcount.sources.duckdb.counted import RowsByHash

    return RowsByHash(source)


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type in which a column arrives: text for those that Arrow does not have."""
    return pa.string() if isinstance(kind, pa.BaseExtensionType) else kind
