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
from hushcount.jobs.settings import COUNTERS, ReleaseSettings, taken
from hushcount.jobs.spark import is_frame
from hushcount.jobs.users import UserAsk, UserSettings, plan_users
from hushcount.keys.plain import MAX_KEY_BYTES

if TYPE_CHECKING:
    from hushcount.jobs.origin import Origin
    from hushcount.keys.memory import Data
    from hushcount.mechanisms.base import Calibrated
    from hushcount.privacy import Budget
    from hushcount.releases.release import Release
    from hushcount.shapes import Public, Sketch


def top(
    data: Data = None,
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
    max_key_bytes: int = MAX_KEY_BYTES,
    on_bad: str = "drop",
    confidence: float = 0.95,
    limit: int | None = None,
    min_count: int | None = None,
    output: PathLike | None = None,
    checkpoint: PathLike | None = None,
    progress: Progress | None = None,
    domain: Data = None,
    user: str | None = None,
    max_keys: int | None = None,
    keep_duplicates: bool = False,
    exact: bool = False,
    count: str = "users",
    max_events_per_user: int | None = None,
    allow_large_delta: bool = False,
) -> Release:
    """Publish the most frequent keys of `data` with (epsilon, delta)-differential privacy.

    Protects one event, not one person; with `user` it protects one user. Counts in one pass and bounded
    memory.

    Parameters
    ----------
    data : path, frame, array or iterable, optional
        What to count: a file, folder or glob ("-" for standard input), a pandas, polars or Spark
        frame, an Arrow table, an array, or an ordered iterable of keys. Leave it out with `sql`.
    epsilon : float
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float
        Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people.
    column : str or list of str, optional
        The column to count; a list counts combinations of columns. The only column need not be named.
    counters : int, optional
        Counters kept in memory (131072; on Spark 16384 per shard). More counters find rarer keys.
    mechanism : str, optional
        How noise is added; `hushcount explain` describes each. The default is "floor".
    max_events : int, optional
        A bound on the number of events that may be known to all; more events are an error.
    format : str, optional
        The format of a file, if its extension does not show it: lines, csv, tsv, jsonl, parquet or arrow.
    key_type : {"auto", "text", "int"}
        How keys are read; keys of CSV and JSON files are text unless this is "int".
    sql : str, optional
        A DuckDB query whose rows are counted in place of `data`.
    max_key_bytes : int
        The longest key, in bytes.
    on_bad : {"drop", "fail"}
        Drop malformed and too long keys, or stop at the first.
    confidence : float
        The confidence of the intervals.
    limit : int, optional
        Keep at most this many rows; costs no privacy.
    min_count : int, optional
        Keep only rows with a noisy count of at least this; costs no privacy.
    output : path, optional
        Also write the table: .csv, .tsv, .parquet or .json.
    checkpoint : path, optional
        A file (raw data) in which progress is saved. A stopped run continues from it; it is removed when the
        release has been written.
    progress : callable, optional
        `progress(done, size)` is called with the bytes read so far and in all, None if that is unknown.
    domain : "A..B", range, list of keys or path, optional
        All keys that can occur, known to everybody; it requires delta = 0.
    user : str, optional
        The column that tells whose row it is. It requires `max_keys`, or with count="events"
        `max_events_per_user`.
    max_keys : int, optional
        Keep at most this many different keys of each user, chosen by a keyed hash, each counted once.
    keep_duplicates : bool
        Keep at most `max_keys` rows of each user, equal ones too, and count rows.
    exact : bool
        With `user`: allow exact counts of all keys; memory grows with their number.
    count : {"users", "events"}
        With `user`: count the users of a key, or their events.
    max_events_per_user : int, optional
        With count="events": keep at most this many events of each user.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.

    Returns
    -------
    Release
        The table with its guarantee, accuracy and notes.

    Raises
    ------
    ParameterError
        If an option breaks its rule; nothing has been read then.
    DataError
        If the data cannot be read or used; nothing has been released then.

    Examples
    --------
    >>> release = top(["tea"] * 500 + ["milk"] * 300 + ["salt"], epsilon=1.0, delta=1e-6)
    >>> release.table["key"].to_pylist()
    ['tea', 'milk']
    """
    return top_of(dict(locals()))


def top_of(values: dict[str, Any], partitioning: Partitioning | None = None) -> Release:
    """Do what the parameters of `top` ask for; Spark counts its own frames, and files if it is told how."""
    settings, users = taken(ReleaseSettings, values), taken(UserSettings, values)
    checkpoint, progress, counters = (values.pop(name) for name in ("checkpoint", "progress", "counters"))
    request = taken(Request, values)
    if is_frame(request.data) and partitioning is None:
        partitioning = Partitioning(user=users.user)
    if partitioning is not None:
        from hushcount.jobs.spark.release import count_on_spark

        size = SHARD_COUNTERS if counters is None else counters
        return count_on_spark(request, partitioning, size, (settings, users), checkpoint)
    counters = COUNTERS if counters is None else counters
    beside = (settings.domain,) if isinstance(settings.domain, str | os.PathLike) else ()
    settings = settings.with_domain(request.key_type)
    request = replace(request, domain=settings.domain, beside=beside)
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
    def budget(self) -> Budget:
        """What the table spends."""
        return self.settings.budget

    @property
    def max_events(self) -> int | None:
        """The public bound on the number of events."""
        return self.settings.max_events

    def sketch(self) -> Sketch:
        """Return the sketch that the mechanism is proved for."""
        return self.settings.sketch(self.counters)

    def mechanism(self, public: Public) -> Calibrated:
        """Return the mechanism asked for, or the default."""
        return self.settings.prepared(public)

    def finish(self, whole: Release, origin: Origin) -> Release:
        """Return the table as asked, written where asked."""
        return self.settings.written(self.settings.finished(whole, origin))
