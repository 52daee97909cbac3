"""Files of a release, of keys or of nodes: .csv, .tsv, .parquet, or .json with its guarantee."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from hushcount.errors import ParameterError
from hushcount.files.atomic import atomic_file
from hushcount.privacy import check_confidence

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Published:
    """What every release offers, of keys or of nodes; each has `table`, `to_dict`, notes and a confidence."""

    __slots__ = ()

    if TYPE_CHECKING:
        notes: tuple[str, ...]

        @property
        def table(self) -> pa.Table:
            """The rows."""
            ...

        def to_dict(self) -> dict[str, object]:
            """Everything as plain values, the rows under "rows"."""
            ...

    def at_confidence(self, confidence: float) -> Self:
        """The same release with intervals at another confidence."""
        return self._with(confidence=check_confidence(confidence))

    def with_notes(self, *notes: str) -> Self:
        """The same release with further sentences about public facts."""
        return self._with(notes=self.notes + notes)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas frame."""
        return self.table.to_pandas()

    def to_json(self) -> str:
        """The whole release as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table as .csv, .tsv, .parquet or (with its guarantee) .json, atomically."""
        writer = check_output(path)
        with atomic_file(path) as stream:
            writer(self, stream)

    def _with(self, **changes: Any) -> Self:
        changed: Self = replace(self, **changes)  # type: ignore[type-var]
        return changed


def check_output(path: str | os.PathLike[str]) -> Any:
    """Return the writer for a path's ending, or raise."""
    writer = _WRITERS.get(Path(path).suffix.lower())
    if writer is None:
        raise ParameterError(f"output must end in one of {', '.join(_WRITERS)}, got {path}.")
    return writer


def _write_csv(release: Published, stream: BinaryIO) -> None:
    _write_separated(release, stream, ",")


def _write_tsv(release: Published, stream: BinaryIO) -> None:
    _write_separated(release, stream, "\t")


def _write_separated(release: Published, stream: BinaryIO, delimiter: str) -> None:
    import pyarrow as pa
    from pyarrow import csv

    table = release.table
    for index, column in enumerate(table.column_names):
        if _is_binary(table.schema.types[index]):
            text = pa.array([_plain_value(value) for value in table[column].to_pylist()], pa.string())
            table = table.set_column(index, column, text)
    csv.write_csv(table, stream, csv.WriteOptions(delimiter=delimiter))


def _is_binary(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _write_parquet(release: Published, stream: BinaryIO) -> None:
    from pyarrow import parquet

    guarantee = json.dumps({**release.to_dict(), "rows": None})
    table = release.table.replace_schema_metadata({"hushcount": guarantee})
    parquet.write_table(table, stream)


def _write_json(release: Published, stream: BinaryIO) -> None:
    stream.write(release.to_json().encode() + b"\n")


_WRITERS = {".csv": _write_csv, ".tsv": _write_tsv, ".parquet": _write_parquet, ".json": _write_json}


def plain_rows(table: pa.Table) -> list[dict[str, object]]:
    """The rows of a table as plain values for JSON."""
    return [{name: _plain_value(value) for name, value in row.items()} for row in table.to_pylist()]


def _plain_value(value: object) -> object:
    if isinstance(value, int | float | str) or value is None:
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)
