"""Rows of a tree, and what is known about their error: the parts of a `TreeRelease`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Integers = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]


class TreeError(Protocol):
    """How far published totals may lie from the truth, from public numbers and published values only."""

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Integers, Integers | None]:
        """Return (lower, upper): one node's true total lies between them; upper is None if unbounded."""
        ...

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Return what is behind the bounds, in words."""
        ...

    def near(self, rows: TreeRows, confidence: float) -> Mask | None:
        """Return the rows so near the threshold that bounds fail more often there; None if not known."""
        ...

    def all_nodes(self, confidence: float) -> AllNodes | None:
        """Return what holds for all nodes at once, published or not; None if that is not known."""
        ...

    def unpublished(self, level: int, tops: Tops, confidence: float) -> tuple[int, int, int]:
        """Return (estimate, lower, upper) of the total of a node that was not published."""
        ...


@dataclass(frozen=True, slots=True)
class AllNodes:
    """Bounds that hold for all nodes at once, also for rows that were chosen after seeing the table.

    Published numbers are at most `above` too low and `below` too high; at each level, from the root on, a
    node that is not in the table has at most `unpublished` that no published descendant accounts for.
    """

    below: int
    above: int
    unpublished: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tops:
    """The topmost published nodes below a node that was not published.

    No published node lies between them and that node. `rows` is the number of all published nodes below it.
    """

    levels: Integers
    totals: Integers
    rows: int


@dataclass(frozen=True, slots=True)
class NodeEstimate:
    """What is known about the total of one node, published or not, at one confidence.

    `near_threshold` says that the threshold may have selected the noise of a published node.
    """

    node: str
    level: int
    published: bool
    estimate: int
    lower: int
    upper: int | None
    confidence: float
    near_threshold: bool | None = None


@dataclass(frozen=True, slots=True)
class TreeAccuracy:
    """What is known about the error of a tree at one confidence; `all_nodes` holds for all nodes at once."""

    confidence: float
    sentences: tuple[str, ...]
    all_nodes: AllNodes | None = None

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        known = self.all_nodes
        return {
            "confidence": self.confidence,
            "sentences": self.sentences,
            "simultaneous_below": None if known is None else known.below,
            "simultaneous_above": None if known is None else known.above,
            "unpublished_at_most": None if known is None else known.unpublished,
        }


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
