"""Partitioned folders, as Hive and Spark write them: a folder country=de holds the rows of that country.

Such a name is a column of all files below the folder, and always text, so that its type depends on no other
folder's name. A file that has a column of the same name keeps its own. Names are percent-encoded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote

import pyarrow as pa

from hushcount.errors import DataError
from hushcount.sources.formats.inputs import Input, RegularFile
from hushcount.sources.formats.registry import Names, Piece, Reader

NULL = "__HIVE_DEFAULT_PARTITION__"
TEXT = pa.string()
Partitions = tuple[tuple[str, str | None], ...]


def partitions_of(place: str) -> Partitions:
    """Return the columns that the folders of a relative path name, and their values.

    >>> partitions_of("country=de/day=2026-11-18/a.parquet")
    (('country', 'de'), ('day', '2026-11-18'))
    """
    found: dict[str, str | None] = {}
    for folder in place.split(os.sep)[:-1]:
        name, equal, value = folder.partition("=")
        if not (name and equal):
            continue
        try:
            name, value = unquote(name, errors="strict"), unquote(value, errors="strict")
        except UnicodeDecodeError:
            name = ""
        if not name or name in found:
            raise DataError(f"{folder} is a folder whose name gives no column a value, or one that has one.")
        found[name] = None if value == NULL else value
    return tuple(found.items())


@dataclass(frozen=True, slots=True)
class PartitionedReader:
    """Reads files with the columns that their folders name beside their own."""

    reader: Reader

    @property
    def defect(self) -> str:
        """What is wrong with a file that the parser refuses."""
        return self.reader.defect

    def schema(self, file: Input) -> pa.Schema | None:
        """The columns of the file, then those of its folders."""
        own = self.reader.schema(file)
        if own is None:
            return None
        more = [name for name in partitions(file) if name not in own.names]
        return pa.schema([*own, *((name, TEXT) for name in more)])

    def pieces(self, file: Input, names: Names, skip: int) -> Iterator[Piece]:
        """Yield the rows in order; the columns of folders have one value in all rows of a file."""
        schema, given = self.reader.schema(file), partitions(file)
        taken = given if schema is None else {name: given[name] for name in given if name not in schema.names}
        own = tuple(name for name in names if name not in taken)
        # Some column must tell how many rows there are; of JSON any, which may be missing.
        asked = own or (("",) if schema is None else tuple(schema.names[:1]))
        for piece in self.reader.pieces(file, asked, skip):
            if piece.columns is None:
                yield piece
                continue
            read = dict(zip(own, piece.columns, strict=False))
            rows = len(piece.columns[0])
            columns = [read[name] if name in read else _repeated(taken[name], rows) for name in names]
            yield replace(piece, columns=columns)


def partitions(file: Input) -> dict[str, str | None]:
    """Return the columns that the folders of a file name."""
    return dict(file.partitions) if isinstance(file, RegularFile) else {}


def _repeated(value: str | None, rows: int) -> pa.Array:
    """Return a column that has one value."""
    return pa.repeat(pa.scalar(value, TEXT), rows)
