"""Files of a release, of keys or of nodes: .csv, .tsv, .parquet, or .json with its guarantee."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from hushcount.errors import ParameterError
from hushcount.files.atomic import Outputs
from hushcount.privacy import check_confidence
from hushcount.registry import Registry

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PathLike = str | os.PathLike[str]


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
        """Return the same release with intervals at another confidence.

        Parameters
        ----------
        confidence : float
            Strictly between 0 and 1, such as 0.99; a larger one makes wider intervals. Costs no privacy.
        """
        return self._with(confidence=check_confidence(confidence))

    def with_notes(self, *notes: str) -> Self:
        """Return the same release with further sentences.

        Parameters
        ----------
        *notes : str
            Whole sentences about public facts; they are printed and written with the release.
        """
        return self._with(notes=self.notes + notes)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a pandas frame; keys that pandas cannot represent, as some times, are text."""
        import pyarrow as pa

        try:
            return self.table.to_pandas()
        except (pa.ArrowException, ValueError, OverflowError):
            pass
        return with_texts(self.table).to_pandas()

    def to_json(self) -> str:
        """Return the whole release as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def write(self, path: PathLike) -> None:
        """Write the table to a file, which appears whole or not at all.

        Parameters
        ----------
        path : path
            Its ending is the format: .csv, .tsv, .parquet, or .json, which has the guarantee as well.

        Raises
        ------
        ParameterError
            If the path has another ending.
        DataError
            If the file cannot be written.
        """
        with Outputs() as outputs:
            self.prepare(path, outputs)
            outputs.commit()

    def prepare(self, path: PathLike, outputs: Outputs) -> None:
        """Write the table to a file that appears together with the others of `outputs`.

        Parameters
        ----------
        path : path
            As for `write`.
        outputs : Outputs
            The files of one run; its `commit` renames all of them.
        """
        writer = check_output(path)
        with outputs.file(path) as stream:
            writer(self, stream)

    def _with(self, **changes: object) -> Self:
        """Return a copy with some fields changed."""
        changed: Self = replace(self, **changes)  # type: ignore[type-var]
        return changed


Writer = Callable[[Published, BinaryIO], None]
_HERE = "hushcount.releases.writers"
WRITERS: Registry[Writer] = Registry(
    "output",
    {
        ".csv": f"{_HERE}:write_csv",
        ".tsv": f"{_HERE}:write_tsv",
        ".parquet": f"{_HERE}:write_parquet",
        ".json": f"{_HERE}:write_json",
    },
)


def check_output(path: PathLike) -> Writer:
    """Return the writer for a path's ending, or raise."""
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise ParameterError(f"output must end in one of {', '.join(WRITERS)}, got {os.fspath(path)}.")
    return WRITERS[ending]


def write_csv(release: Published, stream: BinaryIO) -> None:
    """Write comma-separated text with a header."""
    _write_separated(release, stream, ",")


def write_tsv(release: Published, stream: BinaryIO) -> None:
    """Write tab-separated text with a header."""
    _write_separated(release, stream, "\t")


def _write_separated(release: Published, stream: BinaryIO, delimiter: str) -> None:
    from pyarrow import csv

    csv.write_csv(with_texts(release.table), stream, csv.WriteOptions(delimiter=delimiter))


def write_parquet(release: Published, stream: BinaryIO) -> None:
    """Write the typed table, with the guarantee as JSON in its metadata."""
    from pyarrow import parquet

    guarantee = json.dumps({**release.to_dict(), "rows": None})
    parquet.write_table(release.table.replace_schema_metadata({"hushcount": guarantee}), stream)


def write_json(release: Published, stream: BinaryIO) -> None:
    """Write one line of JSON."""
    stream.write(release.to_json().encode("utf-8", "surrogatepass") + b"\n")


def plain_rows(table: pa.Table) -> list[dict[str, object]]:
    """Return the rows of a table as plain values for JSON."""
    return list(with_texts(table).to_pylist())


def with_texts(table: pa.Table) -> pa.Table:
    """Return a table of numbers, bools and texts: all other keys are written as text.

    Neither JSON nor CSV has dates or bytes, and Python's own dates end with the year 9999.
    """
    import pyarrow as pa

    from hushcount.keys.text import key_text

    for index, field in enumerate(table.schema):
        if not _is_plain(field.type):
            texts = [key_text(chunk) for chunk in table.column(index).chunks]
            table = table.set_column(index, field.name, pa.chunked_array(texts, pa.string()))
    return table


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether JSON and CSV have values of this type."""
    from pyarrow import types

    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return any(check(kind) for check in numbers + texts)
