"""`tree`: from data to a private tree of its hierarchical heavy hitters in one call."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.files.atomic import check_writable
from hushcount.hierarchies.base import check_on_bad, good_leaves
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.jobs.origin import Origin
from hushcount.jobs.run import Progress, Request, check_length, open_run
from hushcount.noise.bits import system_bits
from hushcount.privacy import EVENT, Budget, PrivacyUnit, check_confidence, check_count, check_max_events
from hushcount.releases.views.icicle import check_plot, write_icicle
from hushcount.releases.writers import check_output

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.hierarchies.base import Hierarchy
    from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
    from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
    from hushcount.releases.tree import TreeRelease
    from hushcount.shapes import LeafBatch
    from hushcount.sources.source import Source

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

    def mechanism(self, height: int, unit: PrivacyUnit) -> HierarchyRelease | LevelFloorRelease:
        """The mechanism of this method; a threshold below the least private one is refused here."""
        if self.method == "offline":
            from hushcount.mechanisms.hierarchy.offline import HierarchyRelease

            return HierarchyRelease(self.budget, height, self.least_residual(), unit)
        from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease

        return LevelFloorRelease(self.budget, height, self.least_residual(), unit)

    def finished(self, whole: TreeRelease, notes: tuple[str, ...]) -> TreeRelease:
        """The tree with its notes and intervals as asked, written where asked."""
        tree = whole.with_notes(ON_BAD_NOTES[self.on_bad], *notes).at_confidence(self.confidence)
        if self.output is not None:
            tree.write(self.output)
        if self.plot is not None:
            write_icicle(tree, self.plot)
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
    settings.mechanism(hierarchy.height, EVENT)  # refuse now what would be refused after hours of counting
    request = with_columns(request, hierarchy)
    if settings.method == "streaming":
        return _streaming(request, hierarchy, settings, checkpoint, progress)
    if checkpoint is not None:
        raise ParameterError("checkpoint goes with method streaming; an offline tree begins anew.")
    return _offline(request.open(), hierarchy, settings, progress)


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


def _offline(
    source: Source, hierarchy: Hierarchy, settings: TreeSettings, progress: Progress | None
) -> TreeRelease:
    """Count all leaves out of core, and draw noise as they come back sorted."""
    from hushcount.shapes import LeafCounts

    origin = Origin.of(source)
    leaves = _Leaves(hierarchy, settings.on_bad, settings.max_events)
    batches = partial(_leaf_batches, source, leaves, progress)
    mechanism = settings.mechanism(hierarchy.height, origin.unit)
    whole = mechanism.release(LeafCounts(hierarchy, batches, origin.unit), system_bits())  # type: ignore[arg-type]
    return settings.finished(whole, origin.notes)


@dataclass(slots=True)
class _Leaves:
    """The leaves of keys, as many as the public bound allows."""

    hierarchy: Hierarchy
    on_bad: str
    max_events: int | None
    events: int = 0

    def __call__(self, keys: pa.Array) -> pa.Array:
        leaves = good_leaves(self.hierarchy, keys, self.on_bad)
        self.events += len(leaves)
        check_length(self.events, self.max_events)
        return leaves


def _leaf_batches(source: Source, leaves: _Leaves, progress: Progress | None) -> Iterator[LeafBatch]:
    from hushcount.sketches.leaves import leaf_batches
    from hushcount.sources.duckdb.leaves import CountedLeaves

    tell: Callable[[Any], None] = lambda batch: None  # noqa: E731
    if progress is not None:
        tell = lambda batch: progress(batch.bytes_read, source.size)  # noqa: E731
    counted = CountedLeaves(source, leaves, leaves.hierarchy.leaf_type)
    return leaf_batches(leaves.hierarchy, counted.batches(tell))


def _streaming(
    request: Request,
    hierarchy: Hierarchy,
    settings: TreeSettings,
    checkpoint: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> TreeRelease:
    """One pass, one sketch a level."""
    from hushcount.sketches.levels import HierarchySketch

    sketch = HierarchySketch(hierarchy, COUNTERS if settings.counters is None else settings.counters)
    if checkpoint is not None:
        sketch.to_bytes()  # refuse now a hierarchy that cannot be written
    run = open_run(request, sketch, checkpoint)
    run.max_events = settings.max_events
    run.look = partial(good_leaves, hierarchy, on_bad="fail") if settings.on_bad == "fail" else None
    run.count(progress)
    origin = Origin.of(run.source)
    mechanism = settings.mechanism(hierarchy.height, origin.unit)
    whole = mechanism.release(run.sketch.shape(), system_bits())
    release = settings.finished(whole, origin.notes)
    if run.checkpoint is not None:
        run.checkpoint.remove()
    return release
