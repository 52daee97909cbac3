"""`top` over a Spark frame: sketches of shards come from the engine, the release is made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.jobs.dealing import COUNTERS, Partitioning
from hushcount.jobs.origin import Origin
from hushcount.jobs.run import Request, check_length
from hushcount.jobs.settings import ReleaseSettings
from hushcount.jobs.spark.columns import key_columns, renamed
from hushcount.jobs.spark.files import read_files
from hushcount.jobs.spark.shards import EVENTS, USERS, ShardTask, bounded, new_sketch, shard_sketches
from hushcount.jobs.users import UserPlan, UserSettings, allowed_routes, chosen_plan
from hushcount.keys.columns import KeyColumns
from hushcount.mechanisms.base import PublicParameters
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.mechanisms.group import row_budget
from hushcount.mechanisms.user_routes import GROUP, PAMG, Route, user_routes
from hushcount.privacy import EVENT, USER, check_count
from hushcount.sketches.shards import DealtByKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hushcount.releases.release import Release

RELIABLE = 0.95


def top_of_frame(
    frame: DataFrame,
    column: str | Sequence[str] | None,
    partitioning: Partitioning,
    *,
    counters: int = COUNTERS,
    key_type: str = "auto",
    **options: Any,
) -> Release:
    """Count the keys of a frame in shards and release the heavy ones."""
    check_count("counters", counters, least=2)
    names = {field.name for field in fields(UserSettings)}
    users = UserSettings(**{name: value for name, value in options.items() if name in names})
    settings = ReleaseSettings(**{name: value for name, value in options.items() if name not in names})
    columns = KeyColumns.of(column if column is None or isinstance(column, str) else list(column), key_type)
    return release_frame(frame, columns, partitioning, counters, (settings, users))


def release_files(
    request: Request,
    partitioning: Partitioning,
    counters: int,
    asked: tuple[ReleaseSettings, UserSettings],
    checkpoint: object = None,
) -> Release:
    """The same for files, which Spark reads."""
    if checkpoint is not None:
        raise ParameterError("checkpoint does not go with the Spark engine, which repeats lost tasks itself.")
    if request.column is None:
        raise ParameterError("column must be named with the Spark engine, got None.")
    columns = KeyColumns.of(request.column, request.key_type)
    _refuse(*asked)
    more = [name for name in (asked[1].user, partitioning.row_id) if name is not None]
    frame = read_files(request.data, request.format, [*columns.names, *more])
    return release_frame(frame, columns, partitioning, counters, asked)


def release_frame(
    frame: DataFrame,
    columns: KeyColumns,
    partitioning: Partitioning,
    counters: int,
    asked: tuple[ReleaseSettings, UserSettings],
) -> Release:
    """Check what is asked for, let Spark count, release and write."""
    settings, users = asked
    _refuse(settings, users)
    columns = key_columns(frame, columns if users.user is None else columns.with_user(users.user))
    frame, safe, rule = renamed(frame, columns, partitioning)
    if users.user is None:
        release = _events(frame, ShardTask(safe, EVENTS, counters), rule, settings)
        notes: tuple[str, ...] = (partitioning.note,)
    else:
        release, notes = _users(frame, (safe, counters), rule, asked)
    origin = Origin(columns.without_user(), release.guarantee.unit, (*columns.notes, *notes))
    assumed = (*release.guarantee.assumptions, *partitioning.assumptions)
    release = replace(release, guarantee=replace(release.guarantee, assumptions=assumed))
    return settings.written(settings.finished(release, origin))


def _refuse(settings: ReleaseSettings, users: UserSettings) -> None:
    if settings.domain is not None:
        raise ParameterError("domain is not proved for shards; count without the Spark engine.")
    if users.exact:
        raise ParameterError("exact counts do not fit in bounded memory; count without the Spark engine.")


def _events(
    frame: DataFrame, task: ShardTask, partitioning: Partitioning, settings: ReleaseSettings
) -> Release:
    settings.release([new_sketch(task.kind, task.counters)], EVENT)  # refuse before Spark starts
    sketches = shard_sketches(frame, task, partitioning)
    check_length(sum(sketch.total for sketch in sketches), settings.max_events)
    return settings.release(_dealt(sketches, partitioning), EVENT)


def _users(
    frame: DataFrame,
    counted: tuple[KeyColumns, int],
    partitioning: Partitioning,
    asked: tuple[ReleaseSettings, UserSettings],
) -> tuple[Release, tuple[str, ...]]:
    columns, counters = counted
    settings, users = asked
    plan = plan_shards(settings, users, counters)
    task = _task(plan, columns, counters)
    plan.release(_together(plan, [new_sketch(task.kind, counters)]))  # refuse before Spark starts
    if plan.route.name == GROUP:  # a user's rows are single ones by now, so keys stay whole
        partitioning = Partitioning(partitioning.shards)
    sketches = shard_sketches(bounded(frame, columns, plan.bound), task, partitioning)
    check_length(sum(sketch.total for sketch in sketches), settings.max_events)
    return plan.release(_together(plan, _dealt(sketches, partitioning))), (
        *users.notes(),
        *plan.notes(),
        partitioning.note,
    )


def _dealt(sketches: list[Any], partitioning: Partitioning) -> list[Any]:
    """The shards, marked where no key is in two of them."""
    return DealtByKey(sketches) if partitioning.keeps_keys_whole else sketches


def _task(plan: UserPlan, columns: KeyColumns, counters: int) -> ShardTask:
    if plan.route.name == PAMG:
        return ShardTask(columns, USERS, counters)
    return ShardTask(columns.without_user(), EVENTS, counters)


def _together(plan: UserPlan, sketches: list[Any]) -> Any:
    """Shards as they are, or user sketches merged in the order of their shards."""
    return reduce(lambda one, other: one.merge(other), sketches) if plan.route.name == PAMG else sketches


def plan_shards(settings: ReleaseSettings, users: UserSettings, counters: int) -> UserPlan:
    """The route of the smallest reliable count for shards, by public parameters alone."""
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
    """The shard release for groups: a count this far above its floor is published with probability 0.95."""
    mechanism = ShardRelease(row_budget(settings.budget, rows), PublicParameters(unit=USER))
    failure = (1 - RELIABLE) / 2
    floor = mechanism.margin + mechanism.floor_law.least_tail(failure)
    reliable = floor + mechanism.law.quantiles(2 * failure)[1] + 1
    way = f"SpaceSaving sketches of the shards, noise for {rows} rows of a user together"
    return Route(GROUP, floor, reliable, way)
