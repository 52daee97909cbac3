"""The tables of a ledger, alike in SQLite and PostgreSQL, and the way to open them.

All numbers of the accounting are texts: 64 bits would not hold a delta of 1e-280, and floats would round.
"""

from __future__ import annotations

import os

from hushcount.errors import LedgerError
from hushcount.stores.database import Database, open_database, shown

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
