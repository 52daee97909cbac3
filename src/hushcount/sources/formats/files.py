"""Files of a path, folder or glob as a source: one format, rows and files in order, read ahead."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.container import is_container
from hushcount.files.failures import attempt, file_failure, guarded
from hushcount.files.fingerprint import Fingerprint, digest
from hushcount.files.leftovers import remove_leftovers
from hushcount.keys.columns import KeyColumns
from hushcount.sources.formats.inputs import (
    Input,
    Pipe,
    RegularFile,
    file_input,
    last_changes,
    spooled,
    standard_input,
)
from hushcount.sources.formats.objects import find_objects, is_address, open_object, shown_address
from hushcount.sources.formats.partitions import PartitionedReader, partitions, partitions_of
from hushcount.sources.formats.paths import find_names
from hushcount.sources.formats.registry import (
    ARROW_FILE,
    FORMATS,
    Piece,
    Reader,
    after,
    ending_format,
    format_of,
    reader_of,
)
from hushcount.sources.read_ahead import read_ahead
from hushcount.sources.source import Batch, Source, keyed

STANDARD_INPUT = "/dev/stdin"


def open_files(path: str, format: str | None, columns: KeyColumns) -> FileSource:  # noqa: A002
    """Open a path, folder, glob or "-"; the first file's columns are checked now, the others' in turn."""
    remove_leftovers(tempfile.gettempdir())
    files, format = find_inputs(path, format)  # noqa: A001
    reader = reader_of(format)
    if any(partitions(file) for file in files):
        reader = PartitionedReader(reader)
    return FileSource(tuple(files), format, reader, typed_columns(format, reader, files[0], columns))


def typed_columns(format: str, reader: Reader, file: Input, columns: KeyColumns) -> KeyColumns:  # noqa: A002
    """Return the columns that are asked for, with their types in a file of a format, or raise."""
    if format == "jsonl" and not columns.names:
        raise ParameterError("column must be named for JSON lines.")
    if format == "lines":
        if columns.names:
            raise ParameterError("Lines of text have no columns, so --format lines takes no --column.")
        columns = replace(columns.unnamed(), names=("key",))
    return _checked(reader, file, columns)


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """The keys of one or more files of one format; one row is one event."""

    files: tuple[Input, ...]
    format: str
    reader: Reader
    columns: KeyColumns = field()  # it takes the place of the property of a source, which is no default

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
        return str(Fingerprint.of([self._mark(file) for file in files], question))

    def _mark(self, file: RegularFile) -> tuple[str, int]:
        """Return the content of a file, with the values of its folders if they are read, and its time."""
        content, modified = file.stamp.mark
        read = [pair for pair in file.partitions if pair[0] in self.columns.names]
        return (digest([content, read]) if read else content), modified

    @property
    def is_pipe(self) -> bool:
        """Whether rows come from a pipe."""
        return any(isinstance(file, Pipe) for file in self.files)

    @property
    def notes(self) -> tuple[str, ...]:
        """What happens to rows without a key, and to lines of logs that are malformed."""
        if not format_of(self.format).drops:
            return self.columns.notes
        what = "are dropped" if self.columns.limit.on_bad == "drop" else "stop the run"
        return (f"Lines that are not of the format {what}.", *self.columns.notes)

    @property
    def state(self) -> dict[str, str]:
        """When each file was last changed."""
        return last_changes(self.files)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the files that are read; standard input may be one of them."""
        return tuple(
            file.location if isinstance(file, RegularFile) else STANDARD_INPUT
            for file in self.files
            if not isinstance(file, RegularFile) or file.is_local
        )

    def by_code(self) -> Source:
        """Return the same files, whose text may stay behind a dictionary."""
        return replace(self, columns=self.columns.with_codes())

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
                if piece.malformed and self.columns.limit.on_bad == "fail":
                    raise DataError(f'{file.name} has a line that is not of its format (on_bad="fail").')
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
    sentence = file_failure(file.name, reader.defect)
    schema = attempt(sentence, reader.schema, file)
    if schema is None:
        return columns.typed([pa.string()] * len(columns.names))
    columns = columns.within(attempt(sentence, lambda: schema.names), "the file")
    return columns.typed(schema.field(name).type for name in columns.names)


def _fields(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"Column '{names[0]}' is in"
    return f"Columns {', '.join(repr(name) for name in names)} are together in"


def find_inputs(path: str, format: str | None) -> tuple[list[Input], str]:  # noqa: A002
    """Return the inputs behind a path and their format."""
    if format is not None:
        format_of(format)
    if path == "-":
        if format is None:
            raise ParameterError(f"Standard input needs --format, one of {', '.join(FORMATS)}.")
        return [_prepared(standard_input(), format)], format
    remote = is_address(path)
    several, names, root = find_objects(path) if remote else find_names(path)
    format = format or one_format(path, names)  # noqa: A001
    if several and (remote or os.path.isdir(path)):
        names = [name for name in names if ending_format(name) == format] or names
    opened = (_prepared(open_object(name), format) if remote else _opened(name, format) for name in names)
    inputs = [_partitioned(file, name[len(root) :]) for file, name in zip(opened, names, strict=True)]
    return _filled(path, inputs, format if several else None), format


def _partitioned(file: Input, place: str) -> Input:
    """Return the same input with the columns that its folders name."""
    return replace(file, partitions=partitions_of(place)) if isinstance(file, RegularFile) else file


def _opened(name: str, format: str) -> Input:  # noqa: A002
    return attempt(file_failure(name, "cannot be read"), _input, name, format)


def _input(name: str, format: str) -> Input:  # noqa: A002
    # The libraries that read files take no other names.
    attempt(
        lambda _: DataError(f"{name!a} is a file name that is not valid UTF-8; rename the file."), name.encode
    )
    return _prepared(file_input(name), format)


def _prepared(file: Input, format: str) -> Input:  # noqa: A002
    """Return the same input, copied from a pipe to a file if the format needs to seek."""
    if not isinstance(file, Pipe):
        return file
    seeks = format == "parquet" or (format == "arrow" and file.head().startswith(ARROW_FILE))
    return spooled(file) if seeks or (format == "jsonl" and file.location is None) else file


def one_format(path: str, names: Sequence[str]) -> str:
    """Return the format of several files by their endings, or raise."""
    if is_address(path):  # what follows a question mark may be a signature
        path, names = shown_address(path), [shown_address(name) for name in names]
    known = sorted({format for name in names if (format := ending_format(name)) is not None})  # noqa: A001
    if os.path.isdir(path) and len(known) > 1:  # notes beside the data
        known = [format for format in known if format != "lines"]  # noqa: A001
    if len(known) > 1:
        raise ParameterError(
            f"{path} has files of several formats ({', '.join(known)}); name one with --format."
        )
    strangers = not os.path.isdir(path) and any(ending_format(name) is None for name in names)
    if not known and is_container(path):
        raise ParameterError(
            f"{path} is a sketch file, not data to count; hushcount release publishes it, and hushcount"
            " inspect says what it holds."
        )
    if not known or strangers:
        raise ParameterError(
            f"The format of {path} is not known by its ending; name it with --format ({', '.join(FORMATS)})."
        )
    return known[0]


def _filled(path: str, inputs: list[Input], format_of_several: str | None) -> list[Input]:
    """Refuse empty files; empty parts of several text files are left out."""
    filled = [file for file in inputs if file.size != 0]
    parts = format_of_several is not None and format_of(format_of_several).streams
    if not filled or (len(filled) < len(inputs) and not parts):
        empty = next(file.name for file in inputs if file.size == 0)
        raise DataError(f"{empty if len(inputs) == 1 or filled else path} is empty.")
    return filled
