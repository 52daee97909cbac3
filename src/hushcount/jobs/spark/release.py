"""`top` on Spark in sketches of shards: they come from the executors, the release is made on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.choices import PER_SHARD, SHARDS, Partitioning
from hushcount.jobs.request import Request
from hushcount.jobs.run import Running, TableAsk
from hushcount.jobs.settings import ReleaseSettings
from hushcount.jobs.spark import is_frame
from hushcount.jobs.spark.shards import SparkRequest
from hushcount.jobs.top import top_of
from hushcount.jobs.users import (
    SKETCHES,
    UserPlan,
    UserSettings,
    allowed_routes,
    chosen_plan,
    plan_users,
    routes_for,
)
from hushcount.mechanisms.counters.key_shards import KeyShardRelease
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.mechanisms.groups import row_budget
from hushcount.mechanisms.registry import MECHANISMS
from hushcount.mechanisms.users import GROUP, Route
from hushcount.privacy import USER, check_count
from hushcount.shapes import Public, Shards

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hushcount.keys.memory import Data
    from hushcount.releases.release import Release

RELIABLE = 0.95
RELEASES = (KeyShardRelease.name, ShardRelease.name)  # of shards as they are
GROUP_WAY = "SpaceSaving sketches of the shards, noise for {} rows of a user together"


def top(
    frame: DataFrame,
    *,
    column: str | Sequence[str],
    delta: float,
    epsilon: float | None = None,
    rho: float | None = None,
    counters: int | None = None,
    shards: int | None = None,
    partition_by: str | None = None,
    row_id: str | None = None,
    files_cut_by: str | None = None,
    key_type: str = "auto",
    mechanism: str | None = None,
    max_events: int | None = None,
    confidence: float = 0.95,
    limit: int | None = None,
    per: str | None = None,
    min_count: int | None = None,
    output: PathLike | None = None,
    plot: PathLike | None = None,
    report: PathLike | None = None,
    domain: Data = None,
    user: str | None = None,
    max_keys: int | str | None = None,
    keep_duplicates: bool = False,
    exact: bool = False,
    count: str = "users",
    max_events_per_user: int | None = None,
    allow_large_delta: bool = False,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    run_id: str | None = None,
    again: bool = False,
    dry_run: bool = False,
) -> Release:
    """Count the keys of a Spark frame on Spark and publish the frequent ones with differential privacy.

    Spark counts every key exactly, unless `counters`, a rule for shards or a domain asks for sketches. Each
    row must be made from one event, whatever the other rows are; the guarantee lists this as an assumption.
    Protects one event, not one person, unless `user` is given.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows to count. Frames that Spark numbers, draws, samples or cuts off are refused, and those whose
        columns or types it guesses from the rows of files.
    column : str or sequence of str
        Column to count; several columns count as combinations.
    epsilon, rho, delta : float
        Limit on the privacy loss, and the probability with which it may fail.
    counters : int, optional
        Count in sketches of this many counters per shard (16384), whose sizes the driver can foresee, in
        place of exact counts. More counters mean lower floors.
    shards : int, optional
        Count in sketches of this many shards (64).
    partition_by : {"key", "file"}, optional
        Assign rows to shards by their key (the default), or by their file, which needs `files_cut_by`.
    row_id : str, optional
        Assign rows to shards by this column instead, if one key has too many rows for one task. It must be
        stored with each row; the guarantee lists this as an assumption.
    files_cut_by : str, optional
        Your statement, in words, of the attribute of a row on which alone its file depends.
    key_type : {"auto", "text", "int"}
        How keys are read.
    mechanism, max_events, confidence, limit, per, min_count, output, plot, report, domain
        As in `hushcount.top`.
    user, max_keys, keep_duplicates, exact, count, max_events_per_user, allow_large_delta
        As in `hushcount.top`.
    ledger, dataset, run_id, again, dry_run
        As in `hushcount.top`; a frame cannot be recognised, so a run needs a name.

    Returns
    -------
    Release
        The table, its guarantee and its accuracy.

    Raises
    ------
    ParameterError
        If something is asked for that is not proved, or cannot be combined.
    DataError
        If the frame cannot be counted.

    Examples
    --------
    With `frame`, a data frame of Spark that has a column of addresses::

        hc.engines.spark.top(frame, column="url", epsilon=1.0, delta=1e-8)
    """
    values = dict(locals()) | {"data": frame}
    if not is_frame(frame):
        raise ParameterError(f"frame must be a Spark frame, got {type(frame).__name__}.")
    stated = (shards, partition_by, row_id, files_cut_by)
    number = SHARDS if shards is None else shards
    rule = Partitioning(number, partition_by, row_id, user, files_cut_by)
    return top_of(values, rule if any(each is not None for each in stated) else None)


def shards_asked(
    partitioning: Partitioning | None, asked: tuple[ReleaseSettings, UserSettings], running: Running
) -> str | None:
    """Return what asks for sketches of shards, None if exact counts are made, or raise for both at once."""
    settings, users = asked
    named = MECHANISMS[settings.mechanism] if settings.mechanism is not None else None
    sketched = named is not None and any(issubclass(kind, Shards) for kind in named.accepts)
    reasons = {
        "a rule for shards": partitioning is not None,
        "counters": running.counters is not None,
        "domain": settings.domain is not None,
        f"mechanism {settings.mechanism}": sketched or settings.mechanism == "correlated",
        "counting rows of users": users.user is not None and not users.counts_users,
    }
    found = next((name for name, given in reasons.items() if given), None)
    if found is not None and users.exact:
        raise ParameterError(f"exact cannot be combined with {found}, which takes sketches; leave one out.")
    return found


def shards_job(
    request: Request,
    partitioning: Partitioning,
    asked: tuple[ReleaseSettings, UserSettings],
    running: Running,
) -> tuple[TableAsk, Running]:
    """Return the job that counts the files or the frame of a request on Spark, in sketches of shards."""
    settings, users = asked
    if request.kept_times is not None:
        raise ParameterError("window cannot be combined with sketches of shards; count exactly.")
    if settings.other_share is not None:
        raise ParameterError("other cannot be combined with sketches of shards; count exactly.")
    if users.min_users is not None:
        raise ParameterError("min_users is proved for exact counts only; leave out what asks for sketches.")
    if users.auto:
        raise ParameterError("max_keys = auto is for exact counts; leave out what asks for sketches.")
    counters = PER_SHARD if running.counters is None else check_count("counters", running.counters, least=2)
    settings = settings.with_domain(request.key_type)
    given = {each.name: getattr(request, each.name) for each in fields(request)}
    given |= {"domain": settings.domain, "user": users.user}
    spark = SparkRequest(**given, partitioning=partitioning, counters=counters)
    assumed = partitioning.assumptions
    if users.user is None:
        return TableAsk(spark, settings, spark.empty, assumptions=assumed), Running()
    plan = plan_shards(settings, users, counters)
    spark = plan.bounded(spark)
    return plan.ask(spark, spark.empty, assumed), Running()


def plan_shards(settings: ReleaseSettings, users: UserSettings, counters: int) -> UserPlan:
    """Return the route of the smallest reliable count for shards, by public parameters alone."""
    if settings.domain is not None:
        return plan_users(settings, users, counters)
    bound, named = users.bound(), settings.mechanism if settings.mechanism in RELEASES else None
    # Rows kept of users are dealt by key, so each shard has the floor release of a single stream.
    routes = [_of_shards(route, bound.largest) for route in routes_for(settings, bound.largest, counters)]
    if named == ShardRelease.name and settings.rho is None:
        routes = [_shard_route(settings, bound.largest)]
    allowed: tuple[str, ...] = (GROUP,)  # the only one that releases shards as they are
    if named is None:
        allowed = allowed_routes(settings.mechanism, users, SKETCHES)
    open_to = sorted((route for route in routes if route.name in allowed), key=lambda route: route.reliable)
    taken = named if open_to and open_to[0].name == GROUP else settings.mechanism
    return chosen_plan(replace(settings, mechanism=taken), users, bound, open_to)


def _of_shards(route: Route, rows: int) -> Route:
    """Return a route in the words of shards."""
    return replace(route, way=GROUP_WAY.format(rows)) if route.name == GROUP else route


def _shard_route(settings: ReleaseSettings, rows: int) -> Route:
    """Return the general release of shards for groups: the count that it publishes with probability 0.95."""
    mechanism = ShardRelease(row_budget(settings.budget, rows), Public(unit=USER))
    failure = (1 - RELIABLE) / 2
    floor = mechanism.margin + mechanism.floor_noise.least_tail(failure)
    reliable = floor + mechanism.noise.quantiles(2 * failure)[1] + 1
    return Route(GROUP, floor, reliable, GROUP_WAY.format(rows))
