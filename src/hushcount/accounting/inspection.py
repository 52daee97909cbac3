"""Reading a ledger: what is spent and left, the history, and a copy for others to check."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from hushcount.accounting.book import BUDGET_FIELDS, Book, open_tables
from hushcount.accounting.chain import FORMAT
from hushcount.accounting.charges import Charge, Normal
from hushcount.accounting.decimals import exact_or_up, text, total
from hushcount.accounting.filter import Filter, Sums
from hushcount.accounting.runs import PROTECTED
from hushcount.accounting.windows import sums_within
from hushcount.stores.database import Database, shown

Location = str | os.PathLike[str]
Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a chain, as it is stored."""

    seq: int
    body: str
    hash: str

    @property
    def fields(self) -> Fields:
        """The fields of the body."""
        return dict(json.loads(self.body))


@contextmanager
def opened(location: Location) -> Iterator[Database]:
    """Open a ledger for reading, all of it at one moment."""
    with open_tables(location) as database, database.reading():
        yield database


def datasets(database: Database, place: str, dataset: str | None = None) -> list[Book]:
    """Return the books of all datasets, or of one, or raise."""
    names = [str(row[0]) for row in database.rows("SELECT name FROM dataset ORDER BY name")]
    wanted = names if dataset is None else [dataset]
    return [Book.open(database, name, place, alone=False) for name in wanted]


def entries(book: Book) -> list[Entry]:
    """Return the chain of a dataset."""
    rows = book.database.rows("SELECT seq, body, hash FROM entry WHERE dataset = ? ORDER BY seq", book.name)
    return [Entry(int(str(seq)), str(body), str(each)) for seq, body, each in rows]


def show(location: Location, dataset: str | None = None) -> list[Fields]:
    """Return for each dataset its budget, what is spent at the instant that most is spent, and what is left.

    Parameters
    ----------
    location
        The ledger.
    dataset
        One dataset; all without it.
    """
    with opened(location) as database:
        return [_shown(book) for book in datasets(database, shown(location), dataset)]


def _shown(book: Book) -> Fields:
    """Return one dataset as texts. The claims of several budgets add up; a release is charged to one."""
    budgets = book.budgets()
    pieces = [sums_within(book.charged(number)) for number in range(len(budgets))]
    state = list(zip(budgets, pieces, strict=True))
    spent = [_spent(*each) for each in state]
    left = max(budget.left(sums) for budget, sums in state)
    columns = {name: text(total(each[name] for each in spent)) for name in spent[0]}
    return {
        "dataset": book.name,
        "unit": book.unit,
        "cell": book.cell,
        "protects": PROTECTED[book.unit].format(cell=book.cell),
        "budget": {
            "epsilon": text(total(each.epsilon for each in budgets)),
            "delta": text(total(each.delta for each in budgets)),
            "parts": [
                dict(zip(BUDGET_FIELDS, each.texts(), strict=True))
                | {"rho": text(each.rho), "stated": "rho" if each.in_rho else "epsilon"}
                for each in budgets
            ],
        },
        "spent": columns,
        "left": dict(zip(("epsilon", "delta"), map(text, left), strict=True)),
        "releases": str(
            book.database.rows(
                "SELECT count(*) FROM run WHERE dataset = ? AND state <> 'schedule'", book.name
            )[0][0]
        ),
        "head": {"seq": str(book.head.seq), "hash": book.head.hash},
    }


def _spent(budget: Filter, pieces: Sequence[Sums]) -> dict[str, Decimal]:
    """Return the largest of what is spent at any instant."""
    return {
        "epsilon": max(budget.spent(each) for each in pieces),
        "delta": max(each.delta for each in pieces),
        "basic_epsilon": max(each.basic for each in pieces),
        "renyi": max(each.renyi for each in pieces),
    }


def history(location: Location, dataset: str) -> list[Fields]:
    """Return the entries of a dataset, oldest first, as texts.

    Parameters
    ----------
    location
        The ledger.
    dataset
        Its name in the ledger.
    """
    with opened(location) as database:
        (book,) = datasets(database, shown(location), dataset)
        return [_listed(each) for each in entries(book)]


def _listed(entry: Entry) -> Fields:
    """Return an entry with the names that every kind has, None where it has no such value."""
    fields = entry.fields
    amount = fields.get("budget") if fields["kind"] in ("init", "grant") else fields
    pair = amount if isinstance(amount, dict) else {}
    return {
        "seq": str(entry.seq),
        "recorded": fields["recorded"],
        "kind": fields["kind"],
        "run_id": fields.get("run_id"),
        "epsilon": pair.get("epsilon"),
        "delta": pair.get("delta"),
        "rho": _rho(fields),
        "window": fields.get("window"),
        "hash": entry.hash,
    }


def _rho(fields: Fields) -> str | None:
    """Return the rho (zCDP) of a charge of Gaussian noise alone, rounded up; None for any other entry."""
    stored = fields.get("charge")
    curves = Charge.from_dict(stored).curves if isinstance(stored, dict) else ()
    noises = [curve for curve in curves if isinstance(curve, Normal)]
    if not noises or len(noises) < len(curves):
        return None
    return text(exact_or_up(sum((each.moved / (2 * each.variance) for each in noises), Fraction(0))))


def stored_answer(location: Location, dataset: str, run_id: str) -> bytes | None:
    """Return what a run has published, None if there is no such dataset, run or release."""
    with opened(location) as database:
        found = [book.run(run_id) for book in datasets(database, shown(location)) if book.name == dataset]
    answer = found[0].answer if found and found[0] is not None else None
    return answer.content if answer is not None and answer.outcome == "release" else None


def export(location: Location) -> Fields:
    """Return all chains, with which anybody can check a release, and which are a witness.

    Answers and fingerprints of data are not in it.

    Parameters
    ----------
    location
        The ledger.
    """
    with opened(location) as database:
        listed = [_exported(book) for book in datasets(database, shown(location))]
    return {"format": FORMAT, "datasets": listed}


def _exported(book: Book) -> Fields:
    chain = [{"seq": str(each.seq), "body": each.body, "hash": each.hash} for each in entries(book)]
    return {"dataset": book.name, "seq": str(book.head.seq), "hash": book.head.hash, "entries": chain}
