"""Reports of a campaign as a store adds and reads them: each nonce once, each token once.

A group of single reports and their tokens is written in one transaction, each sorted by itself. Whoever reads
the store, its log included, learns that the tokens of a group belong to the reports of the group, and nothing
about which to which. That is why a group must be large enough, which `hushcount.service.groups` sees to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from hushcount.compiled.arrays import Mask, Words
from hushcount.ldp.wire.manifest import Manifest
from hushcount.service.store.batch import ReportBatch, nonces_of, read_reports, readable
from hushcount.service.store.campaigns import RUNNING
from hushcount.service.store.runs import Runs, in_order, names_of
from hushcount.stores.database import Database

HOUR = 3600
NAME_BYTES = 16  # of the hash of a spent token that is kept


class Outcome(Enum):
    """What became of a report."""

    STORED = "stored"
    DONE = "done"  # its nonce or its token came before
    OVER = "over"  # the campaign takes no more reports
    TOO_FEW = "too few"  # a batch has fewer reports than the manifest promises
    ALONE = "alone"  # too few reports came together to hide which token belongs to which
    MIXED = "mixed"  # a batch has a nonce of another batch


class Single(NamedTuple):
    """One report, with the hash of the token that it spends, if it needs one."""

    report: bytes
    token: bytes | None = None


class RelayBatch(NamedTuple):
    """A batch of a relay: its reports, the digest by which it is known again, and how many are lost."""

    batch: ReportBatch
    digest: bytes
    dropped: int = 0
    sealed: bool = False


@dataclass(slots=True)
class _Seen:
    """The nonces and spent tokens of one campaign, as far as this process has read them."""

    nonces: Runs
    spent: Runs
    batches: int = 0
    spends: int = 0


class _Now(NamedTuple):
    """A locked campaign: what is known of it, and whether it takes reports."""

    seen: _Seen
    running: bool


class ReportStore:
    """The reports of the campaigns of a store. One thread uses it.

    Parameters
    ----------
    database:
        The open database.
    folder:
        Where long runs of nonces may lie, which no crash leaves behind.
    """

    def __init__(self, database: Database, folder: str | None = None) -> None:
        self._database = database
        self._folder = folder
        self._known: dict[str, _Seen] = {}

    def forget(self, campaign: str) -> None:
        """Forget what was read of a campaign; it is read again when it is needed."""
        self._known.pop(campaign, None)

    def forget_deleted(self) -> None:
        """Forget what was read of campaigns whose reports another process has deleted."""
        for campaign in [each for each, seen in self._known.items() if self.batches(each) < seen.batches]:
            self.forget(campaign)

    def batches(self, campaign: str) -> int:
        """Return how many batches of a campaign are stored."""
        rows = self._database.rows("SELECT batches FROM campaign WHERE id = ?", campaign)
        return int(str(rows[0][0])) if rows else 0

    def add_singles(
        self, manifest: Manifest, singles: Sequence[Single], now: float, smallest: int = 1
    ) -> list[Outcome]:
        """Store single reports as one batch, and say what became of each; when it returns, it is on disk.

        Reports that spend tokens are stored only if there are at least `smallest` new ones: among fewer, the
        store would show which token belongs to which report.
        """
        with self._database.transaction():
            seen, running = self._lock(manifest, now)
            outcomes = _decide(singles, seen, Outcome.STORED if running else Outcome.OVER)
            chosen = _stored(singles, outcomes)
            if len(chosen) < smallest and any(each.token is not None for each in chosen):
                chosen = []
                outcomes = [Outcome.ALONE if done is Outcome.STORED else done for done in outcomes]
            batch = read_reports(b"".join(each.report for each in chosen), manifest).batch
            spent = _hashes(chosen)
            spent = spent[in_order(spent)]
            if chosen:
                self._write(manifest, batch, now, b"")
                self._spend(manifest, seen, spent)
        self._learn(seen, batch.nonces, spent)
        return outcomes

    def add_batch(self, manifest: Manifest, sent: RelayBatch, now: float) -> tuple[Outcome, int]:
        """Store a batch whole or not at all; return what became of it and how many reports are new."""
        with self._database.transaction():
            seen, running = self._lock(manifest, now)
            fresh = seen.nonces.fresh(sent.batch.nonces)
            outcome = self._judge(manifest, sent, fresh, running)
            batch = sent.batch.where(fresh)
            if outcome is Outcome.STORED:
                self._write(manifest, batch, now, sent.digest, sent.dropped)
        if outcome is not Outcome.STORED:
            return outcome, 0
        self._learn(seen, batch.nonces, np.empty((0, 2), np.uint64))
        return outcome, len(batch.nonces)

    def _judge(self, manifest: Manifest, sent: RelayBatch, fresh: Mask, running: bool) -> Outcome:
        """Return whether a batch may be stored."""
        if self.has(manifest.id, sent.digest):
            return Outcome.DONE
        if not running:
            return Outcome.OVER
        if not manifest.terms.relay:
            return Outcome.STORED if fresh.any() or not len(fresh) else Outcome.DONE
        if not fresh.all() and not sent.sealed:
            return Outcome.MIXED
        return Outcome.STORED if fresh.sum() >= manifest.terms.min_batch else Outcome.TOO_FEW

    def has(self, campaign: str, digest: bytes) -> bool:
        """Return whether a batch is stored already."""
        return bool(
            self._database.rows("SELECT 1 FROM batch WHERE campaign = ? AND digest = ?", campaign, digest)
        )

    def read(
        self, campaign: str, number: int = 0
    ) -> Iterator[tuple[Words, np.ndarray[tuple[int], np.dtype[np.uint16]]]]:
        """Yield the batches of a campaign after those with which it begins, as its tables take them."""
        statement = "SELECT body FROM batch WHERE campaign = ? AND number = ?"
        while rows := self._database.rows(statement, campaign, number := number + 1):
            yield readable(_octets(rows[0][0]))

    def _lock(self, manifest: Manifest, now: float) -> _Now:
        """Lock a campaign, and read what other processes have added to it.

        What is known was committed, so it stays true when a transaction fails. Only a store that has fewer
        batches than before (it was deleted, or is a backup) is read anew.
        """
        rows = self._database.rows(
            f"SELECT state, batches, spent FROM campaign WHERE id = ?{self._database.alone}", manifest.id
        )
        state, batches, spends = rows[0] if rows else ("", 0, 0)
        seen = self._known.get(manifest.id)
        if seen is None or seen.batches > int(str(batches)) or seen.spends > int(str(spends)):
            seen = self._known[manifest.id] = _Seen(Runs(self._folder), Runs(self._folder))
        while seen.batches < int(str(batches)):
            body = self._blob("SELECT body FROM batch", manifest, seen.batches + 1)
            seen.nonces.add(nonces_of(body))
            seen.batches += 1
        while seen.spends < int(str(spends)):
            seen.spent.add(names_of(self._blob("SELECT hashes FROM spent", manifest, seen.spends + 1)))
            seen.spends += 1
        return _Now(seen, state == RUNNING and not manifest.expired(now))

    def _blob(self, statement: str, manifest: Manifest, number: int) -> bytes:
        """Return one blob of a campaign."""
        rows = self._database.rows(f"{statement} WHERE campaign = ? AND number = ?", manifest.id, number)
        return _octets(rows[0][0])

    def _write(
        self, manifest: Manifest, batch: ReportBatch, now: float, digest: bytes, dropped: int = 0
    ) -> None:
        """Write a batch, with the hour as its only time."""
        count, campaign = len(batch.nonces), manifest.id
        self._database.change(
            "INSERT INTO batch SELECT id, batches + 1, ?, ?, ?, ? FROM campaign WHERE id = ?",
            *(int(now) // HOUR, count, digest, batch.to_bytes(), campaign),
        )
        self._database.change(
            "UPDATE campaign SET batches = batches + 1, reports = reports + ?, dropped = dropped + ?"
            " WHERE id = ?",
            *(count, dropped, campaign),
        )

    def _spend(self, manifest: Manifest, seen: _Seen, spent: Words) -> None:
        """Write the hashes of spent tokens, sorted."""
        if len(spent):
            self._database.change(
                "INSERT INTO spent VALUES (?, ?, ?)",
                *(manifest.id, seen.spends + 1, spent.astype(">u8").tobytes()),
            )
            self._database.change("UPDATE campaign SET spent = spent + 1 WHERE id = ?", manifest.id)

    @staticmethod
    def _learn(seen: _Seen, nonces: Words, spent: Words) -> None:
        """Remember what this process has written."""
        if len(nonces):
            seen.nonces.add(nonces)
            seen.batches += 1
        if len(spent):
            seen.spent.add(spent)
            seen.spends += 1


def _decide(singles: Sequence[Single], seen: _Seen, otherwise: Outcome) -> list[Outcome]:
    """Return what becomes of each report: what the store, or one before it in the group, knows is done."""
    nonces = names_of(b"".join(each.report[9:25] for each in singles))
    known = _known(nonces, seen.nonces)
    with_token = [place for place, each in enumerate(singles) if each.token is not None]
    tokens = _hashes([singles[place] for place in with_token])
    for place, spent in zip(with_token, _known(tokens, seen.spent), strict=True):
        known[place] = known[place] or spent
    taken: set[bytes] = set()
    outcomes = []
    for each, done in zip(singles, known, strict=True):
        names = {b"n" + each.report[9:25]} | ({b"t" + each.token[:NAME_BYTES]} if each.token else set())
        if done or names & taken:
            outcomes.append(Outcome.DONE)
            continue
        outcomes.append(otherwise)
        if otherwise is Outcome.STORED:
            taken |= names
    return outcomes


def _stored(singles: Sequence[Single], outcomes: Sequence[Outcome]) -> list[Single]:
    """Return the reports that are to be stored."""
    return [each for each, done in zip(singles, outcomes, strict=True) if done is Outcome.STORED]


def _known(names: Words, runs: Runs) -> list[bool]:
    """Return for each name whether it is in the set."""
    order = in_order(names)
    distinct, places = np.unique(names[order], axis=0, return_inverse=True)
    new = runs.fresh(np.ascontiguousarray(distinct))[places.reshape(-1)]
    found = np.empty(len(names), np.bool_)
    found[order] = ~new
    return [bool(each) for each in found]


def _hashes(singles: Sequence[Single]) -> Words:
    """Return the hashes of the tokens of reports that have one."""
    return names_of(b"".join(each.token[:NAME_BYTES] for each in singles if each.token is not None))


def _octets(value: object) -> bytes:
    """Return a blob, or raise if it is none."""
    if not isinstance(value, bytes):
        raise TypeError("a blob is missing.")
    return value
