"""`hc.watch`: a watch is opened, or made and paid for."""

from __future__ import annotations

import os
import shutil

from hushcount.accounting.ledger import Ledger
from hushcount.errors import HushcountError, ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.trust.spending import DEFAULT
from hushcount.jobs.watch.state import create
from hushcount.jobs.watch.terms import WatchTerms, asked
from hushcount.jobs.watch.watch import Watch


def watch(
    path: PathLike,
    *,
    period: str | None = None,
    start: str | None = None,
    until: str | None = None,
    levels: tuple[str, ...] | list[str] = (),
    epsilon: float | None = None,
    delta: float | None = None,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    name: str = "watch",
    column: str | list[str] | tuple[str, ...] | None = None,
    key_type: str = "text",
    time: str | None = None,
    time_zone: str | None = None,
    min_events: int = 1,
    retire_below: int | None = None,
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
        Limit on the privacy loss of the whole feed for one event, and the probability that it fails.
    ledger, dataset : path and str
        The ledger (default: HUSHCOUNT_LEDGER), and the dataset whose budget pays, once.
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

    Returns
    -------
    Watch

    Raises
    ------
    BudgetExceeded
        If the budget of the dataset does not allow the feed.
    """
    given = period, start, until, epsilon, delta, ledger, dataset
    if all(each is None for each in given):
        return Watch(path)
    if period is None or start is None or until is None or epsilon is None or delta is None:
        raise ParameterError("A new watch needs period, start, until, epsilon and delta.")
    ledger = ledger or os.environ.get(DEFAULT)
    if not ledger or dataset is None:
        raise ParameterError("A new watch needs ledger and dataset: its whole feed is charged once.")
    names = (column,) if isinstance(column, str) else tuple(column or ())
    terms = WatchTerms(
        *(period, start, until, epsilon, delta, asked(ledger), dataset, name, tuple(levels), names),
        *(key_type, time, time_zone, min_events, retire_below),
    )
    create(path, terms)
    try:
        Ledger(terms.ledger).schedule(terms.dataset, terms.schedule)
    except HushcountError:
        shutil.rmtree(path)  # it has no rows yet, and nothing was charged
        raise
    return Watch(path)
