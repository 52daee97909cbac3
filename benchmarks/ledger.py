"""Adding up 10,000 releases, in memory, in a schedule and in a ledger: `python -m benchmarks.ledger`."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hushcount.accounting import inspection
from hushcount.accounting.book import Book, open_tables
from hushcount.accounting.charges import Event
from hushcount.accounting.filter import Filter, Sums
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.reservations import reserve
from hushcount.accounting.runs import RunPlan
from hushcount.accounting.schedule import Schedule

RELEASES = 10_000
MOST_SECONDS = 2
EACH = Event.of("0.005", "1e-12")
BUDGET = Filter.fixed(5, "1e-6")


def composed() -> Sums:
    """Add up all releases, and ask of each whether the budget allows it."""
    sums = Sums()
    for _ in range(RELEASES):
        sums += BUDGET.sums(EACH.charges()[-1])
        assert BUDGET.allows(sums)
    return sums


def filled(path: Path) -> None:
    """Make a ledger whose runs are as many, in one transaction."""
    Ledger(path).init("site", BUDGET)
    day = {"question": "q", "unit": "event", "event": EACH}
    with open_tables(path) as database, database.transaction():
        book = Book.open(database, "site", str(path))
        reserve(book, RunPlan(**day, run_id="0"))
        (row,) = database.rows("SELECT delta, basic, renyi FROM run")
        for place in range(1, RELEASES):
            database.change(
                "INSERT INTO run (dataset, run_id, question, budget, delta, basic, renyi, state, attempt)"
                " VALUES ('site', ?, 'q', 0, ?, ?, ?, 'reserved', 1)",
                str(place),
                *row,
            )


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of some work."""
    started = time.process_time()
    work()
    return round(time.process_time() - started, 3)


def main() -> None:
    """Measure and print one JSON line; fail if composing takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spent.db")
        filled(path)
        plan = RunPlan("q", "event", EACH, run_id="new")
        found = {
            "compose": seconds(composed),
            "schedule": seconds(lambda: Schedule.of("all", RELEASES, EACH, "1e-6")),
            "reserve": seconds(lambda: Ledger(path).reserve("site", plan)),
            "show": seconds(lambda: inspection.show(path)),
        }
    print(json.dumps({"releases": RELEASES} | found))
    if max(found.values()) > MOST_SECONDS:
        sys.exit(f"adding up {RELEASES:,} releases must take at most {MOST_SECONDS} s")


if __name__ == "__main__":
    main()
