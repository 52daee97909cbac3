"""The `TreeRelease` value: published nodes of a hierarchy, their residuals and totals, and nothing else.

Every number in it is a function of noisy values and public parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hushcount.keys.labels import NodeLabel
from hushcount.privacy import Guarantee, check_confidence
from hushcount.releases.made import Made
from hushcount.releases.published import Published
from hushcount.releases.trees.nodes import NodeEstimate, Tops, TreeAccuracy, TreeError, TreeRows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False)
class TreeRelease(Published):
    """A differentially private tree of the heavy nodes of a hierarchy, with its guarantee.

    Rows are in depth-first order: parents before children, siblings by total (descending), then by label.
    A parent is the nearest published ancestor; a node that is not published is never named.

    Parameters
    ----------
    rows : TreeRows
        The published nodes, in any order.
    guarantee : Guarantee
        What is protected, how well, and under which assumptions.
    error : TreeError
        How far totals may lie from the truth.
    threshold : int
        The smallest noisy residual of a published node, a public number.
    hierarchy : str
        The name of the hierarchy, such as "ipv4/8".
    height : int
        How many levels leaves are below the root.
    notes : tuple of str
        Further sentences about public facts.
    confidence : float
        The confidence of the intervals in `table`.
    made : Made, optional
        How, when and by which version it was made.
    """

    rows: TreeRows
    guarantee: Guarantee
    error: TreeError
    threshold: int
    hierarchy: str
    height: int
    notes: tuple[str, ...] = ()
    confidence: float = 0.95
    made: Made | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", self.rows.depth_first())

    @property
    def keys(self) -> pa.Table:
        """The labels of the published nodes, as a table."""
        import pyarrow as pa

        return pa.table({"node": self.rows.nodes})

    @property
    def nodes(self) -> pa.Array:
        """The labels of the published nodes."""
        return self.rows.nodes

    @property
    def levels(self) -> pa.Array:
        """The level of each node: 0 is the root, `height` are leaves."""
        return _column(self.rows.levels)

    @property
    def parents(self) -> pa.Array:
        """The label of the nearest published ancestor of each node, null if none is published."""
        return self.rows.nodes.take(_column(self.rows.parents, self.rows.parents < 0))

    @property
    def residuals(self) -> pa.Array:
        """The noisy count of each node without what its published descendants hold."""
        return _column(self.rows.residuals)

    @property
    def totals(self) -> pa.Array:
        """The noisy count of everything below each node."""
        return _column(self.rows.totals)

    @property
    def table(self) -> pa.Table:
        """node, level, parent, residual, total and the bounds of the total at `confidence`, clipped at 0.

        `upper` is null if no public number bounds the total from above. `near_threshold` marks rows whose
        bounds fail more often than `confidence` says; files of version 1 do not tell.
        """
        import numpy as np
        import pyarrow as pa

        lower, upper = self.error.bounds(self.rows, self.confidence)
        near = self.error.near(self.rows, self.confidence)
        table = pa.table(
            {
                "node": self.nodes,
                "level": self.levels,
                "parent": self.parents,
                "residual": self.residuals,
                "total": self.totals,
                "lower": _column(np.maximum(lower, 0)),
                "upper": (
                    pa.nulls(len(self), pa.int64()) if upper is None else _column(np.maximum(upper, 0))
                ),
            }
        )
        return table if near is None else table.append_column("near_threshold", pa.array(near, pa.bool_()))

    def estimate(self, node: str) -> NodeEstimate:
        """Return what is known about the total of any node, also of one that was not published.

        Costs no privacy: it is computed from what is published.

        Parameters
        ----------
        node : str
            A label as the table writes it, such as "10.0.0.0/8", "/shop" or "*", the root.

        Returns
        -------
        NodeEstimate
            The estimate with bounds that hold at `confidence` for a node that you pick before you see the
            release. Of a node that was not published the estimate is what is published below it.

        Raises
        ------
        ParameterError
            If no node of the hierarchy has this label, or the release was read from a file that says nothing
            of nodes that were not published.
        """
        place = self._place(node)
        if place is None:
            return self._unpublished(NodeLabel.of(node, self.hierarchy, self.height))
        row = self.table.slice(place, 1).to_pylist()[0]
        bounds = row["lower"], row["upper"], self.confidence, row.get("near_threshold")
        return NodeEstimate(node, row["level"], True, row["total"], *bounds)

    def by_level(self) -> pa.Table:
        """Return the heavy nodes of every level: published nodes, and all nodes above them.

        In a tree a published node takes its events away from its ancestors, so that these may be missing,
        though their totals are larger. Costs no privacy: it is computed from what is published.

        Returns
        -------
        pyarrow.Table
            level, node, total, its bounds as `estimate` gives them, near_threshold and published, from the
            root down, and at each level by total. near_threshold also marks nodes that were not published
            and whose total rests on such a row. All other nodes have at most what `accuracy` says of
            unpublished ones.

        Raises
        ------
        ParameterError
            If the release was read from a file that says nothing of nodes that were not published.
        """
        from hushcount.releases.trees.levels import table_by_level

        return table_by_level(self)

    def _unpublished(self, label: NodeLabel) -> NodeEstimate:
        """Return what is known about a node from the topmost published nodes below it."""
        import numpy as np

        rows = self.rows
        below = np.array([label.holds(text) for text in rows.nodes.to_pylist()] + [False])
        tops = np.flatnonzero(below[:-1] & ~below[rows.parents])
        found = Tops(rows.levels[tops], rows.totals[tops], int(below.sum()))
        known = self.error.unpublished(label.level, found, self.confidence)
        return NodeEstimate(label.text, label.level, False, *known, self.confidence)

    def accuracy(self, confidence: float = 0.95) -> TreeAccuracy:
        """Return what is known about the error, in words and numbers.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability with which the bounds hold: those of the table for a node that you pick before
            you see it, those of `all_nodes` for all nodes at once.
        """
        checked = check_confidence(confidence)
        return TreeAccuracy(checked, self.error.sentences(checked), self.error.all_nodes(checked))


def _column(values: Integers, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return whole numbers as an Arrow column, null where they are missing."""
    import pyarrow as pa

    return pa.array(values, pa.int64(), mask=missing)
