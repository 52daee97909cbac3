"""A watch: rows are added to the open period, and periods are closed one after the other.

Closing goes in four steps: the state draws and goes on in one transaction of its own; the ledger commits the
period with the name of the new state; the state records that; the feed gets the file of the period. A crash
before the first step is done leaves nothing. After it, whoever closes next goes on with what was drawn, so
that no period is drawn twice. A copy of the state that is older than the ledger cannot be closed.
"""

from __future__ import annotations

import os
import shutil
import time as clock
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.accounting.inspection import stored_answer
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Answer, RunPlan
from hushcount.errors import DataError, LedgerError, ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.request import Request
from hushcount.jobs.watch.feed_files import FeedWriter
from hushcount.jobs.watch.state import WatchState, open_state
from hushcount.jobs.watch.terms import WatchTerms
from hushcount.jobs.watch.users import OWNER
from hushcount.noise.bits import system_bits
from hushcount.privacy import EVENT

if TYPE_CHECKING:
    from hushcount.keys.memory import Data
    from hushcount.sources.source import Source

OLD = (
    "The ledger knows a later state of this watch: {path} is an old copy. Closing it again would break the"
    " guarantee, so put the newest state back."
)
FULL = (
    "The disk of {path} may become full while a period is closed, so nothing was drawn; free some of it and"
    " close the period again."
)
ROOM = 16 << 20  # bytes that must be free besides as many as the state has
IN_ORDER = "Periods are closed in order; the next one is {}."
TOO_EARLY = "Period {} has not ended; close it after {}."
NO_QUERY = "data must be events, not the result of a query: this watch protects events."
OTHER_CELL = "period must lie in the cell in which the open period does; {} does not."
LABEL = "label must name the batch, because data in memory have no name of their own."
RUN_TIME = "A watch that runs needs time, the column that tells when a row is from; name it when it is made."


class Watch:
    """A watch, by the path of its state; `hc.watch` makes or opens one.

    Parameters
    ----------
    path : path
        The folder of the state. It is raw data: only its owner can read it.
    """

    def __init__(self, path: PathLike) -> None:
        self._path = os.fspath(path)
        with open_state(path) as state:
            self.terms: WatchTerms = state.terms

    def __repr__(self) -> str:
        return f"<Watch at {self._path}>"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the watch publishes, in words."""
        terms, watching = self.terms, self.terms.watching
        return (
            f"The whole feed of {terms.calendar.periods} periods is private with epsilon"
            f" {terms.epsilon:g} and delta {terms.delta:g} for {terms.protected}.",
            f"A key with {watching.reliable} {terms.counted} in one period is published with probability"
            " 0.95.",
            *terms.bounds,
            f"{self._path} is raw data; keep it as private as the events.",
        )

    def add(
        self,
        data: Data,
        *,
        label: str | None = None,
        file_format: str | None = None,
        period: str | None = None,
    ) -> bool:
        """Count rows in the open period; no noise is drawn and nothing is published.

        Parameters
        ----------
        data : path, list, Arrow table or frame
            The rows. With a column of times, rows from outside the time of the watch are dropped.
        label : str, optional
            The name of the batch: a batch that is added again counts nothing. The default is the name of the
            file.
        file_format : str, optional
            The format of a file, if its extension does not show it.
        period : str, optional
            Count only rows that are from this period.

        Returns
        -------
        bool
            Whether the batch was counted; False if its label is known.
        """
        named = label or (os.path.basename(data) if isinstance(data, str | os.PathLike) else None)
        if not named:
            raise ParameterError(LABEL)
        with open_state(self._path) as state:
            source = self._request(state, data, file_format, period).open()
            if source.unit.name != EVENT.name:
                raise ParameterError(NO_QUERY)
            return state.add(named, self._tables(source))

    def _tables(self, source: Source) -> Iterator[pa.Table]:
        """Yield the columns of keys, with that of the users if they are protected."""
        with closing(source.batches()) as batches:  # type: ignore[type-var]
            for batch in batches:
                if len(batch.keys) and self.terms.users is None:
                    yield source.decode(batch.keys)
                elif len(batch.keys):
                    keys = source.columns.without_user().decode(batch.alone)
                    yield keys.append_column(OWNER, batch.keys.field("user").cast(pa.string()))

    def _request(self, state: WatchState, data: Data, file_format: str | None, period: str | None) -> Request:
        """Return which rows are read: those of the time of the watch, of the open cell, or of one period."""
        terms, calendar = self.terms, self.terms.calendar
        if terms.time is None and period is not None:
            raise ParameterError("period needs time, the column that tells when a row is from.")
        first, stop = state.open_cell
        if period is not None:
            place = calendar.place(period)
            if not first <= place < stop:
                raise ParameterError(OTHER_CELL.format(period))
            first, stop = place, place + 1
        window = f"{calendar.time(first).isoformat()}/{calendar.time(stop).isoformat()}"
        return Request(
            data=data,
            column=terms.asked_columns,
            format=file_format,
            key_type=terms.key_type,
            user=terms.user,
            ordered=False,
            window=None if terms.time is None else window,
            time=terms.time,
            time_zone=terms.time_zone,
        )

    def close(self, feed: PathLike, period: str | None = None) -> None:
        """Publish the periods that have ended and are open, empty ones too, or the next one.

        Parameters
        ----------
        feed : path
            The folder of the public feed, which is made if there is none.
        period : str, optional
            The period to close, such as 2026-12-01T00; one that is closed already stays as it is.

        Raises
        ------
        ParameterError
            If the period is not the next one, or has not ended.
        LedgerError
            If the state is an old copy.
        """
        with open_state(self._path) as state:
            self._settle(state, feed)
            calendar = self.terms.calendar
            ended = calendar.ended(datetime.now(UTC))
            last = ended if period is None else self._due(state, period, ended)
            while state.period < last:
                self._check_newest(state)
                self._check_room()
                state.close(system_bits())
                self._settle(state, feed)

    def _due(self, state: WatchState, period: str, ended: int) -> int:
        """Return the period after the one that is asked for, or raise if that cannot be closed."""
        calendar = self.terms.calendar
        place = calendar.place(period)
        if place < state.period:
            return place
        if place > state.period:
            raise ParameterError(IN_ORDER.format(calendar.name(state.period)))
        if place >= ended:
            raise ParameterError(TOO_EARLY.format(period, calendar.time(place + 1).isoformat()))
        return place + 1

    def run(self, data: Data, feed: PathLike, *, once: bool = False, file_format: str | None = None) -> None:
        """Add the rows of each period when it has ended, and close it, until the watch has ended.

        Parameters
        ----------
        data : path
            A file that grows, such as a log; it is read again for every period.
        feed : path
            The folder of the public feed.
        once : bool
            Stop when all periods that have ended are closed.
        file_format : str, optional
            The format of the file.
        """
        if self.terms.time is None:
            raise ParameterError(RUN_TIME)
        calendar, done = self.terms.calendar, self.closed
        while True:
            for place in range(done, calendar.ended(datetime.now(UTC))):
                name = calendar.name(place)
                self.add(data, label=f"period {name}", file_format=file_format, period=name)
                self.close(feed, name)
                done = place + 1
            if once or done == calendar.periods:
                return
            wait = calendar.time(done + 1) - datetime.now(UTC)
            _sleep(max(1.0, min(60.0, wait.total_seconds())))

    @property
    def closed(self) -> int:
        """How many periods are closed."""
        with open_state(self._path) as state:
            return state.period

    def _settle(self, state: WatchState, feed: PathLike) -> None:
        """Have the ledger confirm what was drawn, then write whatever the feed lacks."""
        if not state.confirmed:
            self._confirm(state)
        writer = FeedWriter(feed, self.terms)
        for place in writer.missing(state.period):
            writer.write(place, state.answer(place))

    def _confirm(self, state: WatchState) -> None:
        """Commit the period that was closed last to the ledger, or raise if another copy has closed it."""
        place, terms, content = state.period - 1, self.terms, state.stored
        known = stored_answer(terms.ledger, terms.dataset, terms.run_id(place))
        if known is None:
            known = self._committed(terms.plan(terms.run_id(place), state.generation), content)
        if known != content:
            raise LedgerError(OLD.format(path=self._path))
        state.confirm()

    def _committed(self, plan: RunPlan, content: bytes) -> bytes:
        """Commit what was drawn, and return it, or what another copy has committed meanwhile."""
        terms, ledger = self.terms, Ledger(self.terms.ledger)
        try:
            return ledger.commit(ledger.reserve(terms.dataset, plan), Answer(content)).content
        except LedgerError:
            known = stored_answer(terms.ledger, terms.dataset, str(plan.run_id))
            if known is None:
                raise
            return known

    def _check_newest(self, state: WatchState) -> None:
        """Raise if the period that is about to be drawn has been closed from another copy of the state."""
        terms = self.terms
        if stored_answer(terms.ledger, terms.dataset, terms.run_id(state.period)) is not None:
            raise LedgerError(OLD.format(path=self._path))

    def _check_room(self) -> None:
        """Raise if the disk may become full in a draw, because no draw may decide whether it is kept."""
        needed = ROOM + sum(each.stat().st_size for each in Path(self._path).iterdir() if each.is_file())
        if shutil.disk_usage(self._path).free < needed:
            raise DataError(FULL.format(path=self._path))


_sleep: Callable[[float], None] = clock.sleep
