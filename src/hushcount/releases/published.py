"""What every release offers, of keys or of nodes: rows, frames, JSON, files, text, and how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, cast

from hushcount.errors import ParameterError
from hushcount.files.atomic import Outputs
from hushcount.privacy import check_confidence
from hushcount.releases.made import Documented
from hushcount.releases.writers import Form, PathLike, check_output, prepare, with_texts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from hushcount.releases.release import Release
    from hushcount.releases.stored.exact import Plain
    from hushcount.releases.tree import TreeRelease
    from hushcount.releases.views.plots import Plot

Row = dict[str, object]


class Published(Documented):
    """What every release offers; each has `table`, `keys`, notes and a confidence."""

    __slots__ = ()

    if TYPE_CHECKING:
        notes: tuple[str, ...]

        @property
        def table(self) -> pa.Table:
            """The rows."""
            ...

        @property
        def keys(self) -> pa.Table:
            """The columns by which a row is found."""
            ...

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, from the first to the last."""
        for batch in self.table.to_batches(4096):
            yield from batch.to_pylist()

    def __contains__(self, key: object) -> bool:
        return self._place(key) is not None

    def __getitem__(self, key: object) -> Row:
        """Return the row of a key; of several key columns, of a tuple of values.

        Parameters
        ----------
        key : value or tuple of values
            The key, as the table has it.

        Raises
        ------
        KeyError
            If the key was not published.
        """
        place = self._place(key)
        if place is None:
            raise KeyError(f"{key!r} was not published")
        return dict(self.table.slice(place, 1).to_pylist()[0])

    def _place(self, key: object) -> int | None:
        """Return the row of a key, None if it was not published."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = self.keys.columns
        values = key if isinstance(key, tuple) else (key,)
        if len(values) != len(columns):
            return None
        found = pa.array([True] * len(self))
        try:
            for column, value in zip(columns, values, strict=True):
                wanted = pa.scalar(value, column.type)
                if wanted.as_py() != value:  # Arrow cuts 2.5 to 2
                    return None
                same = column.is_null() if value is None else pc.equal(column, wanted)
                found = pc.and_(found, same.combine_chunks().fill_null(False))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # a value of another type
            return None
        place = found.index(True).as_py()
        return None if place < 0 else int(place)

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

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a polars frame.

        Raises
        ------
        ParameterError
            If polars is not installed.
        """
        try:
            import polars as pl
        except ImportError:
            raise ParameterError("to_polars needs the package polars, which is not installed.") from None
        return pl.DataFrame(self.table)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as an Arrow stream, as libraries ask each other for it."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        from hushcount.releases.views.page import text_of

        return text_of(self._self)

    def to_dict(self) -> dict[str, Plain]:
        """Return everything as plain values: the document that `to_json` writes."""
        from hushcount.releases.stored.documents import document

        return document(self._self)

    def write(
        self,
        path: PathLike,
        *,
        sign: PathLike | None = None,
        excel: bool = False,
        sidecar: bool = False,
        if_exists: str = "fail",
    ) -> None:
        """Write the table to a file or to a relation of a database, whole or not at all.

        Parameters
        ----------
        path : path
            Its ending is the format: .csv, .tsv, .parquet, or .json, which has the guarantee as well. Or a
            relation: postgresql://...#top, shop.duckdb#top or shop.sqlite#top; its guarantee is in another,
            hushcount_guarantees.
        sign : path, optional
            A file with an Ed25519 private key in PEM; the JSON is signed with it.
        excel : bool
            Write text that a spreadsheet would take for a formula with an apostrophe before it.
        sidecar : bool
            Write also `path`.json, with everything about the release but its rows.
        if_exists : {"fail", "replace", "append"}
            What becomes of a relation that exists: "replace" takes only one that hushcount has written,
            "append" writes no release twice.

        Raises
        ------
        ParameterError
            If the path has another ending, its format cannot be signed, or the relation exists.
        DataError
            If the file or relation cannot be written.
        """
        form = Form(path, sign, excel, sidecar, if_exists)
        check_output(form)
        with Outputs() as outputs:
            self.prepare(form, outputs)
            outputs.commit()

    def report(self, path: PathLike) -> None:
        """Write a page for people: what is protected, the table, pictures, assumptions, and all as JSON.

        Parameters
        ----------
        path : path
            The HTML file to write, which needs nothing else to be read; it appears whole or not at all.

        Raises
        ------
        ParameterError
            If the path does not end in .html or .htm.
        DataError
            If the file cannot be written.
        """
        from hushcount.releases.views.report_files import write_files

        write_files(self._self, report=path)

    def plot(self) -> Plot:
        """Return the picture of the release: counts by rank, or an icicle of a tree.

        Returns
        -------
        Plot
            A notebook shows it; its `write(path)` saves it as .svg.
        """
        from hushcount.releases.views.plots import plot_of

        return plot_of(self._self)

    def _repr_html_(self) -> str:
        from hushcount.releases.views.report_table import notebook_html

        return notebook_html(self._self)

    def prepare(self, path: PathLike, outputs: Outputs) -> None:
        """Write the table to a file that appears together with the others of `outputs`.

        Parameters
        ----------
        path : path
            As for `write`; a `Form` says how it is written.
        outputs : Outputs
            The files of one run; its `commit` renames all of them.
        """
        prepare(self._self, Form.of(path), outputs)

    @property
    def _self(self) -> Release | TreeRelease:
        """Return itself: there are two kinds of releases."""
        return cast("Release | TreeRelease", self)

    def _with(self, **changes: object) -> Self:
        """Return a copy with some fields changed."""
        changed: Self = replace(self, **changes)  # type: ignore[type-var]
        return changed


def check_per(per: str | None, names: Sequence[str], limit: int | None) -> None:
    """Raise unless `per` is one of several key columns, and says of which groups `limit` keeps rows."""
    if per is None:
        return
    if limit is None:
        raise ParameterError("per needs limit, the number of rows of each group.")
    if len(names) < 2 or per not in names:
        asked = f"; they are {', '.join(names)}" if len(names) > 1 else ""
        raise ParameterError(f"per must be one of several key columns{asked}, got {per}.")


def first_of_each(keys: pa.Table, per: str, rows: int) -> npt.NDArray[np.int64]:
    """Return the places of the first rows of each group, in the order of the table."""
    import numpy as np

    check_per(per, keys.column_names, rows)
    coded = keys[per].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
    order = np.argsort(coded, kind="stable")
    _, starts, sizes = np.unique(coded[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    return np.sort(order[rank < rows])
