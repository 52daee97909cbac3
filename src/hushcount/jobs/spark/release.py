"""`top` on Spark: sketches of shards come from the executors, the release is made here, on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.dealing import COUNTERS, SHARDS, Partitioning
from hushcount.jobs.run import Ask, Request, run
from hushcount.jobs.settings import ReleaseSettings
from hushcount.jobs.spark import is_frame
from hushcount.jobs.spark.source import SparkRequest
from hushcount.jobs.top import TopAsk
from hushcount.jobs.users import UserAsk, UserPlan, UserSettings, allowed_routes, chosen_plan
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.mechanisms.users import GROUP, PAMG, Route, row_budget, user_routes
from hushcount.privacy import USER, check_count
from hushcount.shapes import Public

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hushcount.files.atomic import PathLike
    from hushcount.jobs.origin import Origin
    from hushcount.jobs.spark.shards import ShardSketches
    from hushcount.mechanisms.base import Calibrated
    from hushcount.privacy import Budget
    from hushcount.releases.release import Release

RELIABLE = 0.95
FRAME_ROWS = (
    "each row of the frame is made from one event, whatever the other rows are (asserted by the caller)"
)


class UserOptions(TypedDict, total=False):
    """How users are protected, as in `hushcount.top`."""

    user: str | None
    max_keys: int | None
    keep_duplicates: bool
    exact: bool
    count: str
    max_events_per_user: int | None


class TableOptions(TypedDict, total=False):
    """The mechanism and the table, as in `hushcount.top`."""

    mechanism: str | None
    max_events: int | None
    confidence: float
    limit: int | None
    min_count: int | None
    output: PathLike | None
    domain: object


class TopOptions(UserOptions, TableOptions):
    """What can be asked for on every engine."""


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
    **options: Unpack[TopOptions],
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
    names = UserOptions.__annotations__
    users = cast("UserOptions", {name: value for name, value in options.items() if name in names})
    table = cast("TableOptions", {name: value for name, value in options.items() if name not in names})
    asked = ReleaseSettings(epsilon=epsilon, delta=delta, **table), UserSettings(**users)
    request = Request(frame, column if isinstance(column, str) else list(column), None, key_type)
    partitioning = Partitioning(shards, partition_by, row_id, asked[1].user, files_cut_by)
    return count_on_spark(request, partitioning, counters, asked)


def count_on_spark(
    request: Request,
    partitioning: Partitioning,
    counters: int,
    asked: tuple[ReleaseSettings, UserSettings],
    checkpoint: object = None,
) -> Release:
    """Count the files or the frame of a request on Spark, release the sketches and write the table.

    Parameters
    ----------
    request : Request
        The frame or the files, and their columns.
    partitioning : Partitioning
        How rows are assigned to shards.
    counters : int
        Counters of each shard.
    asked : tuple of ReleaseSettings and UserSettings
        Budget and table, and how users are protected.
    checkpoint : object
        Refused unless it is None.

    Returns
    -------
    Release
        The table, its guarantee and its accuracy.

    Raises
    ------
    ParameterError
        If something is asked for that is not proved for shards.
    DataError
        If Spark cannot count the data.
    """
    settings, users = asked
    _refuse(request, asked, checkpoint)
    check_count("counters", counters, least=2)
    spark = SparkRequest(
        request.data,
        request.column,
        request.format,
        request.key_type,
        partitioning=partitioning,
        counters=counters,
    )
    if users.user is None:
        return run(SparkAsk(spark, TopAsk(spark, settings, counters)))
    plan = plan_shards(settings, users, counters)
    spark = replace(spark, user=users.user, bound=plan.bound, with_users=plan.route.name == PAMG)
    return run(SparkAsk(spark, UserAsk(spark, plan, users, counters)))


@dataclass(frozen=True, slots=True)
class SparkAsk(Ask["Release"]):
    """The job `local`, with the shards of Spark in place of one sketch."""

    request: SparkRequest
    local: TopAsk | UserAsk

    @property
    def budget(self) -> Budget:
        """What the table spends."""
        return self.local.budget

    @property
    def outputs(self) -> tuple[PathLike | None, ...]:
        """The table."""
        return self.local.outputs

    @property
    def max_events(self) -> int | None:
        """The public bound on the number of events."""
        return self.local.max_events

    def sketch(self) -> ShardSketches:
        """Return the sketch that takes the shards."""
        return self.request.empty()

    def mechanism(self, public: Public) -> Calibrated:
        """Return the mechanism for shards, or for merged user-level sketches."""
        return self.local.mechanism(public)

    def finish(self, whole: Release, origin: Origin) -> Release:
        """Return the table as asked, with what the caller asserts of the frame and the shards."""
        frame = (FRAME_ROWS,) if is_frame(self.request.data) else ()
        assumed = (*whole.guarantee.assumptions, *frame, *self.request.partitioning.assumptions)
        stated = replace(whole, guarantee=replace(whole.guarantee, assumptions=assumed))
        return self.local.finish(stated, origin)


def _refuse(request: Request, asked: tuple[ReleaseSettings, UserSettings], checkpoint: object) -> None:
    """Raise for what shards cannot do."""
    if checkpoint is not None:
        raise ParameterError(
            "checkpoint cannot be combined with the Spark engine, which repeats lost tasks by itself."
        )
    if is_frame(request.data) and (request.sql is not None or request.format is not None):
        raise ParameterError("sql and format cannot be combined with a Spark frame.")
    if asked[0].domain is not None:
        raise ParameterError("domain is not proved for shards; count without the Spark engine.")
    if asked[1].exact:
        raise ParameterError("exact counts do not fit in bounded memory; count without the Spark engine.")


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
