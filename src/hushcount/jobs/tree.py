"""`tree`: from data to a private tree of its hierarchical heavy hitters in one call."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.files.atomic import Outputs, PathLike, check_writable
from hushcount.hierarchies.base import check_on_bad, good_leaves
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.jobs.leaves import SortedLeaves
from hushcount.jobs.run import Ask, Progress, Request, run
from hushcount.privacy import Budget, check_confidence, check_count, check_max_events
from hushcount.releases.views.icicle import check_plot, prepare_icicle
from hushcount.releases.writers import check_output
from hushcount.shapes import Public

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Hierarchy
    from hushcount.jobs.origin import Origin
    from hushcount.jobs.run import Run
    from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
    from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
    from hushcount.releases.tree import TreeRelease
    from hushcount.shapes import Sketch

COUNTERS = 16384
METHODS = ("offline", "streaming")
COLUMNS = "columns:"
ON_BAD_NOTES = {
    "drop": "Malformed keys are dropped.",
    "fail": "A malformed key stops the run, and that it did not is outside the guarantee.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSettings:
    """Budget, threshold and method of a tree, and what is done with it once it is private."""

    epsilon: float
    delta: float
    threshold: int | None = None
    share: float | None = None
    max_events: int | None = None
    method: str = "offline"
    counters: int | None = None
    on_bad: str = "drop"
    confidence: float = 0.95
    output: str | os.PathLike[str] | None = None
    plot: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        check_max_events(self.max_events, self.budget.delta)
        check_confidence(self.confidence)
        check_on_bad(self.on_bad)
        if self.method not in METHODS:
            raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {self.method}.")
        if self.counters is not None and self.method == "offline":
            raise ParameterError("counters goes with method streaming; offline counts all keys.")
        self.least_residual()
        for path, check in ((self.output, check_output), (self.plot, check_plot)):
            if path is not None:
                check(path)
                check_writable(path)

    @property
    def budget(self) -> Budget:
        """What the release spends."""
        return Budget(self.epsilon, self.delta)

    def least_residual(self) -> int:
        """The threshold: given, or a share of the public bound on the number of events."""
        if (self.threshold is None) == (self.share is None):
            raise ParameterError(
                f"Give either threshold or share, got threshold = {self.threshold} and share = {self.share}."
            )
        if self.threshold is not None:
            return check_count("threshold", self.threshold)
        return _of_share(self.share, self.max_events)

    def mechanism(self, public: Public) -> HierarchyRelease | LevelFloorRelease:
        """Return the mechanism of this method, or raise if the threshold is too small."""
        if self.method == "offline":
            from hushcount.mechanisms.hierarchy.offline import HierarchyRelease

            return HierarchyRelease(self.budget, public, self.least_residual())
        from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease

        return LevelFloorRelease(self.budget, public, self.least_residual())

    def finished(self, whole: TreeRelease, notes: tuple[str, ...]) -> TreeRelease:
        """The tree with its notes and intervals as asked, written where asked."""
        tree = whole.with_notes(ON_BAD_NOTES[self.on_bad], *notes).at_confidence(self.confidence)
        with Outputs() as outputs:
            if self.output is not None:
                tree.prepare(self.output, outputs)
            if self.plot is not None:
                prepare_icicle(tree, self.plot, outputs)
            outputs.commit()
        return tree


def _of_share(share: Any, max_events: int | None) -> int:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ParameterError(f"share must be a number above 0 and at most 1, got {share}.")
    if max_events is None:
        raise ParameterError("share needs max_events, the public bound it is a share of, got None.")
    return math.ceil(share * max_events)


def tree(
    data: Any = None,
    *,
    hierarchy: Any,
    epsilon: float,
    delta: float,
    column: str | list[str] | None = None,
    height: int | None = None,
    threshold: int | None = None,
    share: float | None = None,
    max_events: int | None = None,
    method: str = "offline",
    counters: int | None = None,
    on_bad: str = "drop",
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    confidence: float = 0.95,
    output: str | os.PathLike[str] | None = None,
    plot: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> TreeRelease:
    """Release the hierarchical heavy hitters of `data` with (epsilon, delta)-DP.

    `hierarchy` is a name ("ipv4/8", "domain", "path/4", "date", "columns:country,city",
    "parents:FILE.csv") or a function key -> parent with a `height`. A node is published if its noisy
    residual (its count without what published descendants hold) reaches `threshold`, or `share` of
    `max_events`. "offline" counts all keys, out of core; "streaming" keeps `counters` of each level.
    Protects one event, not one person.

    >>> visits = ["/shop/tea"] * 900 + [f"/shop/{item}" for item in range(800)] + ["/about"] * 700
    >>> release = tree(visits, hierarchy="path/2", threshold=200, epsilon=1.0, delta=1e-9)
    >>> release.nodes.to_pylist()
    ['/shop', '/shop/tea', '/about/·']
    """
    settings = TreeSettings(
        epsilon=epsilon,
        delta=delta,
        threshold=threshold,
        share=share,
        max_events=max_events,
        method=method,
        counters=counters,
        on_bad=on_bad,
        confidence=confidence,
        output=output,
        plot=plot,
    )
    request = Request(data, column, format, key_type, sql)
    wanted = parse_hierarchy(hierarchy, height)
    return count_and_release(request, wanted, settings, checkpoint=checkpoint, progress=progress)


def count_and_release(
    request: Request,
    hierarchy: Hierarchy,
    settings: TreeSettings,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> TreeRelease:
    """Count, release, write, and only then give up the checkpoint."""
    if settings.method == "offline" and checkpoint is not None:
        raise ParameterError("checkpoint goes with method streaming; an offline tree begins anew.")
    settings.mechanism(Public(height=hierarchy.height))  # refuse a threshold before a source is opened
    request = with_columns(request, hierarchy)
    if settings.method == "offline":
        return run(OfflineTreeAsk(request, hierarchy, settings), progress=progress)
    return run(TreeAsk(request, hierarchy, settings, checkpoint is not None), checkpoint, progress)


def with_columns(request: Request, hierarchy: Hierarchy) -> Request:
    """The request with the columns that a hierarchy of columns names; any other takes one column."""
    if not hierarchy.name.startswith(COLUMNS):
        if isinstance(request.column, list) and len(request.column) > 1:
            raise ParameterError(
                f"column must be one column with hierarchy {hierarchy.name}, got {', '.join(request.column)};"
                " hierarchy columns:A,B,... takes several."
            )
        return request
    if request.column is not None:
        raise ParameterError(f"column must be left out with hierarchy {hierarchy.name}, which names them.")
    names = hierarchy.name.removeprefix(COLUMNS).split(",")
    return replace(request, column=names if len(names) > 1 else names[0])


@dataclass(frozen=True, slots=True)
class TreeAsk(Ask["TreeRelease"]):
    """A tree in one pass, with one sketch per level; `saved` if there will be a checkpoint."""

    request: Request
    hierarchy: Hierarchy
    settings: TreeSettings
    saved: bool = False

    @property
    def outputs(self) -> tuple[PathLike | None, ...]:
        """The table and the picture."""
        return (self.settings.output, self.settings.plot)

    @property
    def max_events(self) -> int | None:
        """The public bound on the number of events."""
        return self.settings.max_events

    def sketch(self) -> Sketch:
        """Return an empty sketch of all levels; one that will be saved needs a hierarchy that has a name."""
        from hushcount.sketches.levels import HierarchySketch

        counters = self.settings.counters
        sketch = HierarchySketch(self.hierarchy, COUNTERS if counters is None else counters)
        if self.saved:
            sketch.to_bytes()
        return sketch

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Count all keys; a malformed one is dropped, or stops the run if the caller asked for that."""
        if self.settings.on_bad == "fail":
            reading.look = partial(good_leaves, self.hierarchy, on_bad="fail")
        reading.count(progress)

    def mechanism(self, public: Public) -> HierarchyRelease | LevelFloorRelease:
        """Return the mechanism of the method."""
        return self.settings.mechanism(public)

    def finish(self, whole: TreeRelease, origin: Origin) -> TreeRelease:
        """Return the tree as asked, written where asked."""
        return self.settings.finished(whole, origin.notes)


@dataclass(frozen=True, slots=True)
class OfflineTreeAsk(TreeAsk):
    """A tree of the exact counts of all leaves, which are sorted out of core."""

    def sketch(self) -> Sketch:
        """Return the leaves, not read yet."""
        return SortedLeaves(self.hierarchy, self.settings.on_bad, self.settings.max_events)

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Read and sort all rows; what the noise needs then comes back in order, and cannot fail any more."""
        reading.sketch.read(reading.source, progress)
