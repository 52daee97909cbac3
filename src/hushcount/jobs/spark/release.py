"""`top` on Spark: sketches of shards come from the executors, the release is made here, on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.jobs.dealing import COUNTERS, SHARDS, Partitioning
from hushcount.jobs.origin import Origin
from hushcount.jobs.run import Request, check_length
from hushcount.jobs.settings import ReleaseSettings
from hushcount.jobs.spark import is_frame
from hushcount.jobs.spark.columns import key_columns, renamed
from hushcount.jobs.spark.files import local_files, read_files
from hushcount.jobs.spark.shards import EVENTS, USERS, ShardSketch, ShardTask, bounded, shard_sketches
from hushcount.jobs.users import UserPlan, UserSettings, allowed_routes, chosen_plan
from hushcount.keys.columns import KeyColumns
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.mechanisms.users import GROUP, PAMG, Route, row_budget, user_routes
from hushcount.noise.bits import system_bits
from hushcount.privacy import USER, check_count
from hushcount.shapes import ManyKeys, Public, Shards
from hushcount.sketches.merged import MergedCounters
from hushcount.sketches.shards import DealtByKey, shards_of
from hushcount.sketches.user_misra_gries import UserMisraGries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hushcount.releases.release import Release
    from hushcount.shapes import ManyKeys, Shards

RELIABLE = 0.95
FRAME_ROWS = (
    "each row of the frame is made from one event, whatever the other rows are (asserted by the caller)"
)


def top(
    frame: DataFrame,
    *,
    column: str | Sequence[str],
    epsilon: float,
    delta: float,
    counters: int = COUNTERS,
    shards: int = SHARDS,
    partition_by: str | None = None,
    row_id: str | None = None,
    files_cut_by: str | None = None,
    key_type: str = "auto",
    **options: Any,
) -> Release:
    """Count the keys of a Spark frame in shards and publish the frequent ones with differential privacy.

    Each row must be made from one event, whatever the other rows are; the guarantee lists this as an
    assumption. Protects one event, not one person, unless `user` is given.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows to count. Frames that Spark numbers, draws or samples are refused.
    column : str or sequence of str
        Column to count; several columns count as combinations.
    epsilon, delta : float
        Limit on the privacy loss, and the probability with which it may fail.
    counters : int
        Counters of each shard. More counters mean lower floors and more memory on the driver.
    shards : int
        Number of shards.
    partition_by : {"key", "file"}, optional
        Assign rows to shards by their key (the default), or by their file, which needs `files_cut_by`.
    row_id : str, optional
        Assign rows to shards by this column instead, if one key has too many rows for one task. It must be
        stored with each row; the guarantee lists this as an assumption.
    files_cut_by : str, optional
        Your statement, in words, of the attribute of a row on which alone its file depends.
    key_type : {"auto", "text", "int"}
        How keys are read.
    **options
        As in `hushcount.top`: user, max_keys, keep_duplicates, count, max_events_per_user, mechanism,
        max_events, confidence, limit, min_count and output.

    Returns
    -------
    Release
        The table, its guarantee and its accuracy.

    Raises
    ------
    ParameterError
        If something is asked for that is not proved for shards.
    DataError
        If the frame cannot be counted.

    Examples
    --------
    >>> hc.engines.spark.top(frame, column="url", epsilon=1.0, delta=1e-8)  # doctest: +SKIP
    """
    if not is_frame(frame):
        raise ParameterError(f"frame must be a Spark frame, got {type(frame).__name__}.")
    names = {field.name for field in fields(UserSettings)}
    users = UserSettings(**{name: value for name, value in options.items() if name in names})
    others = {name: value for name, value in options.items() if name not in names}
    settings = ReleaseSettings(epsilon=epsilon, delta=delta, **others)
    request = Request(frame, column if isinstance(column, str) else list(column), None, key_type)
    partitioning = Partitioning(shards, partition_by, row_id, users.user, files_cut_by)
    return count_on_spark(request, partitioning, counters, (settings, users))


def count_on_spark(
    request: Request,
    partitioning: Partitioning,
    counters: int,
    asked: tuple[ReleaseSettings, UserSettings],
    checkpoint: object = None,
) -> Release:
    """Count the files or the frame of a request on Spark, release the sketches and write the table."""
    settings, users = asked
    _refuse(settings, users, checkpoint)
    check_count("counters", counters, least=2)
    columns = KeyColumns.of(request.column, request.key_type)
    if is_frame(request.data):
        if request.sql is not None or request.format is not None:
            raise ParameterError("sql and format cannot be combined with a Spark frame.")
        frame, assumed = request.data, (FRAME_ROWS, *partitioning.assumptions)
    else:
        if request.column is None:
            raise ParameterError("column must be named with the Spark engine, got None.")
        more = [name for name in (users.user, partitioning.row_id) if name is not None]
        names = dict.fromkeys([*columns.names, *more])
        frame, assumed = read_files(request.data, request.format, list(names)), partitioning.assumptions
    release = _release_frame(frame, columns, partitioning, counters, asked)
    guarantee = release.guarantee
    whole = replace(guarantee, assumptions=(*guarantee.assumptions, *assumed))
    return settings.written(replace(release, guarantee=whole))


def _release_frame(
    frame: DataFrame,
    columns: KeyColumns,
    partitioning: Partitioning,
    counters: int,
    asked: tuple[ReleaseSettings, UserSettings],
) -> Release:
    """Check the columns, let Spark count, and release."""
    settings, users = asked
    columns = key_columns(frame, columns if users.user is None else columns.with_user(users.user))
    frame, safe, rule = renamed(frame, columns, partitioning)
    if users.user is None:
        release = _events(frame, ShardTask(safe, EVENTS, counters), rule, settings)
        notes: tuple[str, ...] = (partitioning.note,)
    else:
        release, notes = _users(frame, (safe, counters), rule, asked)
    origin = Origin(columns.without_user(), release.guarantee.unit, (*columns.notes, *notes))
    return settings.finished(release, origin)


def _refuse(settings: ReleaseSettings, users: UserSettings, checkpoint: object) -> None:
    """Raise for what shards cannot do."""
    if checkpoint is not None:
        raise ParameterError(
            "checkpoint cannot be combined with the Spark engine, which repeats lost tasks by itself."
        )
    if settings.domain is not None:
        raise ParameterError("domain is not proved for shards; count without the Spark engine.")
    if users.exact:
        raise ParameterError("exact counts do not fit in bounded memory; count without the Spark engine.")


def _events(
    frame: DataFrame, task: ShardTask, partitioning: Partitioning, settings: ReleaseSettings
) -> Release:
    """Count and release events."""
    mechanism = settings.prepared(shards_of([task.new_sketch()]).public())
    sketches = _counted(frame, task, partitioning, settings.max_events)
    return mechanism.release(shards_of(sketches), system_bits())


def _counted(
    frame: DataFrame, task: ShardTask, partitioning: Partitioning, max_events: int | None
) -> list[ShardSketch]:
    """Return the sketches of the shards, marked if no key is in two of them."""
    files = local_files(frame)
    sketches = shard_sketches(frame, task, partitioning)
    for file in files:
        file.check_unchanged()
    check_length(sum(sketch.total for sketch in sketches), max_events)
    return DealtByKey(sketches) if partitioning.keeps_keys_whole else sketches


def _users(
    frame: DataFrame,
    counted: tuple[KeyColumns, int],
    partitioning: Partitioning,
    asked: tuple[ReleaseSettings, UserSettings],
) -> tuple[Release, tuple[str, ...]]:
    """Cut what each user contributes, count and release; return also what is to be noted."""
    columns, counters = counted
    settings, users = asked
    plan = plan_shards(settings, users, counters)
    task = _task(plan, columns, counters)
    mechanism = plan.settings.prepared(_together(plan, [task.new_sketch()]).public())
    if plan.route.name == GROUP:  # after the cut a user's rows are single ones, so keys stay whole
        partitioning = Partitioning(partitioning.shards)
    sketches = _counted(bounded(frame, columns, plan.bound), task, partitioning, settings.max_events)
    release = plan.stating(mechanism.release(_together(plan, sketches), system_bits()))
    return release, (*users.notes(), *plan.notes(), partitioning.note)


def _task(plan: UserPlan, columns: KeyColumns, counters: int) -> ShardTask:
    """Return what a task counts on the route of the plan."""
    if plan.route.name == PAMG:
        return ShardTask(columns, USERS, counters)
    return ShardTask(columns.without_user(), EVENTS, counters)


def _together(plan: UserPlan, sketches: list[ShardSketch]) -> Shards | ManyKeys:
    """Return the shape of the shards, or of user sketches merged in the order of their shards."""
    for sketch in sketches:
        sketch.unit = replace(USER, rows=plan.bound.largest)
    first, *others = sketches
    if not isinstance(first, UserMisraGries):
        return shards_of(sketches)
    merged: UserMisraGries | MergedCounters = first
    for other in others:
        merged = merged.merge(other)
    return merged.shape()


def plan_shards(settings: ReleaseSettings, users: UserSettings, counters: int) -> UserPlan:
    """Return the route of the smallest reliable count for shards, by public parameters alone."""
    bound = users.bound()
    routes = [_shard_route(settings, bound.largest)]
    routes += [
        route
        for route in user_routes(settings.epsilon, settings.delta, bound.largest, counters)
        if route.name == PAMG
    ]
    mechanism = None if settings.mechanism == ShardRelease.name else settings.mechanism
    allowed = allowed_routes(mechanism, users)
    open_to = sorted((route for route in routes if route.name in allowed), key=lambda route: route.reliable)
    named = None if open_to and open_to[0].name == GROUP else settings.mechanism
    return chosen_plan(replace(settings, mechanism=named), users, open_to)


def _shard_route(settings: ReleaseSettings, rows: int) -> Route:
    """Return the shard release for groups: the count that it publishes with probability 0.95."""
    mechanism = ShardRelease(row_budget(settings.budget, rows), Public(unit=USER))
    failure = (1 - RELIABLE) / 2
    floor = mechanism.margin + mechanism.floor_law.least_tail(failure)
    reliable = floor + mechanism.law.quantiles(2 * failure)[1] + 1
    way = f"SpaceSaving sketches of the shards, noise for {rows} rows of a user together"
    return Route(GROUP, floor, reliable, way)
