"""The ledger: reserve, draw, store, commit. Nothing leaves before the commit, and nothing is refunded.

A run of a dataset goes from nothing to reserved to committed. A crash before the reservation changes nothing.
A crash after it leaves a charge and noise that nobody saw: a retry takes over without a second charge. After
the commit a retry gets the answer that was stored.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hushcount.accounting.book import Book, StoredRun, open_tables
from hushcount.accounting.chain import Head, digest, first_hash, read_witness, witness_file, write_witness
from hushcount.accounting.filter import Filter
from hushcount.accounting.prepaid import add_schedule, preview_schedule
from hushcount.accounting.reservations import preview, reserve
from hushcount.accounting.runs import (
    EVENT,
    UNITS,
    USER_WINDOW,
    Answer,
    Preview,
    Reservation,
    RunPlan,
    check_name,
)
from hushcount.accounting.schedule import Schedule
from hushcount.accounting.windows import cell_of
from hushcount.errors import DataError, LedgerError, ParameterError
from hushcount.secure import fresh_key
from hushcount.stores.database import Database, UnansweredError, is_server, shown

# Seconds to wait for the answer of another process that took a run over.
PATIENCE = 30
STEP = 0.2
ROLLED_BACK = (
    "{place} lacks entries of dataset {name} that its witness {head} knows: an older copy was put in its"
    " place. Put the newest copy back. If it is lost, what was spent is not known any more."
)
TAKEN_OVER = (
    "Another process has taken over run {} and has not finished, so nothing was released here; run it again"
    " later to get its answer."
)
KNOWN = "Dataset {name} has a budget in {place} already; `hushcount ledger grant` adds to it."


class Ledger:
    """A ledger of privacy budgets, in an SQLite file or on a PostgreSQL server.

    Parameters
    ----------
    location
        The path of the file, or the address of the server (postgresql://user@host/database).

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(f"{tempfile.mkdtemp()}/spent.db")
    >>> ledger.init("searches", Filter.fixed(1, "1e-6"))
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        self._location = location
        self._place = shown(location)
        self._head_file = None if is_server(location) else witness_file(location)

    def init(self, dataset: str, budget: Filter, unit: str = EVENT, cell: str | None = None) -> None:
        """Give a dataset its first budget; the ledger is made if there is none.

        Parameters
        ----------
        dataset
            The name of the data that the budget is for.
        budget
            What all releases from the data may spend together.
        unit
            What is protected: "event", "user", or "user-window" for the rows of a user in one cell of time.
        cell
            The length of a cell, such as 1d, and the zone of its clocks (UTC without one), for "user-window".

        Raises
        ------
        LedgerError
            If the dataset has a budget already.
        """
        check_name("dataset", dataset)
        if unit not in UNITS:
            raise ParameterError(f"unit must be one of {', '.join(UNITS)}, got {unit}.")
        if (cell is not None) != (unit == USER_WINDOW):
            raise ParameterError('cell is needed for unit="user-window", such as 1d, and for no other unit.')
        if cell is not None:
            cell_of(cell)
        identity = fresh_key().hex()
        with open_tables(self._location, create=True) as database:
            with database.transaction():
                made = database.change(
                    "INSERT INTO dataset VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
                    *(dataset, unit, cell, identity, fresh_key().hex(), 0, first_hash(identity), ""),
                )
                if not made:
                    raise LedgerError(KNOWN.format(name=dataset, place=self._place))
                Book.open(database, dataset, self._place).add_budget(
                    "init", budget, dataset=dataset, unit=unit, cell=cell, identity=identity
                )
            self._write_head(database)

    def grant(self, dataset: str, budget: Filter) -> None:
        """Add a budget with an order and slack of its own; the claims of both add up.

        Parameters
        ----------
        dataset
            A dataset of the ledger.
        budget
            What may be spent besides.
        """
        with self._book(dataset) as book:
            book.add_budget("grant", budget)

    def schedule(self, dataset: str, schedule: Schedule) -> None:
        """Charge a schedule up front; its runs, with ids NAME/..., cost nothing more.

        Parameters
        ----------
        dataset
            A dataset of the ledger.
        schedule
            How many releases there will be, and what each of them may spend.

        Raises
        ------
        BudgetExceeded
            If the budget does not allow all of them.
        """
        with self._book(dataset) as book:
            add_schedule(book, schedule)

    def reserve(self, dataset: str, plan: RunPlan) -> Reservation:
        """Record the charge of a release before its data are read.

        Parameters
        ----------
        dataset
            A dataset of the ledger.
        plan
            The release.

        Returns
        -------
        Leave to draw, or the answer of an earlier run with the same name and question.

        Raises
        ------
        BudgetExceeded
            If the budget does not allow the release: nothing was recorded.
        LedgerError
            If the run has another question or other data, or the ledger cannot be used.
        """
        with self._book(dataset) as book:
            return reserve(book, plan)

    def preview(self, dataset: str, plan: RunPlan) -> Preview:
        """Return what `reserve` would do with a release, and what would be left; nothing is written.

        Parameters
        ----------
        dataset
            A dataset of the ledger.
        plan
            The release.
        """
        with self._read(dataset) as book:
            return preview(book, plan)

    def preview_schedule(self, dataset: str, schedule: Schedule) -> Preview:
        """Return what `schedule` would do, and what would be left; nothing is written.

        Parameters
        ----------
        dataset
            A dataset of the ledger.
        schedule
            How many releases there will be, and what each of them may spend.
        """
        with self._read(dataset) as book:
            return preview_schedule(book, schedule)

    def commit(self, reservation: Reservation, answer: Answer) -> Answer:
        """Store what was drawn, and return what may leave: it, or the answer of whoever took the run over.

        Parameters
        ----------
        reservation
            What `reserve` returned.
        answer
            What was drawn.

        Raises
        ------
        LedgerError
            If another process has taken over and does not finish: nothing may leave.
        """
        try:
            stored = self._store(reservation, answer)
        except UnansweredError:  # it may be stored or not, so look before anything else
            found = self._found(reservation)
            if found.answer is None and found.attempt == reservation.attempt:
                stored = self._store(reservation, answer)
            else:
                stored = found.answer == answer
        return answer if stored else self._of_another(reservation)

    def _store(self, reservation: Reservation, answer: Answer) -> bool:
        """Commit an answer; return False if the run is no longer this attempt's."""
        run_id, attempt = reservation.run_id, reservation.attempt
        with self._book(reservation.dataset) as book:
            changed = book.database.change(
                "UPDATE run SET state = 'committed', outcome = ?, answer = ?"
                " WHERE dataset = ? AND run_id = ? AND state = 'reserved' AND attempt = ?",
                *(answer.outcome, answer.content, reservation.dataset, run_id, attempt),
            )
            if changed:
                fields = {"outcome": answer.outcome, "digest": digest(answer.content)}
                book.append("commit", run_id=run_id, attempt=str(attempt), **fields)
            return bool(changed)

    def _found(self, reservation: Reservation) -> StoredRun:
        """Return the run of a reservation as it stands now."""
        with self._book(reservation.dataset) as book:
            found = book.run(reservation.run_id)
        if found is None:
            raise LedgerError(f"{self._place} has lost run {reservation.run_id}, so nothing was released.")
        return found

    def _of_another(self, reservation: Reservation) -> Answer:
        """Wait for the answer of the process that took a run over."""
        end = time.monotonic() + PATIENCE
        while (answer := self._found(reservation).answer) is None:
            if time.monotonic() > end:
                raise LedgerError(TAKEN_OVER.format(reservation.run_id))
            time.sleep(STEP)
        return answer

    @contextmanager
    def _book(self, dataset: str) -> Iterator[Book]:
        """Lock a dataset, do all of a block or nothing of it, then update the witness."""
        with open_tables(self._location) as database:
            with database.transaction():
                book = Book.open(database, dataset, self._place)
                before = book.head
                self._check_head(book)
                yield book
            if book.head != before:
                self._write_head(database)

    @contextmanager
    def _read(self, dataset: str) -> Iterator[Book]:
        """Read a dataset as it is now; others may go on."""
        with open_tables(self._location) as database, database.reading():
            book = Book.open(database, dataset, self._place, alone=False)
            self._check_head(book)
            yield book

    def _check_head(self, book: Book) -> None:
        """Raise if the witness beside the file is not on the chain: the file was rolled back."""
        if self._head_file is None or not os.path.exists(self._head_file):
            return
        known = read_witness(self._head_file).get(book.name, Head(0, ""))
        if known.seq and [(known.hash,)] != book.database.rows(
            "SELECT hash FROM entry WHERE dataset = ? AND seq = ?", book.name, known.seq
        ):
            raise LedgerError(ROLLED_BACK.format(place=self._place, name=book.name, head=self._head_file))

    def _write_head(self, database: Database) -> None:
        """Write the witness; it may lag, so a failure is no failure of the run."""
        if self._head_file is not None:
            rows = database.rows("SELECT name, seq, hash FROM dataset ORDER BY name")
            with suppress(DataError):
                write_witness(self._head_file, {str(n): Head(int(str(s)), str(h)) for n, s, h in rows})
