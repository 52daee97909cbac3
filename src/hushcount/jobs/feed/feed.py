"""`hc.feed`: tables of a feed for any time, as sums of published numbers."""

from __future__ import annotations

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, atomic_file
from hushcount.jobs.feed.folder import FeedFolder
from hushcount.jobs.feed.summing import FeedSums
from hushcount.privacy import check_confidence, check_count
from hushcount.releases.feeds.table import FeedHistory, FeedTable, check_times
from hushcount.releases.views.feed_report import feed_report

SHOWN = 20
CHANGES = 30  # entries and retirements that a report lists
EMPTY = "The feed has no period yet; `hushcount watch close` publishes one."


class Feed:
    """The feed of a watch; `hc.feed` opens one.

    Every table is a sum of numbers that were published, so that it costs nothing and needs no state.

    Parameters
    ----------
    folder : path
        The folder that `hushcount watch close --feed` wrote.
    """

    def __init__(self, folder: PathLike) -> None:
        self._folder = FeedFolder.of(folder)

    def __repr__(self) -> str:
        return f"<Feed of {self.periods} periods in {self._folder.path}>"

    @property
    def periods(self) -> int:
        """How many periods are published."""
        return self._folder.closed

    @property
    def statement(self) -> str:
        """What the whole feed guarantees, in words."""
        terms = self._folder.terms
        users = terms.users
        return (
            f"The whole feed of {terms.calendar.periods} periods is private with epsilon {terms.epsilon:g}"
            f" and delta {terms.delta:g} for {terms.protected}.{'' if users is None else users.counts}"
        )

    def top(
        self,
        limit: int | None = SHOWN,
        *,
        last: str | None = None,
        period: str | None = None,
        confidence: float = 0.95,
    ) -> FeedTable:
        """Return the most frequent published keys, of all time so far unless another time is asked for.

        Parameters
        ----------
        limit : int, optional
            At most so many keys; None for all.
        last : str, optional
            Only the last so many periods that are published, as a length such as 7d.
        period : str, optional
            Only one period, such as 2026-12-01T00.
        confidence : float
            The probability with which an interval holds.

        Returns
        -------
        FeedTable
            Its `table` has the keys with count, lower and upper.

        Examples
        --------
        `hc.feed("feed").top(last="7d")`
        """
        check_times((last is not None) + (period is not None))
        return self._history(limit, self._span(last, period), confidence, 0).table

    def report(
        self, path: PathLike, *, last: str | None = None, limit: int = SHOWN, confidence: float = 0.95
    ) -> None:
        """Write a page that needs nothing else: ranks over time, each key with its interval, entries.

        Parameters
        ----------
        path : path
            The HTML file.
        last : str, optional
            Only the last so many periods that are published, as a length such as 7d.
        limit : int
            At most so many keys.
        confidence : float
            The probability with which an interval holds.
        """
        page = feed_report(self._history(limit, self._span(last, None), confidence, CHANGES))
        with atomic_file(path) as stream:
            stream.write(page.encode("utf-8", "replace"))

    def _history(
        self, limit: int | None, span: tuple[int, int], confidence: float, changes: int
    ) -> FeedHistory:
        """Return what is published of some periods."""
        check_confidence(confidence)
        if limit is not None:
            check_count("limit", limit)
        with self._folder.opened() as connection:
            sums = FeedSums(connection, self._folder, *span)
            table = sums.top(limit, confidence, self.statement)
            return FeedHistory(table, sums.width(confidence), *sums.changes(changes))

    def _span(self, last: str | None, period: str | None) -> tuple[int, int]:
        """Return the periods that are asked for, the last of them excluded."""
        calendar, closed = self._folder.terms.calendar, self._folder.closed
        if not closed:
            raise DataError(EMPTY)
        if period is not None:
            place = calendar.place(period)
            if place >= closed:
                last_name = calendar.name(closed - 1)
                raise ParameterError(f"period {period} is not published; the last is {last_name}.")
            return place, place + 1
        return (0 if last is None else max(0, closed - calendar.spanned(last))), closed


def feed(folder: PathLike) -> Feed:
    """Open the feed of a watch, to read tables from it; this costs nothing and needs no state.

    Parameters
    ----------
    folder : path
        The folder that `hushcount watch close --feed` wrote, or a copy of it.

    Returns
    -------
    Feed

    Raises
    ------
    DataError
        If the folder has no feed, lacks a period, or has a file that is damaged.
    """
    return Feed(folder)
