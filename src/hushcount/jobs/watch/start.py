"""`hc.watch`: a watch is opened, or made and paid for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from hushcount.accounting.ledger import Ledger
from hushcount.errors import HushcountError
from hushcount.files.atomic import PathLike
from hushcount.jobs.trust.spending import DEFAULT
from hushcount.jobs.watch.state import create
from hushcount.jobs.watch.terms import WatchOptions, WatchTerms
from hushcount.jobs.watch.watch import Watch


def watch(
    path: PathLike,
    *,
    period: str | None = None,
    start: str | None = None,
    until: str | None = None,
    levels: Sequence[str] = (),
    epsilon: float | None = None,
    delta: float | None = None,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    name: str = "watch",
    column: str | Sequence[str] | None = None,
    key_type: str = "text",
    time: str | None = None,
    time_zone: str | None = None,
    min_events: int = 1,
    retire_below: int | None = None,
    user: str | None = None,
    max_keys: int | None = None,
    cell: str | None = None,
    max_pairs: int | None = None,
    backfill: str | None = None,
) -> Watch:
    """Open a watch, or make one and charge its dataset for the whole feed.

    Parameters
    ----------
    path : path
        The folder of the state. Without any other argument the watch there is opened.
    period, start, until : str
        The length of a period, such as 1h or 1d, and the days or times (UTC) from which to which it goes on.
    levels : list of str, optional
        Lengths of the nodes in which known keys are counted, such as 1h, 1d and 30d; the first is a period.
        Longer nodes make long windows more accurate and short ones less.
    epsilon, delta : float
        Limit on the privacy loss of the whole feed for what is protected, and the probability that it fails.
    ledger, dataset : path and str
        The ledger, and the dataset whose budget pays, once. Default of the ledger: HUSHCOUNT_LEDGER.
    name : str
        The name of the watch in the ledger; another watch of the same dataset needs another.
    column : str or list of str, optional
        The column to count, or several for combinations; not needed for data of one column.
    key_type : str
        How keys are read: "text" or "int".
    time, time_zone : str, optional
        The column that tells when a row is from, and the zone of times without one. The charge is then for
        rows of the time of the watch, otherwise for all.
    min_events : int
        Keys with fewer events are never published.
    retire_below : int, optional
        A published key is forgotten once a whole node of the last level is published with a smaller value.
    user : str, optional
        The column of the users: protects a user with many rows, not an event. It needs max_keys and cell, or
        max_pairs.
    max_keys, cell : int and str, optional
        Protect the rows of a user in one cell of time, such as 1d; so many keys of a user count in each cell,
        the first that are seen, each once. Rows of other cells than that of the open period are dropped.
    max_pairs : int, optional
        Protect a user in the whole watch, in which so many keys of a user count, each once.
    backfill : str, optional
        When a key enters, publish its past nodes so far back, such as 7d, for tables of times that begin
        before the entry. They take a quarter of epsilon from the gate.

    Returns
    -------
    Watch

    Raises
    ------
    BudgetExceeded
        If the budget of the dataset does not allow the feed.
    """
    if all(each is None for each in (period, start, until, epsilon, delta, ledger, dataset)):
        return Watch(path)
    calendar = {"period": period, "start": start, "until": until, "levels": levels}
    paid = {"epsilon": epsilon, "delta": delta, "ledger": ledger_of(ledger), "dataset": dataset, "name": name}
    columns = {"column": column, "key_type": key_type, "time": time, "time_zone": time_zone}
    bounds = {"user": user, "max_keys": max_keys, "cell": cell, "max_pairs": max_pairs}
    shown = {"min_events": min_events, "retire_below": retire_below, "backfill": backfill}
    terms = WatchTerms.asked(cast(WatchOptions, {**calendar, **paid, **columns, **bounds, **shown}))
    create(path, terms)
    try:
        book = Ledger(terms.ledger)
        # Raises if the dataset protects something else.
        book.preview(terms.dataset, replace(terms.plan(terms.run_id(0)), again=True))
        book.schedule(terms.dataset, terms.schedule)
    except HushcountError:
        shutil.rmtree(path)  # it has no rows yet, and nothing was charged
        raise
    return Watch(path)


def ledger_of(ledger: PathLike | None) -> PathLike | None:
    """Return the ledger that is named, by the caller or the environment."""
    return os.environ.get(DEFAULT) if ledger is None else ledger
