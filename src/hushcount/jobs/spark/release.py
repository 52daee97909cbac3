"""`top` on Spark: sketches of shards come from the executors, the release is made here, on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from hushcount.jobs.users import SKETCHES, UserPlan, UserSettings, allowed_routes, chosen_plan, routes_for
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.mechanisms.groups import row_budget
from hushcount.mechanisms.users import GROUP, PAMG, Route
from hushcount.privacy import USER, check_count
from hushcount.shapes import Public

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hushcount.keys.memory import Data
    from hushcount.releases.release import Release

RELIABLE = 0.95
FRAME_ROWS = (
    "each row of the frame is made from one event, whatever the other rows are (asserted by the caller)"
)


def top(
    frame: DataFrame,
    *,
    column: str | Sequence[str],
    delta: float,
    epsilon: float | None = None,
    rho: float | None = None,
    counters: int = PER_SHARD,
    shards: int = SHARDS,
    partition_by: str | None = None,
    row_id: str | None = None,
    files_cut_by: str | None = None,
    key_type: str = "auto",
    mechanism: str | None = None,
    max_events: int | None = None,
    confidence: float = 0.95,
    limit: int | None = None,
    min_count: int | None = None,
    output: PathLike | None = None,
    plot: PathLike | None = None,
    report: PathLike | None = None,
    domain: Data = None,
    user: str | None = None,
    max_keys: int | None = None,
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
    """Count the keys of a Spark frame in shards and publish the frequent ones with differential privacy.

    Each row must be made from one event, whatever the other rows are; the guarantee lists this as an
    assumption. Protects one event, not one person, unless `user` is given.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows to count. Frames that Spark numbers, draws, samples or cuts off are refused, and those whose
        columns or types it guesses from the rows of files.
    column : str or sequence of str
        Column to count; several columns count as combinations.
    epsilon, rho, delta : float
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
    mechanism, max_events, confidence, limit, min_count, output, plot, report, domain
        As in `hushcount.top`; a public domain is refused.
    user, max_keys, keep_duplicates, exact, count, max_events_per_user, allow_large_delta
        As in `hushcount.top`; exact counts are refused.
    ledger, dataset, run_id, again, dry_run
        As in `hushcount.top`; a frame cannot be recognised, so a run needs a name.

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
    With `frame`, a data frame of Spark that has a column of addresses::

        hc.engines.spark.top(frame, column="url", epsilon=1.0, delta=1e-8)
    """
    values = dict(locals()) | {"data": frame}
    if not is_frame(frame):
        raise ParameterError(f"frame must be a Spark frame, got {type(frame).__name__}.")
    return top_of(values, Partitioning(shards, partition_by, row_id, user, files_cut_by))


def spark_job(
    request: Request,
    partitioning: Partitioning,
    asked: tuple[ReleaseSettings, UserSettings],
    running: Running,
) -> tuple[TableAsk, Running]:
    """Return the job that counts the files or the frame of a request on Spark."""
    settings, users = asked
    given_frame = is_frame(request.data)
    if running.checkpoint is not None:
        raise ParameterError(
            "checkpoint cannot be combined with the Spark engine, which repeats lost tasks by itself."
        )
    if request.times is not None:
        raise ParameterError("window cannot be combined with the Spark engine; count without it.")
    if given_frame and (request.sql is not None or request.format is not None):
        raise ParameterError("sql and format cannot be combined with a Spark frame.")
    if settings.domain is not None:
        raise ParameterError("domain is not taken by the Spark engine; count without it.")
    if settings.other_share is not None:
        raise ParameterError("other cannot be combined with the Spark engine; count without it.")
    if users.min_users is not None:
        raise ParameterError("min_users is proved for exact counts only; count without the Spark engine.")
    if users.exact:
        raise ParameterError("exact counts do not fit in bounded memory; count without the Spark engine.")
    counters = PER_SHARD if running.counters is None else check_count("counters", running.counters, least=2)
    spark = SparkRequest(
        request.data,
        request.column,
        request.format,
        request.key_type,
        partitioning=partitioning,
        counters=counters,
        ledger=request.ledger,
        dataset=request.dataset,
        run_id=request.run_id,
        again=request.again,
    )
    assumed = (*((FRAME_ROWS,) if given_frame else ()), *partitioning.assumptions)
    if users.user is None:
        return TableAsk(spark, settings, spark.empty, assumptions=assumed), Running()
    plan = plan_shards(settings, users, counters)
    spark = plan.bounded(spark)
    return plan.ask(spark, spark.empty, assumed), Running()


def plan_shards(settings: ReleaseSettings, users: UserSettings, counters: int) -> UserPlan:
    """Return the route of the smallest reliable count for shards, by public parameters alone."""
    bound = users.bound()
    routes = [_shard_route(settings, bound.largest)] if settings.rho is None else []
    routes += [route for route in routes_for(settings, bound.largest, counters) if route.name == PAMG]
    allowed: tuple[str, ...] = (GROUP,)  # the only one that releases shards as they are
    if settings.mechanism != ShardRelease.name:
        allowed = allowed_routes(settings.mechanism, users, SKETCHES)
    open_to = sorted((route for route in routes if route.name in allowed), key=lambda route: route.reliable)
    named = None if open_to and open_to[0].name == GROUP else settings.mechanism
    return chosen_plan(replace(settings, mechanism=named), users, bound, open_to)


def _shard_route(settings: ReleaseSettings, rows: int) -> Route:
    """Return the shard release for groups: the count that it publishes with probability 0.95."""
    mechanism = ShardRelease(row_budget(settings.budget, rows), Public(unit=USER))
    failure = (1 - RELIABLE) / 2
    floor = mechanism.margin + mechanism.floor_noise.least_tail(failure)
    reliable = floor + mechanism.noise.quantiles(2 * failure)[1] + 1
    way = f"SpaceSaving sketches of the shards, noise for {rows} rows of a user together"
    return Route(GROUP, floor, reliable, way)
