"""Files as a source: one format, rows in file order, files in path order, read ahead."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.failures import attempt, file_failure, guarded
from hushcount.files.fingerprint import Fingerprint
from hushcount.files.leftovers import remove_leftovers
from hushcount.keys.columns import KeyColumns
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.sources.formats.inputs import Input, Pipe, RegularFile
from hushcount.sources.formats.paths import find_inputs
from hushcount.sources.formats.registry import FORMATS, Piece, Reader, after
from hushcount.sources.read_ahead import read_ahead
from hushcount.sources.source import Batch, keyed

if TYPE_CHECKING:
    import pyarrow as pa
STANDARD_INPUT = "/dev/stdin"


def open_files(path: str, format: str | None, columns: KeyColumns) -> FileSource:  # noqa: A002
    """Open a path, folder, glob or "-"; the first file's columns are checked now, the others' in turn."""
    remove_leftovers(tempfile.gettempdir())
    files, format = find_inputs(path, format)  # noqa: A001
    reader = FORMATS[format]()
    if format == "jsonl" and not columns.names:
        raise ParameterError("column must be named for JSON lines.")
    if format == "lines":
        if columns.names:
            raise ParameterError("Lines of text have no columns, so --format lines takes no --column.")
        columns = replace(columns.unnamed(), names=("key",))
    return FileSource(tuple(files), format, reader, _checked(reader, files[0], columns))


@dataclass(frozen=True, slots=True)
class FileSource:
    """The keys of one or more files of one format."""

    files: tuple[Input, ...]
    format: str
    reader: Reader
    columns: KeyColumns

    @property
    def unit(self) -> PrivacyUnit:
        """One row is one event."""
        return EVENT

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in a result."""
        return self.columns.key_names

    @property
    def size(self) -> int | None:
        """Bytes of all files, None for a pipe."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the files, the format and the columns; empty for a pipe."""
        files = [file for file in self.files if isinstance(file, RegularFile) and file.copy is None]
        if len(files) < len(self.files):
            return ""
        question = [self.format, self.columns.names, self.columns.key_type, self.columns.user]
        return str(Fingerprint.of([file.stamp.mark for file in files], question))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the files that are read; standard input may be one of them."""
        return tuple(
            file.location if isinstance(file, RegularFile) else STANDARD_INPUT for file in self.files
        )

    @property
    def state(self) -> dict[str, str]:
        """Nothing: files have their own order."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What happens to nulls."""
        return self.columns.notes

    def decode(self, keys: pa.Array) -> pa.Table:
        """Turn keys back into their columns."""
        return self.columns.decode(keys)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys in order, read ahead by one thread."""
        return read_ahead(self._batches(skip_rows))

    def _batches(self, skip: int) -> Iterator[Batch]:
        found = skip > 0 or self.format != "jsonl"
        for batch in keyed(self.columns, after(self._pieces(skip), skip)):
            found = found or len(batch.keys) > 0
            yield batch
        if not found:
            raise DataError(
                f"{_fields(self.columns.names)} no row of the file, so nothing was released; this message"
                " itself reveals that, outside the guarantee."
            )

    def _pieces(self, skip: int) -> Iterator[Piece]:
        """Yield the pieces of all files one after the other; a skipped file is still counted."""
        before = 0
        for index, file in enumerate(self.files):
            if index:
                self._check_same(file)
            pieces = self.reader.pieces(file, self.columns.names, skip)
            for piece in guarded(pieces, partial(_failure, file, self.reader.defect)):
                skip = max(skip - piece.rows, 0)
                yield replace(piece, bytes_read=before + piece.bytes_read)
            before += file.size or 0
            if isinstance(file, Pipe):
                file.close()
            elif isinstance(file, RegularFile):
                file.check_unchanged()

    def _check_same(self, file: Input) -> None:
        types = _checked(self.reader, file, self.columns).types
        if types != self.columns.types:
            raise DataError(f"{file.name} has another column type than the files before it.")


def _failure(file: Input, defect: str, error: Exception) -> HushcountError:
    """Say why a file cannot be read: that it has changed meanwhile, or what its reader found."""
    changed = file.change() if isinstance(file, RegularFile) else None
    return changed or file_failure(file.name, defect)(error)


def _checked(reader: Reader, file: Input, columns: KeyColumns) -> KeyColumns:
    """Return the columns as they are in a file, with their types."""
    import pyarrow as pa

    sentence = file_failure(file.name, reader.defect)
    schema = attempt(sentence, reader.schema, file)
    if schema is None:
        return columns.typed([pa.string()] * len(columns.names))
    columns = columns.within(
        attempt(file_failure(file.name, reader.defect), lambda: schema.names), "the file"
    )
    return columns.typed(schema.field(name).type for name in columns.names)


def _fields(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"Column '{names[0]}' is in"
    return f"Columns {', '.join(repr(name) for name in names)} are together in"
