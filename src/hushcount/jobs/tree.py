"""`tree`: from data to a private tree of its hierarchical heavy hitters in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.hierarchies.base import Hierarchy, good_leaves
from hushcount.jobs.choices import LEVEL_COUNTERS
from hushcount.jobs.leaves import AnyTreeAsk
from hushcount.jobs.request import AskedHierarchy, Progress, Request, with_columns
from hushcount.jobs.run import Run, Running, check_length, drawn
from hushcount.jobs.settings import taken
from hushcount.jobs.trees.known import known_ask
from hushcount.jobs.trees.offline import offline_ask
from hushcount.jobs.trees.settings import TreeSettings
from hushcount.jobs.trust.dry_run import dry_sketch, run_or_rehearse
from hushcount.jobs.trust.spending import Recorded
from hushcount.jobs.users import UserSettings
from hushcount.keys.memory import Data
from hushcount.keys.plain import MAX_KEY_BYTES
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.releases.tree import TreeRelease
from hushcount.sketches.levels import HierarchySketch


def tree(
    data: Data = None,
    *,
    hierarchy: Hierarchy | str | Callable[[str], str],
    epsilon: float | None = None,
    delta: float,
    rho: float | None = None,
    column: str | Sequence[str] | None = None,
    height: int | None = None,
    threshold: int | None = None,
    share: float | None = None,
    max_events: int | None = None,
    method: str = "offline",
    counters: int | None = None,
    by_level: bool = False,
    domain: Data = None,
    user: str | None = None,
    max_keys: int | None = None,
    weight: str | None = None,
    max_weight: int | None = None,
    times: str | None = None,
    on_bad: str = "drop",
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    relation: str | None = None,
    max_key_bytes: int = MAX_KEY_BYTES,
    confidence: float = 0.95,
    output: PathLike | None = None,
    plot: PathLike | None = None,
    report: PathLike | None = None,
    checkpoint: PathLike | None = None,
    progress: Progress | None = None,
    allow_large_delta: bool = False,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    run_id: str | None = None,
    again: bool = False,
    window: str | None = None,
    time: str | None = None,
    time_zone: str | None = None,
    dry_run: bool = False,
) -> TreeRelease:
    """Publish the heavy nodes of a hierarchy over the keys with (epsilon, delta)-differential privacy.

    A node is published if its noisy residual, its count without what published descendants hold, reaches the
    threshold. Protects one event, or with `user` one person.

    Parameters
    ----------
    data : path, frame, array or iterable, optional
        What to count: a HierarchySketch, a file, folder or glob ("-" for standard input), a pandas
        or polars frame, an Arrow table, an array, or an ordered iterable of keys. Leave it out with
        `sql`.
    hierarchy : str, function or hierarchy
        "ipv4/8", "ipv6/16", "ip/8" for both, "domain", "path/4", "date", "columns:country,city",
        "parents:FILE.csv", or a function that returns the parent of a key, with `height`.
    epsilon : float, optional
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float
        Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people. 0
        for a hierarchy of which everybody knows all nodes.
    rho : float, optional
        In place of epsilon, for Gaussian noise: the budget in zero-concentrated differential privacy.
    column : str or list of str, optional
        The column to count; a list counts combinations of columns. The only column need not be named.
    height : int, optional
        The number of levels below the root, for a function or a parent table.
    threshold : int, optional
        The smallest noisy residual of a published node. Give either `threshold` or `share`.
    share : float, optional
        The threshold as a share of `max_events`.
    max_events : int, optional
        A public bound on the number of events, not taken from the data; more events are an error.
    method : {"offline", "streaming"}
        Count all keys, out of core, or keep `counters` counters per level in one pass.
    counters : int, optional
        Streaming: counters per level (16384).
    by_level : bool
        Publish every node whose noisy count reaches the threshold, level by level; no node takes anything
        from another.
    domain : "A..B", list of keys or path, optional
        All keys that can occur, known to everybody; rows of other keys are ignored. Needs delta=0, at which
        all nodes above them have noise. Tables of parents and IPv4 addresses need no domain for delta=0.
    user : str, optional
        The column of the users. Then one user is protected, not one event.
    max_keys : int, optional
        With `user`: keep at most this many different keys of each user.
    weight : str, optional
        The column of how much a row counts, a whole number, such as bytes; for method="offline". A total is
        then a sum of it.
    max_weight : int, optional
        With `weight`: the most that one row may count (1); larger weights are cut to it, row by row. The
        threshold grows with it.
    times : str, optional
        The column of how often a row was counted already: the row stands for so many events.
    on_bad : {"drop", "fail"}
        Drop malformed and too long keys, or stop at the first.
    format : str, optional
        The format of a file, if its extension does not show it: lines, csv, tsv, jsonl, parquet or arrow.
    key_type : {"auto", "text", "int"}
        How keys are read; keys of CSV and JSON files are text unless this is "int".
    sql : str, optional
        A DuckDB query whose rows are counted in place of `data`, or a query of `data` if that is a database:
        postgresql://..., a DuckDB or SQLite file, or an ADBC connection.
    relation : str, optional
        In place of `sql`: the table or view of a database whose rows are counted.
    max_key_bytes : int
        The longest key, in bytes.
    confidence : float
        The confidence of the intervals.
    output : path, optional
        Also write the table: .csv, .tsv, .parquet or .json.
    plot : path, optional
        Also draw the tree as an icicle: .svg.
    report : path, optional
        Also write a page for people with everything in it: .html.
    checkpoint : path, optional
        A file (raw data) in which progress is saved. Streaming only: a stopped run continues
        from it, and it is removed when the release has been written.
    progress : callable, optional
        `progress(done, size)` is called with the bytes read so far and in all, None if that is unknown.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.
    ledger, dataset, run_id, again, window, time, time_zone, dry_run
        As in `hushcount.top`.

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


def tree_of(values: Mapping[str, object]) -> TreeRelease:
    """Do what the parameters of `tree` ask for; a sketch that the caller has counted is only released."""
    if isinstance(values["data"], HierarchySketch):
        if values.get("user") is not None:
            raise ParameterError("a HierarchySketch has been counted; leave out user and max_keys.")
        asked, settings = taken(AskedHierarchy, values), taken(TreeSettings, values)
        request = with_columns(taken(Request, values), asked.parsed)
        return _released(request, asked.parsed, settings, bool(values.get("dry_run")))
    return run_or_rehearse(tree_job(values), values)


def tree_job(values: Mapping[str, object]) -> tuple[AnyTreeAsk, Running]:
    """Return what `tree` is asked for."""
    asked, users = taken(AskedHierarchy, values), taken(UserSettings, values)
    settings, running = taken(TreeSettings, values), taken(Running, values)
    request = with_columns(taken(Request, values, beside=asked.files), asked.parsed)
    if users.user is not None:
        request, running = request.of_users(users, running.progress), running.of_users()
    pure = settings.budget.delta == 0
    request.check_weight(
        settings.offline and (pure or not settings.by_level), 'Take method="offline" without by_level=True.'
    )
    if not settings.offline:
        counters = LEVEL_COUNTERS if settings.counters is None else settings.counters
        sketch = HierarchySketch(asked.parsed, counters)
        sketch.unit = request.unit
        if running.checkpoint is not None:
            sketch.to_bytes()  # a sketch that will be saved needs a hierarchy that has a name
        return TreeAsk(request, settings, sketch), running
    if running.checkpoint is not None:
        raise ParameterError(
            'checkpoint needs method="streaming"; an offline tree starts from the beginning.'
        )
    asking = known_ask if pure else offline_ask
    return asking(replace(request, ordered=False), settings, asked.parsed), running


def _released(
    request: Request, hierarchy: Hierarchy, settings: TreeSettings, dry: bool = False
) -> TreeRelease:
    """Release a sketch that the caller has counted; its hierarchy must be the one that is named."""
    sketch: HierarchySketch = request.data
    if sketch.hierarchy.name != hierarchy.name:
        raise ParameterError(
            f"hierarchy must be that of the sketch, {sketch.hierarchy.name}, got {hierarchy.name}."
        )
    settings.check_delta()
    ask = TreeAsk(Request(), settings, sketch)
    _, mechanism = ask.prepare()
    law: tuple[object, ...] = (mechanism.name, mechanism.public, ask.law(), mechanism.threshold)
    law = (*law, "by level") if settings.by_level else law
    plan = request.planned_sketch(mechanism.event(), sketch.unit, law)
    if dry:
        check_length(sketch.total, settings.max_events)
        return cast("TreeRelease", dry_sketch(mechanism, settings, request.preview(plan), sketch.unit))
    recorded: Recorded[TreeRelease] = request.reserve(plan)
    published = recorded.stored()
    if published is None:
        check_length(sketch.total, settings.max_events)
        shape = sketch.shape()
        published = recorded.drawn(lambda: settings.published(drawn(mechanism, shape)))
    return settings.finished(published)


@dataclass(frozen=True)
class TreeAsk(AnyTreeAsk):
    """A tree in one pass, with one sketch per level."""

    sketch: HierarchySketch

    def prepare(self) -> tuple[HierarchySketch, LevelFloorRelease]:
        """Return the sketch and its mechanism, or raise if the threshold is too small."""
        threshold, public = self.settings.least_residual(), self.sketch.public()
        by_level = self.settings.by_level
        return self.sketch, LevelFloorRelease(self.settings.budget, public, threshold, by_level)

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Count all keys; a malformed one is dropped, or stops the run if the caller asked for that."""
        if self.settings.on_bad == "fail":
            reading.look = partial(good_leaves, self.sketch.hierarchy, on_bad="fail")
        reading.count(progress)
