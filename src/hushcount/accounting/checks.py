"""Checking a ledger: chain, budgets, sums, answers and witnesses, all computed again from the entries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import cast

from hushcount.accounting.book import BUDGET_FIELDS, Book
from hushcount.accounting.chain import Head, Heads, broken_link, digest, first_hash
from hushcount.accounting.charges import Charge
from hushcount.accounting.decimals import text
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import Entry, Fields, Location, datasets, entries, opened
from hushcount.accounting.runs import USER
from hushcount.accounting.schedule import ANY
from hushcount.accounting.windows import Covered, TimeWindow, sums_within
from hushcount.stores.database import shown

ROLLED_BACK = (
    "{place} does not continue {name}: dataset {dataset} has another entry {seq}, or none. The ledger was"
    " rolled back or rebuilt."
)


@dataclass(slots=True)
class _Replayed:
    """What the entries of a dataset say: its budgets, and its runs as they should be stored."""

    budgets: list[Filter] = field(default_factory=list)
    runs: dict[str, Fields] = field(default_factory=dict)

    @property
    def schedules(self) -> dict[str, Fields]:
        """The schedules by name."""
        return {name: fields for name, fields in self.runs.items() if "releases" in fields}

    def add(self, fields: Fields) -> None:
        """Take one entry into account."""
        kind, run_id = fields["kind"], str(fields.get("run_id"))
        if kind in ("init", "grant"):
            budget = cast("dict[str, str]", fields["budget"])
            self.budgets.append(Filter.from_texts([budget[name] for name in BUDGET_FIELDS]))
        elif kind in ("reserve", "schedule"):
            self.runs[run_id] = fields | {"begun": fields["seq"]}
        else:
            self.runs[run_id] = self.runs[run_id] | fields


def verify(location: Location, witnesses: Mapping[str, Heads]) -> list[str]:
    """Return a sentence for everything in a ledger that is not as its entries say; none if it is intact.

    Parameters
    ----------
    location
        The ledger.
    witnesses
        What earlier copies knew of it, by the name of their file.
    """
    place = shown(location)
    with opened(location) as database:
        books = {book.name: book for book in datasets(database, place)}
        problems = [problem for book in books.values() for problem in _problems(book)]
        for name, heads in witnesses.items():
            for dataset, head in heads.items():
                if dataset not in books or not _knows(books[dataset], head):
                    problems.append(ROLLED_BACK.format(place=place, name=name, dataset=dataset, seq=head.seq))
    return problems


def _knows(book: Book, head: Head) -> bool:
    """Return whether the entry that a witness has seen is on the chain."""
    return any(each.seq == head.seq and each.hash == head.hash for each in entries(book))


def _problems(book: Book) -> Iterator[str]:
    """Yield what is wrong with a dataset; behind a broken chain nothing else is told."""
    chain = entries(book)
    identity = str(book.database.rows("SELECT identity FROM dataset WHERE name = ?", book.name)[0][0])
    broken = broken_link(first_hash(identity), [(each.seq, each.body, each.hash) for each in chain])
    if broken is None and (not chain or Head(chain[-1].seq, chain[-1].hash) != book.head):
        broken = len(chain) + 1
    if broken is not None:
        yield f"Dataset {book.name}: the chain is broken at entry {broken}."
        return
    try:
        yield from (f"Dataset {book.name}: {problem}" for problem in _differences(book, chain))
    except (KeyError, ValueError, TypeError, ArithmeticError):
        yield f"Dataset {book.name}: an entry cannot be read."


def _differences(book: Book, chain: list[Entry]) -> Iterator[str]:
    """Yield where the tables are not what the entries say, and where the sums exceed a budget."""
    replayed = _Replayed()
    for entry in chain:
        replayed.add(entry.fields)
    first = chain[0].fields
    if (first["dataset"], first["unit"], first["cell"]) != (book.name, book.unit, book.cell):
        yield "its unit is not the one it was made with."
    fixed = [Filter.fixed(each.epsilon, each.delta, each.slack) for each in replayed.budgets]
    if not replayed.budgets == fixed == book.budgets():
        yield "its budgets are not those of its entries."
    rows = book.database.rows("SELECT run_id FROM run WHERE dataset = ?", book.name)
    stored = {str(row[0]) for row in rows}
    for run_id in sorted(stored ^ set(replayed.runs)):
        yield f"run {run_id} is not in both its entries and its table."
    for run_id in sorted(stored & set(replayed.runs)):
        if not _same(book, run_id, replayed):
            yield f"run {run_id} or its answer is not what its entries say."
    yield from _prepaid_problems(book, replayed)
    clocks = [fields["time"] for fields in replayed.runs.values() if "time" in fields]
    if book.unit != USER and any(clock != clocks[0] for clock in clocks):
        yield "its windows are told by more than one column or zone."
    if not _within(book, replayed):
        yield "its releases exceed the budget."


def _prepaid_problems(book: Book, replayed: _Replayed) -> Iterator[str]:
    """Yield what is wrong with schedules, and with runs that cost nothing because one has paid for them."""
    if not _same_schedules(book, replayed):
        yield "its schedules are not those of its entries."
    for run_id in sorted(_unpaid(replayed)):
        yield f"run {run_id} cost nothing, and no schedule has paid for it."


def _same(book: Book, run_id: str, replayed: _Replayed) -> bool:
    """Return whether a stored run is as its entries say: charge, window, attempt, answer."""
    fields = replayed.runs[run_id]
    rows = book.database.rows(
        "SELECT question, budget, starts, stops, delta, basic, renyi, state, attempt, outcome, answer"
        " FROM run WHERE dataset = ? AND run_id = ?",
        *(book.name, run_id),
    )
    *stored, attempt, outcome, answer = rows[0]
    number, charge = int(str(fields["budget"])), _charge(fields)
    window = _window(fields)
    span = (None, None) if window is None else (window.start, window.stop)
    numbers = text(charge.delta), text(charge.basic), text(charge.at(replayed.budgets[number].order))
    content = None if answer is None else digest(cast(bytes, answer))
    expected = (fields["question"], number, *span, *numbers, _state(fields))
    return tuple(stored) == expected and (str(attempt), outcome, content) == (
        fields["attempt"],
        fields.get("outcome"),
        fields.get("digest"),
    )


def _state(fields: Fields) -> str:
    """Return the state that a run should be in."""
    if "releases" in fields:
        return "schedule"
    return "committed" if "digest" in fields else "reserved"


def _same_schedules(book: Book, replayed: _Replayed) -> bool:
    """Return whether the stored schedules are as their entries say, with the questions they pay for."""
    rows = book.database.rows(
        "SELECT schedule.name, schedule.budget, releases, epsilon, schedule.delta, source FROM schedule"
        " JOIN run ON run.dataset = schedule.dataset AND run.run_id = schedule.name"
        " WHERE schedule.dataset = ? ORDER BY schedule.name",
        book.name,
    )
    asked = _asked(replayed)
    entered = [
        (name, fields["budget"], fields["releases"], *_each(fields), asked.get(name))
        for name, fields in sorted(replayed.schedules.items())
    ]
    return [(*map(str, row[:5]), row[5]) for row in rows] == entered


def _each(fields: Fields) -> tuple[str, str]:
    """Return the epsilon and delta that each run of a schedule may spend."""
    each = cast("dict[str, str]", fields["each"])
    return each["epsilon"], each["delta"]


def _asked(replayed: _Replayed) -> dict[str, object]:
    """Return the question of each schedule: the one that it was made for, or that of its first run."""
    asked = {name: fields["asks"] for name, fields in replayed.schedules.items() if "asks" in fields}
    for run_id, fields in replayed.runs.items():
        name = run_id.partition("/")[0]
        if "asks" in fields and name in replayed.schedules and "/" in run_id:
            asked.setdefault(name, fields["asks"])
    return asked


def _unpaid(replayed: _Replayed) -> Iterator[str]:
    """Yield the runs without a charge that are not within what a schedule before them has paid for."""
    asked, used = _asked(replayed), Counter[str]()
    for run_id, fields in replayed.runs.items():
        name, slash, _ = run_id.partition("/")
        used[name] += bool(slash)
        if fields.get("charge") is not None:
            continue
        paid = replayed.schedules.get(name) if slash else None
        within = paid is not None and used[name] <= int(str(paid["releases"])) and _is_paid(fields, paid)
        if not within or (asked.get(name, ANY) != ANY and fields.get("asks", asked[name]) != asked[name]):
            yield run_id


def _is_paid(fields: Fields, paid: Fields) -> bool:
    """Return whether a run comes after its schedule, spends no more, and is of rows of its window."""
    pair = (Decimal(str(fields[name])) for name in ("epsilon", "delta"))
    fits = all(own <= Decimal(most) for own, most in zip(pair, _each(paid), strict=True))
    whole, own = _window(paid), _window(fields)
    earlier = "asks" not in fields  # made by a version that recorded neither the question nor the window
    within = whole is None or earlier or (own is not None and whole.covers(own))
    return fits and within and int(str(paid["seq"])) < int(str(fields["begun"]))


def _within(book: Book, replayed: _Replayed) -> bool:
    """Return whether the sums of the entries are within each budget at every instant.

    Sums only grow, so if the last ones are within a budget, all earlier ones were.
    """
    charged: dict[int, list[Covered]] = defaultdict(list)
    for fields in replayed.runs.values():
        number = int(str(fields["budget"]))
        window = None if book.unit == USER else _window(fields)
        charged[number].append((window, replayed.budgets[number].sums(_charge(fields))))
    return all(
        replayed.budgets[number].allows(sums)
        for number, covered in charged.items()
        for sums in sums_within(covered)
    )


def _charge(fields: Fields) -> Charge:
    """Return the charge of a run, nothing for one that a schedule has paid for."""
    stored = cast("dict[str, object] | None", fields.get("charge"))
    return Charge.from_dict(stored) if stored is not None else Charge(Decimal(0), ())


def _window(fields: Fields) -> TimeWindow | None:
    window = fields.get("window")
    return None if window is None else TimeWindow.parse(str(window))
