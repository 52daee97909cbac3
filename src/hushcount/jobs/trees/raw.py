"""`exact_tree`: the exact hierarchical heavy hitters, for the owner of the data only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.hierarchies.base import Hierarchy
from hushcount.jobs.leaves import SortedLeaves
from hushcount.jobs.request import AskedHierarchy, Request, with_columns
from hushcount.jobs.settings import taken
from hushcount.keys.memory import Data
from hushcount.sketches.leaves import heavy_hitters_by_level, hierarchical_heavy_hitters

RAW = "RAW DATA, NOT PRIVATE: exact counts, for the owner of the data only. Publish hc.tree instead."
REPR_ROWS = 20


@dataclass(frozen=True, slots=True, repr=False)
class ExactTree:
    """The exact hierarchical heavy hitters: raw data, which must not be published.

    Parameters
    ----------
    table : pyarrow.Table
        node, level, exact_residual and exact_total, the deepest level first; its metadata says: raw data.
    threshold : int
        The smallest residual, or with by_level the smallest total, of a node in the table.
    hierarchy : str
        The name of the hierarchy.
    """

    table: pa.Table
    threshold: int
    hierarchy: str

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        some = self.table.slice(0, REPR_ROWS)
        columns = [[name, *map(str, some[name].to_pylist())] for name in some.column_names]
        wide = [[cell.ljust(max(map(len, cells))) for cell in cells] for cells in columns]
        rows = ["  ".join(cells).rstrip() for cells in zip(*wide, strict=True)]
        more = [f"... and {len(self) - REPR_ROWS:,} further nodes"] if len(self) > REPR_ROWS else []
        return "\n".join([RAW, *rows, *more])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def exact_tree(
    data: Data = None,
    *,
    hierarchy: Hierarchy | str | Callable[[object], object],
    threshold: int,
    column: str | Sequence[str] | None = None,
    height: int | None = None,
    by_level: bool = False,
    weight: str | None = None,
    max_weight: int | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    on_bad: str = "drop",
) -> ExactTree:
    """Return the exact hierarchical heavy hitters of `data`: raw data, to compare a private tree with.

    There is no noise and no privacy in it. The residual of a node is its count without the leaves below
    deeper nodes of the tree (Biswas et al. 2024, Definition 2.8). All leaves must fit in memory.

    Parameters
    ----------
    data, column, hierarchy, height, weight, max_weight, format, key_type, sql
        As in `hushcount.tree`.
    threshold : int
        The smallest residual of a node.
    by_level : bool
        Return every node whose total reaches the threshold, without subtracting descendants (Definition 2.7).
    on_bad : {"drop", "fail"}
        Drop malformed keys, or stop at the first.

    Returns
    -------
    ExactTree
        The nodes, marked as raw data wherever they are printed.

    Raises
    ------
    ParameterError
        If an option breaks its rule.
    DataError
        If the data cannot be read.

    Examples
    --------
    >>> visits = ["/shop/tea"] * 3 + ["/shop/milk", "/shop/salt", "/about"]
    >>> exact_tree(visits, hierarchy="path/2", threshold=2)
    RAW DATA, NOT PRIVATE: exact counts, for the owner of the data only. Publish hc.tree instead.
    node       level  exact_residual  exact_total
    /shop/tea  2      3               3
    /shop      1      2               5
    """
    values = dict(locals())
    asked = taken(AskedHierarchy, values)
    request = with_columns(taken(Request, values, beside=asked.files), asked.parsed)
    if by_level not in (True, False):
        raise ParameterError(f"by_level must be True or False, got {by_level!r}.")
    leaves = SortedLeaves(asked.parsed, on_bad, None)
    source = replace(request, ordered=False).open()
    leaves.read(source, None)
    found = (heavy_hitters_by_level if by_level else hierarchical_heavy_hitters)(leaves.shape(), threshold)
    columns = {
        "node": asked.parsed.labels(found.nodes, found.levels),
        "level": found.levels,
        "exact_residual": found.residuals,
        "exact_total": found.totals,
    }
    table = pa.table(columns).replace_schema_metadata({"hushcount": RAW})
    return ExactTree(table, threshold, asked.parsed.name)
