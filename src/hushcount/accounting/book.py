"""The tables of a ledger, alike in SQLite and PostgreSQL, and the book of one dataset in them.

All numbers of the accounting are texts: 64 bits would not hold a delta of 1e-280, and floats would round.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import cast

from hushcount.accounting.chain import Head, canonical, next_hash
from hushcount.accounting.decimals import INFINITE, ZERO
from hushcount.accounting.filter import Filter, Sums
from hushcount.accounting.runs import USER, Answer
from hushcount.accounting.windows import Covered, TimeWindow
from hushcount.errors import LedgerError, LedgerWarning
from hushcount.stores.database import Database, Value, open_database, shown

VERSION = "1"
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS format (version TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS dataset (
        name TEXT PRIMARY KEY, unit TEXT NOT NULL, cell TEXT, identity TEXT NOT NULL,
        source_key TEXT NOT NULL, seq BIGINT NOT NULL, hash TEXT NOT NULL, recorded TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS budget (
        dataset TEXT NOT NULL REFERENCES dataset (name), number BIGINT NOT NULL, epsilon TEXT NOT NULL,
        delta TEXT NOT NULL, slack TEXT NOT NULL, renyi_order TEXT NOT NULL, bound TEXT NOT NULL,
        PRIMARY KEY (dataset, number))""",
    """CREATE TABLE IF NOT EXISTS entry (
        dataset TEXT NOT NULL REFERENCES dataset (name), seq BIGINT NOT NULL, body TEXT NOT NULL,
        hash TEXT NOT NULL, PRIMARY KEY (dataset, seq))""",
    """CREATE TABLE IF NOT EXISTS run (
        dataset TEXT NOT NULL REFERENCES dataset (name), run_id TEXT NOT NULL, question TEXT NOT NULL,
        source TEXT, budget BIGINT NOT NULL, starts BIGINT, stops BIGINT, delta TEXT NOT NULL,
        basic TEXT NOT NULL, renyi TEXT NOT NULL, state TEXT NOT NULL, attempt BIGINT NOT NULL, outcome TEXT,
        answer BLOB, UNIQUE (dataset, run_id))""",
    """CREATE TABLE IF NOT EXISTS schedule (
        dataset TEXT NOT NULL REFERENCES dataset (name), name TEXT NOT NULL, budget BIGINT NOT NULL,
        releases BIGINT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, PRIMARY KEY (dataset, name))""",
)
BUDGET_FIELDS = ("epsilon", "delta", "slack", "order", "bound")
# Clocks of several machines may differ by this much.
SKEW = timedelta(minutes=5)
CLOCK = (
    "The clock of this machine is behind the last entry of the ledger; set it. The entry was made all the"
    " same: their order does not depend on clocks."
)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as the ledger knows it; `source` is a keyed hash, `answer` is None while it is reserved."""

    question: str
    source: str | None
    attempt: int
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class PaidRuns:
    """The runs that a schedule has paid for: which budget paid, how many there are, what each may spend.

    `charge` is the one that each of them must have, as JSON; empty if any within the pair belongs.
    `question` is the one that each of them must ask, empty before the first if it was not named, and
    `window` the time that all their rows must be from, None for all times.
    """

    budget: int
    releases: int
    used: int
    epsilon: Decimal
    delta: Decimal
    charge: str
    question: str
    window: TimeWindow | None


@dataclass(slots=True)
class Book:
    """One dataset of a ledger, open inside a transaction: nobody else changes it meanwhile.

    Parameters
    ----------
    database : Database
        Inside a transaction.
    name, unit : str
        The dataset and what it protects.
    cell : str or None
        The length of a cell, for user-window.
    source_key : str
        The key under which fingerprints of sources are hashed, in hexadecimal digits.
    head : Head
        The last entry.
    recorded : str
        When it was made.
    """

    database: Database
    name: str
    unit: str
    cell: str | None
    source_key: str
    head: Head
    recorded: str

    @classmethod
    def open(cls, database: Database, name: str, place: str, alone: bool = True) -> Book:
        """Return the book of a dataset, or raise; `alone` keeps others from changing it."""
        rows = database.rows(
            "SELECT unit, cell, source_key, seq, hash, recorded FROM dataset WHERE name = ?"
            + (database.alone if alone else ""),
            name,
        )
        if not rows:
            known = ", ".join(str(row[0]) for row in database.rows("SELECT name FROM dataset ORDER BY name"))
            raise LedgerError(f"{place} has no dataset {name}; it has {known or 'none'}.")
        unit, cell, key, seq, last, recorded = rows[0]
        head = Head(cast(int, seq), str(last))
        return cls(database, name, str(unit), cast("str | None", cell), str(key), head, str(recorded))

    def append(self, kind: str, **fields: object) -> None:
        """Add an entry to the chain."""
        now = datetime.now(UTC)
        if self.recorded and now < datetime.fromisoformat(self.recorded) - SKEW:
            warnings.warn(CLOCK, LedgerWarning, stacklevel=2)
        recorded = now.isoformat(timespec="seconds")
        seq = self.head.seq + 1
        body = canonical({"seq": str(seq), "kind": kind, "recorded": recorded} | fields)
        self.head, self.recorded = Head(seq, next_hash(self.head.hash, body)), recorded
        self.database.change("INSERT INTO entry VALUES (?, ?, ?, ?)", self.name, seq, body, self.head.hash)
        self.database.change(
            "UPDATE dataset SET seq = ?, hash = ?, recorded = ? WHERE name = ?",
            *(seq, self.head.hash, recorded, self.name),
        )

    def add_budget(self, kind: str, budget: Filter, **fields: object) -> None:
        """Add a budget with its entry."""
        number, texts = len(self.budgets()), budget.texts()
        self.database.change("INSERT INTO budget VALUES (?, ?, ?, ?, ?, ?, ?)", self.name, number, *texts)
        self.append(kind, budget=dict(zip(BUDGET_FIELDS, texts, strict=True)), **fields)

    def budgets(self) -> list[Filter]:
        """Return the budgets in the order in which they were added."""
        rows = self.database.rows(
            "SELECT epsilon, delta, slack, renyi_order, bound FROM budget WHERE dataset = ? ORDER BY number",
            self.name,
        )
        return [Filter.from_texts([str(each) for each in row]) for row in rows]

    def charged(self, number: int) -> list[Covered]:
        """Return what has been charged to a budget, with the windows."""
        rows = self.database.rows(
            "SELECT starts, stops, delta, basic, renyi FROM run WHERE dataset = ? AND budget = ?",
            *(self.name, number),
        )
        return [self._covered(row) for row in rows]

    def _covered(self, row: Sequence[Value]) -> Covered:
        """Return window and sums of a stored charge; users are charged over all windows."""
        starts, stops, *numbers = row
        delta, basic, renyi = (Decimal(str(each)) for each in numbers)
        sums = Sums(delta, ZERO, renyi, 1) if basic == INFINITE else Sums(delta, basic, renyi)
        if self.unit == USER or starts is None:
            return None, sums
        return TimeWindow(cast(int, starts), cast(int, stops)), sums

    def clock(self) -> tuple[str, str] | None:
        """Return the column and the zone by which the windows of the dataset are told, None before the first.

        Texts in JSON have no quotation mark without a backslash, so no name in an entry looks like the field.
        """
        rows = self.database.rows(
            "SELECT body FROM entry WHERE dataset = ? AND body LIKE ? ORDER BY seq LIMIT 1",
            *(self.name, '%"time":{"column":%'),
        )
        if not rows:
            return None
        known = json.loads(str(rows[0][0]))["time"]
        return known["column"], known["zone"]

    def source(self, fingerprint: str | None) -> str | None:
        """Return the keyed hash of a fingerprint: it is compared and never published."""
        if fingerprint is None:
            return None
        key = bytes.fromhex(self.source_key)
        return hashlib.blake2b(fingerprint.encode(), key=key, digest_size=16).hexdigest()

    def run(self, run_id: str) -> StoredRun | None:
        """Return a run, None if there is no such run."""
        rows = self.database.rows(
            "SELECT question, source, attempt, state, outcome, answer FROM run"
            " WHERE dataset = ? AND run_id = ?",
            *(self.name, run_id),
        )
        if not rows:
            return None
        question, source, attempt, state, outcome, content = rows[0]
        answer = Answer(cast(bytes, content), str(outcome)) if state == "committed" else None
        return StoredRun(str(question), cast("str | None", source), cast(int, attempt), answer)

    def schedule(self, name: str) -> PaidRuns | None:
        """Return what a schedule has paid for and how many of its runs there are, None without one."""
        rows = self.database.rows(
            "SELECT schedule.budget, releases, epsilon, schedule.delta, question, source, starts, stops"
            " FROM schedule JOIN run ON run.dataset = schedule.dataset AND run.run_id = schedule.name"
            " WHERE schedule.dataset = ? AND schedule.name = ?",
            *(self.name, name),
        )
        if not rows:
            return None
        budget, releases, epsilon, delta, charge = map(str, rows[0][:5])
        asked, starts, stops = rows[0][5:]
        start = f"{name}/"
        used = self.database.rows(
            "SELECT count(*) FROM run WHERE dataset = ? AND substr(run_id, 1, ?) = ?",
            *(self.name, len(start), start),
        )
        pair = Decimal(epsilon), Decimal(delta)
        window = None if starts is None else TimeWindow(cast(int, starts), cast(int, stops))
        counts = int(budget), int(releases), cast(int, used[0][0])
        return PaidRuns(*counts, *pair, charge, str(asked or ""), window)

    def bind(self, name: str, question: str) -> None:
        """Keep the question that all runs of a schedule ask; the table has it where others have a source."""
        self.database.change(
            "UPDATE run SET source = ? WHERE dataset = ? AND run_id = ?", question, self.name, name
        )


def open_tables(location: str | os.PathLike[str], create: bool = False) -> Database:
    """Open the tables of a ledger, or raise; only `create` makes them."""
    place = shown(location)
    if not create and "://" not in place and not os.path.exists(location):
        raise LedgerError(missing(place))
    database = open_database(location, SCHEMA if create else ())
    try:
        if create:
            with database.transaction():
                if not database.rows("SELECT version FROM format"):
                    database.change("INSERT INTO format VALUES (?)", VERSION)
        _check_version(database, place)
    except BaseException:
        database.__exit__()
        raise
    return database


def _check_version(database: Database, place: str) -> None:
    """Raise unless the tables are of this version."""
    versions = database.rows("SELECT version FROM format") if database.has_table("format") else []
    if not versions:
        raise LedgerError(missing(place))
    if versions != [(VERSION,)]:
        raise LedgerError(f"{place} was written by a newer version of hushcount; update hushcount to use it.")


def missing(place: str) -> str:
    """Return the sentence for a place without a ledger."""
    return f"There is no ledger at {place}; `hushcount ledger init` makes one."
