"""Schedules in the book of a dataset: all of their releases are charged before the first."""

from __future__ import annotations

from hushcount.accounting.book import Book
from hushcount.accounting.decimals import text
from hushcount.accounting.reservations import check_clock, clock_field, grant, left, span
from hushcount.accounting.runs import CHARGED, REFUSED, USER_WINDOW, Preview
from hushcount.accounting.schedule import Schedule
from hushcount.accounting.windows import check_cells
from hushcount.errors import BudgetExceeded, LedgerError


def add_schedule(book: Book, schedule: Schedule) -> None:
    """Charge a whole schedule up front, or raise."""
    _check(book, schedule)
    window = schedule.window
    number, budget, charge = grant(book, schedule.whole, window)
    numbers = text(charge.delta), text(charge.basic), text(charge.at(budget.order))
    each = text(schedule.each.epsilon), text(schedule.each.delta)
    book.database.change(
        "INSERT INTO schedule VALUES (?, ?, ?, ?, ?, ?)",
        *(book.name, schedule.name, number, schedule.releases, *each),
    )
    book.database.change(
        "INSERT INTO run (dataset, run_id, question, source, budget, starts, stops, delta, basic, renyi,"
        " state, attempt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'schedule', 1)",
        *(book.name, schedule.name, schedule.charge, schedule.question or None),
        *(number, *span(window), *numbers),
    )
    book.append(
        "schedule",
        run_id=schedule.name,
        question=schedule.charge,
        attempt="1",
        budget=str(number),
        epsilon=text(schedule.whole.epsilon),
        delta=text(schedule.whole.delta),
        each=dict(zip(("epsilon", "delta"), each, strict=True)),
        releases=str(schedule.releases),
        charge=charge.to_dict(),
        **({} if window is None else {"window": str(window), **clock_field(window)}),
        **({"asks": schedule.question} if schedule.question else {}),
    )


def preview_schedule(book: Book, schedule: Schedule) -> Preview:
    """Return what charging a schedule would do, and what would be left afterwards; nothing is recorded."""
    _check(book, schedule)
    window, cost = schedule.window, schedule.whole
    try:
        number, _, charge = grant(book, cost, window)
    except BudgetExceeded as refused:
        return Preview(book.name, schedule.name, REFUSED, cost, left(book, window), str(refused))
    return Preview(book.name, schedule.name, CHARGED, cost, left(book, window, (number, charge)))


def _check(book: Book, schedule: Schedule) -> None:
    """Raise if a schedule cannot be added to a dataset, whatever it costs."""
    if book.run(schedule.name) is not None:
        raise LedgerError(f"Dataset {book.name} has a run {schedule.name} already; choose another name.")
    if book.unit == USER_WINDOW and schedule.window is not None:
        check_cells(schedule.window, str(book.cell))
    check_clock(book, schedule.window)
