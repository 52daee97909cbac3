"""Reserving in the book of a dataset: charge a new run, take one over, or find its answer."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from hushcount.accounting.book import Book, PaidRuns, StoredRun
from hushcount.accounting.charges import Charge, Event
from hushcount.accounting.decimals import ZERO, fitting, text, total
from hushcount.accounting.filter import Filter, Sums
from hushcount.accounting.runs import (
    ANSWERED,
    CHARGED,
    EVENT,
    PAID,
    PROTECTED,
    REFUSED,
    ROW,
    ROWS,
    TAKEN_OVER,
    USER,
    USER_WINDOW,
    Preview,
    Reservation,
    RunPlan,
)
from hushcount.accounting.schedule import ANY, charge_text
from hushcount.accounting.windows import TimeWindow, cell_of, check_cells, sums_within
from hushcount.errors import BudgetExceeded, LedgerError

REFUSAL = (
    "The budget of dataset {name}, epsilon {budget[0]} and delta {budget[1]}, does not allow a release with"
    " epsilon {epsilon} and delta {delta}{where}. {fits} No data were read and nothing was spent;"
    " `hushcount ledger grant` adds to a budget."
)
FITS = "A release with epsilon at most {} and delta at most {} would fit."
NOTHING_FITS = "No release would fit."
OTHER_DATA = (
    "Run {} was answered from other data: the files have changed since. For an answer from the new data give"
    " it a run_id of its own, or again=True, which spends again."
)
# How a release that protects something else can be charged.
BY_QUERY = "; read the data by a query, with sql"
WAYS_OUT = {
    EVENT: "; protect users, with max_keys given with user",
    USER: "; `hushcount ledger init --unit user` makes a dataset for it",
    USER_WINDOW: "; `hushcount ledger init --unit user-window` makes a dataset for it",
    ROW: ", because a query may repeat an event; `hushcount ledger init --unit result-row` makes a dataset"
    " for rows of queries, or protect users, with max_keys given with user",
}
OTHER_CELLS = (
    "Dataset {name} protects the rows of a user in one cell of {known}, and this release in one of"
    " {cell}; give both the same cells."
)
OTHER_CLOCK = (
    "The windows of dataset {name} are told by column {known[0]}, in {known[1]} where a time has no zone. By"
    " another column or zone a row could be in two windows that seem apart, so those cannot be used; without"
    " a window the release is charged for all times."
)


NAME_IT = "; name the run of this release without the schedule."
OTHER_NOISE = (
    "has paid for releases with the noise that it was made for, and this release has another; name its run"
    " without the schedule."
)
OTHER_QUESTION = (
    "has paid for one question, asked of one window or source after another, and this release asks another"
    f" question{NAME_IT}"
)


def reserve(book: Book, plan: RunPlan) -> Reservation:
    """Record the charge of a run, or return its stored answer, or take it over without a charge, or raise."""
    run_id, found = _find(book, plan)
    if found is not None:
        return _continue(book, run_id, plan, found)
    _charge(book, run_id, plan)
    return Reservation(book.name, run_id, 1)


def preview(book: Book, plan: RunPlan) -> Preview:
    """Return what `reserve` would do, and what would be left afterwards; nothing is recorded."""
    run_id, found = _find(book, plan)
    if found is not None:
        outcome = TAKEN_OVER if found.answer is None else ANSWERED
        return Preview(book.name, run_id, outcome, plan.event, left(book, plan.window), series=plan.repeated)
    try:
        paid = _scheduled(book, run_id, plan)
        number, _, charge = paid or grant(book, plan.event, plan.window)
    except BudgetExceeded as refused:
        words, rest = str(refused), left(book, plan.window)
        return Preview(book.name, run_id, REFUSED, plan.event, rest, words, plan.repeated)
    then = left(book, plan.window, (number, charge))
    return Preview(book.name, run_id, PAID if paid else CHARGED, plan.event, then, series=plan.repeated)


def left(
    book: Book, window: TimeWindow | None, charged: tuple[int, Charge] | None = None
) -> tuple[Decimal, Decimal]:
    """Return the largest single release that would fit into a window, after a charge to one budget."""
    found = []
    for number, (budget, pieces) in enumerate(_state(book, window)):
        added = Sums() if charged is None or charged[0] != number else budget.sums(charged[1])
        found.append(budget.left(each + added for each in pieces))
    return max(found)


def _find(book: Book, plan: RunPlan) -> tuple[str, StoredRun | None]:
    """Return the name of a run and what is stored of it, or raise if this one does not continue it."""
    _check_unit(book, plan)
    name = plan.run_id or plan.question
    run_id = _free_name(book, name) if plan.again else name
    found = book.run(run_id)
    if found is not None and found.question != plan.question:
        raise LedgerError(
            f"Run {run_id} asked another question of dataset {book.name}; give this one another run_id."
        )
    if found is not None and found.answer is not None and found.source != book.source(plan.source):
        raise LedgerError(OTHER_DATA.format(run_id))
    return run_id, found


def _check_unit(book: Book, plan: RunPlan) -> None:
    """Raise unless a release protects what the dataset protects."""
    kind = ROW if plan.unit in ROWS else plan.unit
    if (USER_WINDOW if book.unit == USER_WINDOW and kind == USER else kind) != book.unit:
        protected = PROTECTED[book.unit].format(cell=book.cell)
        way_out = BY_QUERY if (book.unit, kind) == (ROW, EVENT) else WAYS_OUT[kind]
        raise LedgerError(
            f"Dataset {book.name} protects {protected}. A release that protects {_one(plan)} cannot be"
            f" added up with its others{way_out}."
        )
    if book.unit == USER_WINDOW:
        check_cells(plan.window, str(book.cell))
        if plan.cell is not None and cell_of(plan.cell) != cell_of(str(book.cell)):
            raise LedgerError(OTHER_CELLS.format(name=book.name, known=book.cell, cell=plan.cell))
    check_clock(book, plan.window)


def _one(plan: RunPlan) -> str:
    """Return what a release protects, in words."""
    return f"one {plan.unit}" if plan.cell is None else PROTECTED[plan.unit].format(cell=plan.cell)


def check_clock(book: Book, window: TimeWindow | None) -> None:
    """Raise if a window is told by another column or zone than those before it."""
    if book.unit != USER and window is not None:
        known = book.clock()
        if known is not None and window.clock != known:
            raise LedgerError(OTHER_CLOCK.format(name=book.name, known=known))


def _free_name(book: Book, name: str) -> str:
    """Return the name of a run that is drawn and charged anew: NAME, NAME#2, NAME#3 and so on."""
    number, found = 1, name
    while book.run(found) is not None:
        number += 1
        found = f"{name}#{number}"
    return found


def _charge(book: Book, run_id: str, plan: RunPlan) -> None:
    """Charge a new run, or raise; a run of a schedule has been paid for."""
    paid = _scheduled(book, run_id, plan)
    number, budget, charge = paid or grant(book, plan.event, plan.window)
    window = plan.window
    numbers = text(charge.delta), text(charge.basic), text(charge.at(budget.order))
    book.database.change(
        "INSERT INTO run (dataset, run_id, question, source, budget, starts, stops, delta, basic, renyi,"
        " state, attempt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'reserved', 1)",
        *(book.name, run_id, plan.question, book.source(plan.source), number, *span(window), *numbers),
    )
    if paid:
        _bind(book, run_id, plan)
    book.append(
        "reserve",
        run_id=run_id,
        question=plan.question,
        attempt="1",
        budget=str(number),
        epsilon=text(plan.event.epsilon),
        delta=text(plan.event.delta),
        window=None if window is None else str(window),
        charge=None if paid else charge.to_dict(),
        **({"asks": plan.repeated} if paid else {}),
        **clock_field(window),
    )


def _bind(book: Book, run_id: str, plan: RunPlan) -> None:
    """Let a schedule that names no question pay for that of its first run alone."""
    name, _, _ = run_id.partition("/")
    found = book.schedule(name)
    if found is not None and not found.question:
        book.bind(name, plan.repeated)


def span(window: TimeWindow | None) -> tuple[int | None, int | None]:
    """Return the ends of a window as the tables have them."""
    return (None, None) if window is None else (window.start, window.stop)


def clock_field(window: TimeWindow | None) -> dict[str, object]:
    """Return the field of an entry that says by which column and zone its window is told."""
    if window is None or window.clock is None:
        return {}
    return {"time": {"column": window.clock[0], "zone": window.clock[1]}}


def _scheduled(book: Book, run_id: str, plan: RunPlan) -> tuple[int, Filter, Charge] | None:
    """Return an empty charge for a run NAME/... of schedule NAME, None without one, or raise."""
    name, slash, _ = run_id.partition("/")
    found = book.schedule(name) if slash else None
    if found is None:
        return None
    why = _not_paid(found, plan)
    if why:
        raise BudgetExceeded(f"Schedule {name} of dataset {book.name} {why}")
    return found.budget, book.budgets()[found.budget], Charge(ZERO, ())


def _not_paid(found: PaidRuns, plan: RunPlan) -> str:
    """Return why a schedule has not paid for a run; nothing if it has."""
    event = plan.event
    if found.used >= found.releases:
        return f"has had all of its {found.releases} releases."
    if event.epsilon > found.epsilon or event.delta > found.delta:
        return (
            f"has paid for releases with epsilon at most {text(found.epsilon)} and delta at most"
            f" {text(found.delta)}."
        )
    if found.charge and (event.finer is None or charge_text(event.finer) != found.charge):
        return OTHER_NOISE
    if found.window is not None and (plan.window is None or not found.window.covers(plan.window)):
        return f"has paid for rows of the window {found.window}{NAME_IT}"
    if found.question not in ("", ANY, plan.repeated):
        return OTHER_QUESTION
    return ""


def grant(book: Book, event: Event, window: TimeWindow | None) -> tuple[int, Filter, Charge]:
    """Return the first budget that allows a release, with its number and the charge, or raise."""
    state = _state(book, window)
    for number, (budget, pieces) in enumerate(state):
        for charge in event.charges():
            added = budget.sums(charge)
            if all(budget.allows(each + added) for each in pieces):
                return number, budget, charge
    raise BudgetExceeded(_refusal(book, event, window, state))


def _state(book: Book, window: TimeWindow | None) -> list[tuple[Filter, Sequence[Sums]]]:
    """Return the budgets, each with the sums that are charged to it at the instants of a window."""
    return [
        (budget, sums_within(book.charged(number), window)) for number, budget in enumerate(book.budgets())
    ]


def _refusal(
    book: Book, event: Event, window: TimeWindow | None, state: Sequence[tuple[Filter, Sequence[Sums]]]
) -> str:
    """Return what is left and what would fit."""
    epsilon, delta = max(budget.left(pieces) for budget, pieces in state)
    return REFUSAL.format(
        name=book.name,
        budget=[text(total(each)) for each in zip(*((b.epsilon, b.delta) for b, _ in state), strict=True)],
        epsilon=text(event.epsilon),
        delta=text(event.delta),
        where="" if window is None or book.unit == USER else f" in the window {window}",
        fits=FITS.format(fitting(epsilon), fitting(delta)) if epsilon > 0 else NOTHING_FITS,
    )


def _continue(book: Book, run_id: str, plan: RunPlan, found: StoredRun) -> Reservation:
    """Return the stored answer of a run, or take it over if it has none."""
    if found.answer is not None:
        return Reservation(book.name, run_id, found.attempt, found.answer)
    attempt = found.attempt + 1
    book.database.change(
        "UPDATE run SET attempt = ?, source = ? WHERE dataset = ? AND run_id = ?",
        *(attempt, book.source(plan.source), book.name, run_id),
    )
    book.append("takeover", run_id=run_id, attempt=str(attempt))
    return Reservation(book.name, run_id, attempt)
