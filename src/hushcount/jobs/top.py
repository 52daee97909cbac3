"""`top`: from data to a private table of its heavy hitters in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.dealing import COUNTERS as SHARD_COUNTERS
from hushcount.jobs.dealing import Partitioning
from hushcount.jobs.run import Ask, Progress, Request, run
from hushcount.jobs.settings import COUNTERS, ReleaseSettings
from hushcount.jobs.spark import is_frame
from hushcount.jobs.users import NO_USERS, UserAsk, UserSettings, plan_users

if TYPE_CHECKING:
    from hushcount.jobs.origin import Origin
    from hushcount.mechanisms.base import Prepared
    from hushcount.releases.release import Release
    from hushcount.shapes import Public, Sketch


def top(
    data: Any = None,
    *,
    epsilon: float,
    delta: float,
    column: str | Sequence[str] | None = None,
    counters: int | None = None,
    mechanism: str | None = None,
    max_events: int | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    confidence: float = 0.95,
    limit: int | None = None,
    min_count: int | None = None,
    output: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    domain: Any = None,
    user: str | None = None,
    max_keys: int | None = None,
    keep_duplicates: bool = False,
    exact: bool = False,
    count: str = "users",
    max_events_per_user: int | None = None,
) -> Release:
    """Count the keys of `data` in one pass and release the heavy ones with (epsilon, delta)-DP.

    Protects one event, not one person; with `user`, a column, one user with at most `max_keys` keys, each
    counted once. `data` is a path ("-" for standard input), folder or glob, a frame
    (Spark counts its own), an array or an ordered iterable; or `sql` is a DuckDB query. `counters` bounds
    the memory (131072 unless given, on Spark 16384 per shard; mechanisms for exact counts have no bound).
    `max_events` is a public bound on the number of events. `domain`, all keys that can occur ("A..B", a
    list, or a file of one key a line), goes with delta = 0. `limit` and `min_count` cut the table after the
    release. `output` is written before `checkpoint` is removed; a checkpoint that is found continues the
    run that left it. `progress(done, size)` is told bytes.

    >>> release = top(["tea"] * 500 + ["milk"] * 300 + ["salt"], epsilon=1.0, delta=1e-6)
    >>> release.table["key"].to_pylist()
    ['tea', 'milk']
    """
    settings = ReleaseSettings(
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        max_events=max_events,
        confidence=confidence,
        limit=limit,
        min_count=min_count,
        output=output,
        domain=domain,
    )
    users = UserSettings(
        user=user,
        max_keys=max_keys,
        keep_duplicates=keep_duplicates,
        exact=exact,
        count=count,
        max_events_per_user=max_events_per_user,
    )
    columns = column if column is None or isinstance(column, str) else list(column)
    request = Request(data, columns, format, key_type, sql)
    return count_and_release(
        request, settings, users=users, counters=counters, checkpoint=checkpoint, progress=progress
    )


def count_and_release(
    request: Request,
    settings: ReleaseSettings,
    *,
    users: UserSettings = NO_USERS,
    counters: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Count, release, write, and only then give up the checkpoint. Spark counts its own frames."""
    if is_frame(request.data):
        from hushcount.jobs.spark.release import count_on_spark

        rule = Partitioning(user=users.user)
        return count_on_spark(
            request, rule, SHARD_COUNTERS if counters is None else counters, (settings, users), checkpoint
        )
    counters = COUNTERS if counters is None else counters
    settings = settings.with_domain(request.key_type)
    request = replace(request, domain=settings.domain)
    if users.user is None:
        return run(TopAsk(request, settings, counters), checkpoint, progress)
    if checkpoint is not None:
        raise ParameterError(
            "checkpoint cannot be combined with user: rows are first sorted by user, and the sort cannot be"
            " resumed."
        )
    plan = plan_users(settings, users, counters)
    return run(UserAsk(plan.bounded(request, users, progress), plan, users, counters))


@dataclass(frozen=True, slots=True)
class TopAsk(Ask["Release"]):
    """A table of the most frequent keys of all events."""

    request: Request
    settings: ReleaseSettings
    counters: int

    @property
    def outputs(self) -> tuple[PathLike | None, ...]:
        """The table."""
        return (self.settings.output,)

    @property
    def max_events(self) -> int | None:
        """The public bound on the number of events."""
        return self.settings.max_events

    def sketch(self) -> Sketch:
        """Return the sketch that the mechanism is proved for."""
        return self.settings.sketch(self.counters)

    def mechanism(self, public: Public) -> Prepared:
        """Return the mechanism asked for, or the default."""
        return self.settings.prepared(public)

    def finish(self, whole: Release, origin: Origin) -> Release:
        """Return the table as asked, written where asked."""
        return self.settings.written(self.settings.finished(whole, origin))
