"""The `TreeRelease` value: published nodes of a hierarchy, their residuals and totals, and nothing else.

Every number in it is a function of noisy values and public parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hushcount.privacy import Guarantee, check_confidence
from hushcount.releases.made import Made
from hushcount.releases.published import Published

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Integers = npt.NDArray[np.int64]


class TreeError(Protocol):
    """How far published totals may lie from the truth, from public numbers and published values only."""

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Integers, Integers | None]:
        """Return (lower, upper): one node's true total lies between them; upper is None if unbounded."""
        ...

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Return what is behind the bounds, in words."""
        ...


@dataclass(frozen=True, slots=True)
class TreeAccuracy:
    """What is known about the error of a tree at one confidence."""

    confidence: float
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {"confidence": self.confidence, "sentences": self.sentences}


@dataclass(frozen=True, slots=True, eq=False)
class TreeRows:
    """Published nodes as aligned columns.

    `nodes` are labels for people, `levels` 0 (the root) to the height (leaves), `parents` the row of the
    nearest published ancestor or -1, `residuals` noisy counts without what published descendants hold,
    `totals` noisy counts of everything below the node.
    """

    nodes: pa.Array
    levels: Integers
    parents: Integers
    residuals: Integers
    totals: Integers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeRows):
            return NotImplemented
        import numpy as np

        mine, others = ((rows.levels, rows.parents, rows.residuals, rows.totals) for rows in (self, other))
        return self.nodes.equals(other.nodes) and all(map(np.array_equal, mine, others))

    __hash__ = None  # type: ignore[assignment]  # as of arrays

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def depths(self) -> list[int]:
        """How many published ancestors each row has; rows in depth-first order."""
        depths: list[int] = []
        for parent in self.parents.tolist():
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return depths

    def first(self, rows: int) -> TreeRows:
        """Return the first rows; in depth-first order all ancestors are among them."""
        columns = (self.levels, self.parents, self.residuals, self.totals)
        return TreeRows(self.nodes.slice(0, rows), *(column[:rows] for column in columns))

    def depth_first(self) -> TreeRows:
        """Return the same rows: parents before children, siblings by total (descending), level and label."""
        import numpy as np
        import pyarrow as pa

        order = np.fromiter(self._walk(), dtype=np.int64, count=len(self))
        place = np.empty(len(self) + 1, dtype=np.int64)
        place[order] = np.arange(len(self))
        place[-1] = -1  # where there is no parent
        return TreeRows(
            self.nodes.take(pa.array(order)),
            self.levels[order],
            place[self.parents[order]],
            self.residuals[order],
            self.totals[order],
        )

    def _walk(self) -> Iterator[int]:
        """Yield the places of the rows in depth-first order."""
        names, levels, totals = self.nodes.to_pylist(), self.levels.tolist(), self.totals.tolist()
        last_first = sorted(range(len(names)), key=lambda row: (-totals[row], levels[row], names[row]))[::-1]
        children: dict[int, list[int]] = {}
        parents = self.parents.tolist()
        for row in last_first:
            children.setdefault(parents[row], []).append(row)
        waiting = children.get(-1, [])
        while waiting:
            row = waiting.pop()
            yield row
            waiting.extend(children.get(row, []))


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

        `upper` is null if no public number bounds the total from above.
        """
        import numpy as np
        import pyarrow as pa

        lower, upper = self.error.bounds(self.rows, self.confidence)
        return pa.table(
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

    def accuracy(self, confidence: float = 0.95) -> TreeAccuracy:
        """Return what is known about the error, in words.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability with which the bounds hold for a node chosen before seeing the result.
        """
        checked = check_confidence(confidence)
        return TreeAccuracy(checked, self.error.sentences(checked))


def _column(values: Integers, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return whole numbers as an Arrow column, null where they are missing."""
    import pyarrow as pa

    return pa.array(values, pa.int64(), mask=missing)
