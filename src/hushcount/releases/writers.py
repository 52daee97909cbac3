"""Files of a release, of keys or of nodes: .csv, .tsv, .parquet, or .json with its guarantee.

A name such as shop.duckdb#top is a relation of a database, which is written last.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hushcount.errors import ParameterError
from hushcount.files.atomic import refuse_same
from hushcount.registry import Registry
from hushcount.stores.results import IF_EXISTS, Relation

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.files.atomic import Outputs
    from hushcount.releases.published import Published
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease

PathLike = str | os.PathLike[str]
# How text begins that a spreadsheet takes for a formula; some take wide characters as well.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True, slots=True)
class Form(os.PathLike[str]):
    """A path together with how a release is written to it.

    Parameters
    ----------
    path : path
        Its ending is the format.
    sign : path, optional
        A file with an Ed25519 private key in PEM; the JSON is signed with it.
    excel : bool
        Write text that a spreadsheet would take for a formula with an apostrophe before it.
    sidecar : bool
        Write also `path`.json, with everything about the release but its rows.
    if_exists : {"fail", "replace", "append"}
        What becomes of a relation of a database that exists already.
    """

    path: PathLike
    sign: PathLike | None = None
    excel: bool = False
    sidecar: bool = False
    if_exists: str = IF_EXISTS[0]

    @classmethod
    def of(cls, path: PathLike) -> Form:
        """Return a path that has its form already, or the plain form."""
        return path if isinstance(path, cls) else cls(path)

    @property
    def written(self) -> tuple[PathLike, ...]:
        """All files that are written."""
        if self.relation is not None:
            return ()
        return (self.path, f"{self}.json") if self.sidecar else (self.path,)

    @property
    def read(self) -> tuple[PathLike, ...]:
        """The file of the key."""
        return () if self.sign is None else (self.sign,)

    @property
    def relation(self) -> Relation | None:
        """The relation of a database that is written, None for a file, or raise."""
        return Relation.of(self.path)

    @property
    def shown(self) -> str:
        """What is written, in messages: of an address neither user nor password."""
        return os.fspath(self.path) if self.relation is None else self.relation.shown

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return os.fspath(self)


Writer = Callable[["Published", BinaryIO, Form], None]
WRITERS: Registry[Writer] = Registry(
    "output",
    {
        ".csv": "hushcount.releases.writers:write_csv",
        ".tsv": "hushcount.releases.writers:write_tsv",
        ".parquet": "hushcount.releases.writers:write_parquet",
        ".json": "hushcount.releases.writers:write_json",
    },
)


def check_output(path: PathLike) -> None:
    """Raise unless a release can be written under this name."""
    form = Form.of(path)
    relation = form.relation
    if relation is None:
        _check_file(form)
        return
    if form.sign is not None or form.excel or form.sidecar:
        raise ParameterError("sign, excel and sidecar are for files; a relation has its guarantee beside it.")
    relation.check(form.if_exists)


def _check_file(form: Form) -> None:
    """Raise unless a release can be written to a file, in this form."""
    path, ending = form.path, Path(form).suffix.lower()
    if form.if_exists != IF_EXISTS[0]:
        raise ParameterError("if_exists is for relations of a database; a file is replaced.")
    if ending not in WRITERS:
        raise ParameterError(f"output must end in one of {', '.join(WRITERS)}, got {os.fspath(path)}.")
    if form.sign is not None and ending != ".json":
        raise ParameterError(f"sign needs an output that ends in .json, got {os.fspath(path)}.")
    if form.excel and ending not in (".csv", ".tsv"):
        raise ParameterError(f"excel needs an output that ends in .csv or .tsv, got {os.fspath(path)}.")
    refuse_same([form], ())
    if form.sign is not None:
        from hushcount.releases.stored.signatures import private_key

        private_key(form.sign)  # raises before anything is written


def prepare(release: Release | TreeRelease, form: Form, outputs: Outputs) -> None:
    """Write a release to a file or a relation that appears together with all other outputs."""
    if (relation := form.relation) is not None:
        from hushcount.releases.stored.relations import rows_of

        rows = rows_of(release)
        outputs.elsewhere(relation.shown, lambda: relation.write(rows, form.if_exists))
        return
    check_output(form)
    with outputs.file(form.path) as stream:
        WRITERS[Path(form).suffix.lower()](release, stream, form)
    if form.sidecar:
        with outputs.file(f"{form}.json") as stream:
            write_about(release, stream)


def write_csv(release: Published, stream: BinaryIO, form: Form) -> None:
    """Write comma-separated text with a header."""
    _write_separated(release, stream, form, ",")


def write_tsv(release: Published, stream: BinaryIO, form: Form) -> None:
    """Write tab-separated text with a header."""
    _write_separated(release, stream, form, "\t")


def _write_separated(release: Published, stream: BinaryIO, form: Form, delimiter: str) -> None:
    """Write a header and a line for each row."""
    from pyarrow import csv

    table = with_texts(release.table)
    csv.write_csv(_harmless(table) if form.excel else table, stream, csv.WriteOptions(delimiter=delimiter))


def _harmless(table: pa.Table) -> pa.Table:
    """Return a table in which no text, and no name, can become the formula of a spreadsheet."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for index, column in enumerate(table.columns):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            first = pc.utf8_slice_codeunits(pc.utf8_ltrim(column, " "), 0, 1)
            dangerous = pc.is_in(first, pa.array(FORMULAS, column.type))
            marked = pc.binary_join_element_wise(
                pa.scalar("'", column.type), column, pa.scalar("", column.type)
            )
            table = table.set_column(index, table.column_names[index], pc.if_else(dangerous, marked, column))
    return table.rename_columns([f"'{name}" if name[:1] in FORMULAS else name for name in table.column_names])


def write_parquet(release: Published, stream: BinaryIO, form: Form) -> None:
    """Write the typed table, with everything but the rows as JSON in its metadata."""
    from pyarrow import parquet

    table = release.table.replace_schema_metadata({"hushcount": _about(release)})
    parquet.write_table(table, stream)


def write_json(release: Published, stream: BinaryIO, form: Form) -> None:
    """Write one line of JSON, signed if a key is given."""
    from hushcount.releases.stored.exact import canonical

    values = release.to_dict()
    if form.sign is not None:
        from hushcount.releases.stored.signatures import signed

        values = signed(values, form.sign)
    stream.write(canonical(values) + b"\n")


def write_about(release: Published, stream: BinaryIO) -> None:
    """Write everything about a release but its rows, as one line of JSON."""
    stream.write(_about(release) + b"\n")


def _about(release: Published) -> bytes:
    """Return everything about a release but its rows as JSON."""
    from hushcount.releases.stored.documents import about
    from hushcount.releases.stored.exact import canonical

    return canonical(about(release))  # type: ignore[arg-type]


def with_texts(table: pa.Table) -> pa.Table:
    """Return a table of numbers, bools and texts: all other keys are written as text.

    Neither JSON nor CSV has dates or bytes, and Python's own dates end with the year 9999.
    """
    import pyarrow as pa

    from hushcount.keys.text import key_text

    for index, column in enumerate(table.schema):
        if not _is_plain(column.type):
            texts = [key_text(chunk) for chunk in table.column(index).chunks]
            table = table.set_column(index, column.name, pa.chunked_array(texts, pa.string()))
    return table


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether JSON and CSV have values of this type."""
    from pyarrow import types

    from hushcount.keys.text import is_text

    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
    return is_text(kind) or any(check(kind) for check in numbers)
