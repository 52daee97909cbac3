"""Sealed reports that wait in a relay, on disk until the collector has them; and the tokens that were spent.

Like the collector, a relay writes groups: the sealed reports of one sorted by their bytes, which are as good
as random, and the hashes of their tokens sorted by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushcount.ldp.wire.sealing import SEALED_BYTES, pack_sealed, unpack_sealed
from hushcount.service.store.reports import NAME_BYTES, Outcome, Single
from hushcount.service.store.runs import Runs, in_order, names_of
from hushcount.stores.database import Database, open_database

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS waiting (number INTEGER PRIMARY KEY, campaign TEXT NOT NULL,"
    " since BIGINT NOT NULL, body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS batch (number INTEGER PRIMARY KEY, campaign TEXT NOT NULL,"
    " body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS spent (number INTEGER PRIMARY KEY, campaign TEXT NOT NULL,"
    " hashes BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS manifest (campaign TEXT PRIMARY KEY, body TEXT NOT NULL)",
)
_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
_SETTINGS = ("PRAGMA busy_timeout = 2000", "PRAGMA secure_delete = ON")
_HOUR = 3600
MOST_TOGETHER = 50_000  # sealed reports of a batch, unless the smallest batch is larger


class Pool:
    """The file of a relay. One thread uses it.

    Parameters
    ----------
    path:
        An SQLite file; it is made if there is none.
    """

    def __init__(self, path: str) -> None:
        self._database: Database = open_database(path, _SCHEMA)
        for setting in (*_SETTINGS, _EMPTY_LOG):
            self._database.rows(setting)
        self._spent: dict[str, Runs] = {}

    def close(self) -> None:
        """Close the file."""
        self._database.__exit__()

    def add(self, campaign: str, singles: Sequence[Single], now: float, smallest: int) -> list[Outcome]:
        """Keep sealed reports whose tokens are new; of fewer than `smallest` with tokens none is kept."""
        spent = self._of(campaign)
        taken: set[bytes] = set()
        outcomes = []
        for single in singles:
            name = None if single.token is None else single.token[:NAME_BYTES]
            done = name is not None and (name in taken or not spent.fresh(names_of(name)).all())
            outcomes.append(Outcome.DONE if done else Outcome.STORED)
            taken |= set() if name is None else {name}
        kept = [each for each, done in zip(singles, outcomes, strict=True) if done is Outcome.STORED]
        if len(kept) < smallest and any(each.token is not None for each in kept):
            return [Outcome.ALONE if done is Outcome.STORED else done for done in outcomes]
        hashes = names_of(b"".join(each.token[:NAME_BYTES] for each in kept if each.token is not None))
        hashes = hashes[in_order(hashes)]
        if kept:
            self._write(campaign, sorted(each.report for each in kept), hashes.astype(">u8").tobytes(), now)
            spent.add(np.ascontiguousarray(hashes))
        return outcomes

    def add_batch(self, campaign: str, sealed: Sequence[bytes], now: float) -> None:
        """Keep sealed reports that came together."""
        with self._database.transaction():
            self._wait(campaign, b"".join(sealed), now)

    def _write(self, campaign: str, sealed: Sequence[bytes], hashes: bytes, now: float) -> None:
        """Write a group in one transaction."""
        with self._database.transaction():
            self._wait(campaign, b"".join(sealed), now)
            if hashes:
                self._database.change("INSERT INTO spent (campaign, hashes) VALUES (?, ?)", campaign, hashes)

    def _wait(self, campaign: str, body: bytes, now: float) -> None:
        """Let sealed reports wait; the hour in which they came is their only time."""
        self._database.change(
            "INSERT INTO waiting (campaign, since, body) VALUES (?, ?, ?)",
            *(campaign, int(now) // _HOUR * _HOUR, body),
        )

    def _of(self, campaign: str) -> Runs:
        """Return the spent tokens of a campaign."""
        if campaign not in self._spent:
            found = Runs()
            for row in self._database.rows("SELECT hashes FROM spent WHERE campaign = ?", campaign):
                found.add(names_of(_octets(row[0])))
            self._spent[campaign] = found
        return self._spent[campaign]

    def waiting(self) -> dict[str, int]:
        """Return how many sealed reports of each campaign wait."""
        rows = self._database.rows("SELECT campaign, SUM(length(body)) FROM waiting GROUP BY campaign")
        return {str(campaign): int(str(size)) // SEALED_BYTES for campaign, size in rows}

    def campaigns(self) -> list[str]:
        """Return the campaigns of which anything is kept."""
        rows = self._database.rows(
            "SELECT campaign FROM waiting UNION SELECT campaign FROM batch UNION SELECT campaign FROM spent"
            " UNION SELECT campaign FROM manifest"
        )
        return [str(row[0]) for row in rows]

    def gather(self, campaign: str, smallest: int) -> None:
        """Make batches of all that waits for a campaign; they stay on disk until they are forwarded.

        Each has `smallest` reports or more. A collector takes bodies of limited size, so many reports become
        several batches; which report is in which is decided by the random bytes with which it begins.
        """
        with self._database.transaction():
            rows = self._database.rows("SELECT body FROM waiting WHERE campaign = ?", campaign)
            joined = b"".join(_octets(row[0]) for row in rows)
            sealed = sorted(joined[at : at + SEALED_BYTES] for at in range(0, len(joined), SEALED_BYTES))
            self._database.change("DELETE FROM waiting WHERE campaign = ?", campaign)
            parts = min(-(-len(sealed) // MOST_TOGETHER), max(len(sealed) // smallest, 1))
            for part in range(parts):
                self._database.change(
                    "INSERT INTO batch (campaign, body) VALUES (?, ?)",
                    *(campaign, pack_sealed(sealed[part::parts])),
                )

    def manifests(self) -> list[str]:
        """Return the manifests that are kept, so that it is known when to delete what a campaign left."""
        return [str(row[0]) for row in self._database.rows("SELECT body FROM manifest")]

    def keep_manifest(self, campaign: str, body: str) -> None:
        """Keep the manifest of a campaign."""
        with self._database.transaction():
            self._database.change(
                "INSERT INTO manifest VALUES (?, ?) ON CONFLICT (campaign) DO NOTHING", campaign, body
            )

    def next_batches(self) -> list[tuple[int, str]]:
        """Return the number of the oldest batch of each campaign that was not forwarded yet."""
        rows = self._database.rows("SELECT MIN(number), campaign FROM batch GROUP BY campaign")
        return [(int(str(number)), str(campaign)) for number, campaign in rows]

    def batch(self, number: int) -> bytes:
        """Return a batch."""
        return _octets(self._database.rows("SELECT body FROM batch WHERE number = ?", number)[0][0])

    def forwarded(self, number: int) -> None:
        """Delete a batch that the collector has, or will never take."""
        with self._database.transaction():
            self._database.change("DELETE FROM batch WHERE number = ?", number)

    def put_back(self, number: int, campaign: str, body: bytes, now: float) -> None:
        """Let the reports of a refused batch wait for a larger one."""
        with self._database.transaction():
            self._database.change("DELETE FROM batch WHERE number = ?", number)
            self._wait(campaign, b"".join(unpack_sealed(body)), now)

    def forget(self, campaign: str) -> None:
        """Delete all of a campaign that has ended: what waits, and the tokens."""
        with self._database.transaction():
            for table in ("waiting", "batch", "spent", "manifest"):
                self._database.change(f"DELETE FROM {table} WHERE campaign = ?", campaign)
        self._spent.pop(campaign, None)
        self._database.rows(_EMPTY_LOG)


def _octets(value: object) -> bytes:
    """Return a blob, or raise if it is none."""
    if not isinstance(value, bytes):
        raise TypeError("a blob is missing.")
    return value
