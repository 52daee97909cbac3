"""`top`: from data to a private table of its heavy hitters in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.choices import Partitioning
from hushcount.jobs.linear.weighed import WeighedAsk
from hushcount.jobs.request import Progress, Request
from hushcount.jobs.run import Running, TableAsk
from hushcount.jobs.settings import COUNTERS, ReleaseSettings, taken
from hushcount.jobs.tables.threads import ThreadedAsk, check_threads, dealt_sketch
from hushcount.jobs.trust.dry_run import run_or_rehearse
from hushcount.jobs.trust.share import share_counters
from hushcount.jobs.users import UserSettings, chosen_ask, exact_events, plan_users
from hushcount.keys.memory import Data
from hushcount.keys.plain import MAX_KEY_BYTES
from hushcount.mechanisms.linear.measured import TRACKED
from hushcount.privacy import check_count
from hushcount.releases.release import Release


def top(
    data: Data = None,
    *,
    epsilon: float | None = None,
    delta: float,
    rho: float | None = None,
    column: str | Sequence[str] | None = None,
    counters: int | None = None,
    threads: int = 1,
    mechanism: str | None = None,
    max_events: int | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    relation: str | None = None,
    max_key_bytes: int = MAX_KEY_BYTES,
    on_bad: str = "drop",
    confidence: float = 0.95,
    limit: int | None = None,
    per: str | None = None,
    min_count: int | None = None,
    share: float | None = None,
    output: PathLike | None = None,
    plot: PathLike | None = None,
    report: PathLike | None = None,
    checkpoint: PathLike | None = None,
    progress: Progress | None = None,
    domain: Data = None,
    user: str | None = None,
    max_keys: int | str | None = None,
    keep_duplicates: bool = False,
    exact: bool = False,
    count: str = "users",
    max_events_per_user: int | None = None,
    min_users: int | None = None,
    weight: str | None = None,
    max_weight: int | None = None,
    times: str | None = None,
    other: bool = False,
    other_share: float | None = None,
    allow_large_delta: bool = False,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    run_id: str | None = None,
    again: bool = False,
    window: str | None = None,
    time: str | None = None,
    time_zone: str | None = None,
    dry_run: bool = False,
) -> Release:
    """Publish the most frequent keys of `data` with (epsilon, delta)-differential privacy.

    Protects one event, not one person; with `user` it protects one user. Counts in one pass and bounded
    memory.

    Parameters
    ----------
    data : path, frame, array or iterable, optional
        What to count: a file, folder or glob ("-" for standard input), a pandas, polars or Spark
        frame, an Arrow table, an array, or an ordered iterable of keys. Leave it out with `sql`.
    epsilon : float, optional
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float
        Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people.
    rho : float, optional
        In place of epsilon, for Gaussian noise: the budget in zero-concentrated differential privacy.
    column : str or list of str, optional
        The column to count; a list counts combinations of columns. The only column need not be named.
    counters : int, optional
        Counters kept in memory (131072; on Spark 16384 per shard). More counters find rarer keys. With `user`
        they ask for a sketch in place of exact counts on disk.
    threads : int
        Count in so many threads at once, which share the counters; each publishes a noisy floor of its own,
        so the number is public and is never chosen by the machine. For events, without `exact`.
    mechanism : str, optional
        How noise is added; `hushcount explain` describes each. The default is "floor".
    max_events : int, optional
        A public bound on the number of events, not taken from the data; more events are an error.
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
    on_bad : {"drop", "fail"}
        Drop malformed and too long keys, or stop at the first.
    confidence : float
        The confidence of the intervals.
    limit : int, optional
        Keep at most this many rows; costs no privacy.
    per : str, optional
        With `limit`: one of several key columns; so many rows of each of its values are kept, at no cost.
    min_count : int, optional
        Keep only rows with a noisy count of at least this; costs no privacy.
    share : float, optional
        Keep the keys with more than this share of all events, of `max_events` or with `other` of the noisy
        total; without `counters` as many are taken as the share needs. Costs no privacy.
    output : path, optional
        Also write the table: .csv, .tsv, .parquet or .json.
    plot : path, optional
        Also draw the counts by rank: .svg.
    report : path, optional
        Also write a page for people with everything in it: .html.
    checkpoint : path, optional
        A file (raw data) in which progress is saved. A stopped run continues from it; it is removed when the
        release has been written.
    progress : callable, optional
        `progress(done, size)` is called with the bytes read so far and in all, None if that is unknown.
    domain : "A..B", range, list of keys or path, optional
        All keys that can occur, known to everybody; it requires delta = 0. With `user` the noise is for all
        rows of a user together.
    user : str, optional
        The column that tells whose row it is. It requires `max_keys`, or with count="events"
        `max_events_per_user`.
    max_keys : int or "auto", optional
        Keep at most this many different keys of each user, chosen by a keyed hash, each counted once; "auto"
        chooses the number from the data, for 5% of epsilon.
    keep_duplicates : bool
        Keep at most `max_keys` rows of each user, equal ones too, and count rows.
    exact : bool
        Count every key exactly, on disk, in bounded memory: the default with `user`.
    count : {"users", "events"}
        With `user`: count the users of a key, or their events.
    max_events_per_user : int, optional
        With count="events": keep at most this many events of each user.
    min_users : int, optional
        Publish only keys that at least this many users hold, whatever the noise; for exact counts.
    weight : str, optional
        The column of how much a row counts, a whole number, with `exact` or an error envelope: a count is
        then a sum of it. Negative weights delete.
    max_weight : int, optional
        With `weight`: the most that one row may count (1); larger weights are cut to it, row by row. The
        noise grows with it.
    times : str, optional
        The column of how often a row was counted already, such as `n`: the row stands for so many events, and
        one of these is protected. A row whose number is negative, fractional or missing is dropped, or stops
        the run with `on_bad`.
    other : bool
        Publish also a noisy total, and so how much all keys have together that are not in the table:
        `release.other`.
    other_share : float, optional
        The share of epsilon that the total takes (0.05); the table gets the rest.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.
    ledger : path or str, optional
        A ledger, a file or postgresql://..., that is charged before data are read. Default: HUSHCOUNT_LEDGER.
    dataset : str, optional
        The dataset in the ledger whose budget pays.
    run_id : str, optional
        The name of the run. A retry with the same name gets the answer that was stored. Default: from the
        question; data that cannot be recognised, such as frames, need one.
    again : bool
        Draw and pay anew although there is an answer.
    window : str, optional
        Count only rows of this time: a day such as "2026-11-15", or "FROM/TO", from FROM up to before TO.
    time : str, optional
        The column that tells when a row is from: times, or text as 2026-11-15T06:00:00Z.
    time_zone : str, optional
        The zone of `window` and of times that have none, such as "Europe/Zurich"; UTC without it.
    dry_run : bool
        Return what the release would be and cost, a `DryRun` to print, without any noise and at no cost.

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


def top_of(values: Mapping[str, object], partitioning: Partitioning | None = None) -> Release:
    """Do what the parameters of `top` ask for."""
    return run_or_rehearse(top_job(values, partitioning), values)


def top_job(
    values: Mapping[str, object], partitioning: Partitioning | None = None
) -> tuple[TableAsk, Running]:
    """Return what `top` is asked for; Spark counts its own frames, and files if it is told how."""
    threads = check_count("threads", cast("int", values.get("threads", 1)))
    settings, users = taken(ReleaseSettings, values), taken(UserSettings, values)
    request, running = taken(Request, values), taken(Running, values)
    settings.check_groups(request.column)
    if settings.share is not None and users.user is not None:
        raise ParameterError(
            "share cannot be combined with user: a user may have several keys, so keys have no shares of all"
            " users; give min_count, a number of users."
        )
    check_threads(threads, request.on_spark, users)
    if request.on_spark:
        from hushcount.jobs.spark.release import shards_asked, shards_job

        if running.checkpoint is not None:
            raise ParameterError(
                "checkpoint cannot be combined with the Spark engine, which repeats lost tasks by itself."
            )
        asked = (settings, users)
        if shards_asked(partitioning, asked, running) is not None:
            request.check_weight(False, "Take exact=True without shards, or an oracle.")
            request.check_single("sketches of shards")
            return shards_job(request, partitioning or Partitioning(user=users.user), asked, running)
        users = replace(users, exact=users.exact or users.user is None)
    takes = users.exact or users.user is not None or settings.mechanism in TRACKED
    request.check_weight(takes, "Take exact=True or an error envelope, or publish an oracle.")
    beside = (settings.domain,) if isinstance(settings.domain, str | os.PathLike) else ()
    settings = settings.with_domain(request.key_type)
    request = replace(request, domain=settings.domain, beside=beside)
    counters = COUNTERS if running.counters is None else running.counters
    if users.user is None:
        if users.exact:
            return exact_events(request, settings, running), running
        if settings.share is not None and running.counters is None:
            counters = share_counters(settings, settings.share)
        if threads > 1:
            request.check_single("threads")
            dealt = partial(dealt_sketch, settings, counters, threads)
            return ThreadedAsk(request, settings, dealt, threads=threads), running
        new = partial(settings.sketch, counters, request.unit.weight)
        kind = TableAsk if request.weight is None else WeighedAsk
        return kind(request, settings, new, counted=request.counted), running
    if users.auto:
        return chosen_ask(request, (settings, users), running), Running()
    running.of_users()  # refuses a checkpoint
    plan = plan_users(settings, users, running.counters)
    request = replace(plan.bounded(request), progress=running.progress)
    return plan.ask(request, partial(plan.sketch, counters)), Running()
