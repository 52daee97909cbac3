"""`tree`: from data to a private tree of its hierarchical heavy hitters in one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.hierarchies.base import good_leaves
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.jobs.leaves import SortedLeaves
from hushcount.jobs.run import Ask, Progress, Request, check_length, run
from hushcount.jobs.settings import taken
from hushcount.jobs.tree_settings import TreeSettings
from hushcount.keys.plain import MAX_KEY_BYTES
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.noise.bits import system_bits
from hushcount.privacy import (
    Budget,
)
from hushcount.shapes import Public
from hushcount.sketches.levels import HierarchySketch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hushcount.hierarchies.base import Hierarchy
    from hushcount.jobs.origin import Origin
    from hushcount.jobs.run import Run
    from hushcount.keys.memory import Data
    from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
    from hushcount.releases.tree import TreeRelease
    from hushcount.shapes import Sketch

COUNTERS = 16384
COLUMNS = "columns:"
PARENTS = "parents:"


def tree(
    data: Data = None,
    *,
    hierarchy: Hierarchy | str | Callable[[str], str],
    epsilon: float,
    delta: float,
    column: str | Sequence[str] | None = None,
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
    max_key_bytes: int = MAX_KEY_BYTES,
    confidence: float = 0.95,
    output: PathLike | None = None,
    plot: PathLike | None = None,
    checkpoint: PathLike | None = None,
    progress: Progress | None = None,
    allow_large_delta: bool = False,
) -> TreeRelease:
    """Publish the heavy nodes of a hierarchy over the keys with (epsilon, delta)-differential privacy.

    A node is published if its noisy residual, its count without what published descendants hold, reaches the
    threshold. Protects one event, not one person.

    Parameters
    ----------
    data : path, frame, array or iterable, optional
        What to count: a HierarchySketch, a file, folder or glob ("-" for standard input), a pandas
        or polars frame, an Arrow table, an array, or an ordered iterable of keys. Leave it out with
        `sql`.
    hierarchy : str, function or hierarchy
        "ipv4/8", "ipv6/16", "domain", "path/4", "date", "columns:country,city", "parents:FILE.csv", or a
        function that returns the parent of a key, with `height`.
    epsilon : float
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float
        Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people.
    column : str or list of str, optional
        The column to count; a list counts combinations of columns. The only column need not be named.
    height : int, optional
        The number of levels below the root, for a function or a parent table.
    threshold : int, optional
        The smallest noisy residual of a published node. Give either `threshold` or `share`.
    share : float, optional
        The threshold as a share of `max_events`.
    max_events : int, optional
        A bound on the number of events that may be known to all; more events are an error.
    method : {"offline", "streaming"}
        Count all keys, out of core, or keep `counters` counters per level in one pass.
    counters : int, optional
        Streaming: counters per level (16384).
    on_bad : {"drop", "fail"}
        Drop malformed and too long keys, or stop at the first.
    format : str, optional
        The format of a file, if its extension does not show it: lines, csv, tsv, jsonl, parquet or arrow.
    key_type : {"auto", "text", "int"}
        How keys are read; keys of CSV and JSON files are text unless this is "int".
    sql : str, optional
        A DuckDB query whose rows are counted in place of `data`.
    max_key_bytes : int
        The longest key, in bytes.
    confidence : float
        The confidence of the intervals.
    output : path, optional
        Also write the table: .csv, .tsv, .parquet or .json.
    plot : path, optional
        Also draw the tree as an icicle: .svg.
    checkpoint : path, optional
        A file (raw data) in which progress is saved. Streaming only: a stopped run continues
        from it, and it is removed when the release has been written.
    progress : callable, optional
        `progress(done, size)` is called with the bytes read so far and in all, None if that is unknown.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.

    Returns
    -------
    TreeRelease
        The published nodes with residuals, totals and intervals.

    Raises
    ------
    ParameterError
        If an option breaks its rule; nothing has been read then.
    DataError
        If the data cannot be read or used; nothing has been released then.

    Examples
    --------
    >>> visits = ["/shop/tea"] * 900 + [f"/shop/{item}" for item in range(800)] + ["/about"] * 700
    >>> release = tree(visits, hierarchy="path/2", threshold=200, epsilon=1.0, delta=1e-9)
    >>> release.nodes.to_pylist()
    ['/shop', '/shop/tea', '/about/·']
    """
    return tree_of(dict(locals()))


def tree_of(values: dict[str, Any]) -> TreeRelease:
    """Do what the parameters of `tree` ask for."""
    checkpoint, progress = values.pop("checkpoint"), values.pop("progress")
    named = values.pop("hierarchy")
    hierarchy = parse_hierarchy(named, values.pop("height"))
    on_bad = values["on_bad"]
    settings = taken(TreeSettings, values)
    request = with_columns(taken(Request, values | {"on_bad": on_bad}), hierarchy)
    if isinstance(named, str) and named.startswith(PARENTS):
        request = replace(request, beside=(named.removeprefix(PARENTS),))
    if isinstance(request.data, HierarchySketch):
        return _released(request.data, hierarchy, settings)
    if settings.method == "offline" and checkpoint is not None:
        raise ParameterError("checkpoint goes with method streaming; an offline tree begins anew.")
    if settings.method == "offline":
        return run(OfflineTreeAsk(replace(request, ordered=False), hierarchy, settings), progress=progress)
    return run(TreeAsk(request, hierarchy, settings, checkpoint is not None), checkpoint, progress)


def _released(sketch: HierarchySketch, hierarchy: Hierarchy, settings: TreeSettings) -> TreeRelease:
    """Release a sketch that the caller has counted; its hierarchy must be the one that is named."""
    if sketch.hierarchy.name != hierarchy.name:
        raise ParameterError(
            f"hierarchy must be that of the sketch, {sketch.hierarchy.name}, got {hierarchy.name}."
        )
    mechanism = LevelFloorRelease(settings.budget, sketch.public(), settings.least_residual())
    check_length(sketch.total, settings.max_events)
    return settings.finished(mechanism.release(sketch.shape(), system_bits()), ())


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
    return replace(request, column=names if len(names) > 1 else names[0], padded=True)


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
    def budget(self) -> Budget:
        """What the tree spends."""
        return self.settings.budget

    @property
    def max_events(self) -> int | None:
        """The public bound on the number of events."""
        return self.settings.max_events

    def sketch(self) -> Sketch:
        """Return an empty sketch of all levels; one that will be saved needs a hierarchy that has a name."""
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
