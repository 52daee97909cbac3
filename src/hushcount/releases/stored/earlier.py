"""Releases that hold only what was stated at one confidence: files of version 1, and foreign error models.

Whatever needs more than that is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.privacy import check_confidence
from hushcount.releases.release import Release
from hushcount.releases.stored.exact import Plain, fields_from, list_from, text_from, texts_from
from hushcount.releases.stored.guarantees import guarantee_from, json_number
from hushcount.releases.tree import TreeRelease
from hushcount.releases.trees.nodes import Tops, TreeRows

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts

BOUNDS = ("below", "above", "simultaneous_below", "simultaneous_above")
NODES = ("node", "level", "parent", "residual", "total")
BESIDE = ("count", "lower", "upper", "sanitised", "estimate")  # columns that are not keys
LACKING = (
    "This file is of version 1, so it lacks the numbers behind its intervals: they are known at confidence"
    " {confidence:g} only, there are no sums and estimators, and keys that are neither text nor whole numbers"
    " are text. Nothing in it can be verified."
)


@dataclass(frozen=True, slots=True, eq=False)
class StatedError:
    """What is stated about the error at one confidence; nothing is known at another.

    `said` are sentences, and `table` holds the columns beside the keys, in the order of the rows.
    """

    confidence: float
    below: int | None
    above: int | None
    simultaneous_below: int | None
    simultaneous_above: int | None
    said: tuple[str, ...]
    table: pa.Table
    published_from: int | None = None
    unpublished_at_most: int | None = None

    @classmethod
    def of(cls, release: Release | TreeRelease) -> StatedError:
        """Return what a release states at its own confidence."""
        confidence, table = release.confidence, release.table
        if isinstance(release, TreeRelease):
            bounds = table.select(["lower", "upper"])
            return cls(confidence, None, None, None, None, release.accuracy(confidence).sentences, bounds)
        accuracy = release.accuracy(confidence)
        said = accuracy.sentences[1:] if release.counted.meaning else accuracy.sentences
        together = (accuracy.simultaneous_below, accuracy.simultaneous_above)
        beside = table.drop_columns(release.keys.column_names)
        missing = (accuracy.published_from, accuracy.unpublished_at_most)
        return cls(confidence, accuracy.below, accuracy.above, *together, said, beside, *missing)

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """Return the stated widths for one key."""
        self._check(confidence)
        if self.below is None:
            raise ParameterError("This release was read from a file that states no interval for one key.")
        return self.below, self.above

    def simultaneous(self, confidence: float) -> tuple[int, int | None] | None:
        """Return the stated widths for all published keys at once, if there are any."""
        self._check(confidence)
        below = self.simultaneous_below
        return None if below is None else (below, self.simultaneous_above)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Return the stated sentences."""
        self._check(confidence)
        return self.said

    def columns(self, counts: Counts, confidence: float) -> dict[str, Counts]:
        """Return the stated columns of the first rows: cuts keep the largest counts."""
        self._check(confidence)
        table = self.table.slice(0, len(counts))
        return {name: table[name].combine_chunks() for name in table.column_names}

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Counts, Counts | None]:
        """Return the stated bounds of the totals of a tree."""
        self._check(confidence)
        lower, upper = self.table["lower"], self.table["upper"]
        return lower.to_numpy(), None if upper.null_count else upper.to_numpy()

    def near(self, rows: TreeRows, confidence: float) -> None:
        """Say nothing: the file does not state it."""

    def all_nodes(self, confidence: float) -> None:
        """Say nothing: the file does not state it."""

    def unpublished(self, level: int, tops: Tops, confidence: float) -> tuple[int, int, int]:
        """Refuse: the file does not state it."""
        raise ParameterError("This release was read from a file that says nothing of unpublished nodes.")

    def _check(self, confidence: float) -> None:
        """Raise unless the bounds are asked for at the confidence at which they are stated."""
        if confidence != self.confidence:
            raise ParameterError(
                f"This release was read from a file that states its error at confidence {self.confidence:g}"
                f" only, got {confidence:g}."
            )


def first_version(values: dict[str, Plain]) -> Release | TreeRelease:
    """Return the release of a document of version 1, or raise; its notes say what it lacks."""
    guarantee = guarantee_from(values["guarantee"], exact=False)
    accuracy = values["accuracy"]
    if not isinstance(accuracy, dict):
        raise ValueError("accuracy")
    confidence = check_confidence(json_number(accuracy["confidence"]))
    notes = (*texts_from(values["notes"]), LACKING.format(confidence=confidence))
    said, table = texts_from(accuracy["sentences"]), _table(values["rows"], values["kind"] == "tree")
    if values["kind"] == "tree":
        error = StatedError(confidence, None, None, None, None, said, table.select(["lower", "upper"]))
        threshold, height = (_whole(values[name]) for name in ("threshold", "height"))
        hierarchy = text_from(values["hierarchy"])
        return TreeRelease(_nodes(table), guarantee, error, threshold, hierarchy, height, notes, confidence)
    if values["kind"] != "release":
        raise ValueError("kind")
    below, above, together_below, together_above = (_maybe(accuracy[name]) for name in BOUNDS)
    beside = [name for name in table.column_names if name in BESIDE]
    bounds = (below, above, together_below, together_above)
    error = StatedError(confidence, *bounds, said, table.select(beside))
    keys = table.drop_columns(beside) if table.num_columns > len(beside) else pa.table({"key": pa.nulls(0)})
    published = table["sanitised" if "sanitised" in beside else "count"].cast(pa.int64(), safe=False)
    floor = _maybe(values["floor"])
    return Release(keys, published.combine_chunks(), guarantee, error, floor, notes, confidence)


def _table(rows: Plain, tree: bool) -> pa.Table:
    """Return the rows of a document as a table, or raise."""
    listed = list_from(rows, _row)
    if not listed:
        none = pa.array([], pa.int64())
        return pa.table(dict.fromkeys((*NODES, "lower", "upper") if tree else BESIDE[:3], none))
    names = tuple(listed[0])
    columns = {name: pa.array([fields_from(row, names)[name] for row in listed]) for name in names}
    for name in {"lower", "upper"} & set(names):
        columns[name] = columns[name].cast(pa.int64())
    return pa.table(columns)


def _row(value: Plain) -> dict[str, Plain]:
    """Return one row, or raise."""
    if not isinstance(value, dict):
        raise ValueError("row")
    return value


def _nodes(table: pa.Table) -> TreeRows:
    """Return the nodes of a tree, or raise; labels are different, so a parent is found by its label."""
    labels = table["node"].cast(pa.string()).combine_chunks()
    place: dict[str | None, int] = {label: row for row, label in enumerate(labels.to_pylist())}
    parents = [-1 if label is None else place[label] for label in table["parent"].to_pylist()]
    levels, residuals, totals = (
        table[name].cast(pa.int64()).to_numpy() for name in ("level", "residual", "total")
    )
    return TreeRows(labels, levels, np.array(parents, np.int64), residuals, totals)


def _whole(value: Plain) -> int:
    """Return a whole number, or raise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("whole number")
    return value


def _maybe(value: Plain) -> int | None:
    return None if value is None else _whole(value)
