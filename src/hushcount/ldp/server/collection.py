"""From files of reports to heavy items: read them all, after those of a saved state, and answer."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hushcount.errors import DataError, cannot_read
from hushcount.files.atomic import alone
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.wire.manifest import Manifest

if TYPE_CHECKING:
    from hushcount.releases.release import Release

STANDARD_INPUT = "-"
# What is said of reports that were refused, by reason.
REFUSED = {
    "length": "of a wrong length",
    "version": "of another version",
    "campaign": "of another campaign",
    "symbol": "with an impossible symbol",
    "expired": "after the end of the campaign",
    "duplicate": "with a nonce that came before",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """Files of reports, and how they are read.

    `files` are paths with the form of each, `state` is a file whose reports come first and which keeps all of
    them, `in_time` says that the reports came before the campaign ended, and `tell` is called with the bytes
    of every block, to report progress.
    """

    files: Sequence[tuple[str, str]]
    state: str | None = None
    in_time: bool = False
    tell: Callable[[int], object] | None = None


def answer(path: str, incoming: Incoming, threshold: float | None) -> tuple[str, Release]:
    """Return a sentence on the reports of a manifest's campaign, and the items that reach the threshold."""
    aggregator = collect(Manifest.load(path), incoming)
    return f"{counted(aggregator.reports, aggregator.refused)}.", aggregator.heavy_hitters(threshold)


def collect(manifest: Manifest, incoming: Incoming) -> Aggregator:
    """Read all reports, and keep them if there is a state, which nobody else changes meanwhile."""
    state = incoming.state
    with nullcontext() if state is None else alone(Path(state)):
        aggregator = Aggregator(manifest)
        if state is not None and os.path.exists(state):
            aggregator = aggregator.merge(Aggregator.load(state))
        before = aggregator.reports, Counter(aggregator.refused)
        now = manifest.expires - 1 if incoming.in_time else None
        for path, form in incoming.files:
            with _opened(path) as stream:
                aggregator.read(stream, form, now=now, tell=incoming.tell)
        _refuse_mostly_malformed(aggregator, before)
        if state is not None:
            aggregator.save(state)
    return aggregator


def counted(reports: int, refused: Mapping[str, int]) -> str:
    """Say how many reports were counted, and how many were refused for which reason.

    >>> counted(1000, {"length": 2, "version": 0})
    '1,000 reports counted; refused: 2 of a wrong length'
    """
    reasons = ", ".join(f"{count:,} {REFUSED[reason]}" for reason, count in refused.items() if count)
    return f"{reports:,} reports counted" + (f"; refused: {reasons}" if reasons else "")


def _refuse_mostly_malformed(aggregator: Aggregator, before: tuple[int, Counter[str]]) -> None:
    """Raise if most of the new reports were refused; a duplicate, which came before, is well formed."""
    taken = aggregator.reports - before[0]
    refused = Counter(aggregator.refused) - before[1]
    malformed = refused.total() - refused["duplicate"]
    if malformed > taken + refused["duplicate"]:
        raise DataError(
            f"{counted(taken, refused)}. Most reports were refused, so nothing was published."
            " Check MANIFEST, --report-format and the files."
        )


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Open a file of reports, or standard input for -."""
    if path == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        with open(path, "rb") as stream:
            yield stream
    except OSError as error:
        failure = DataError(cannot_read(path, error))
    else:
        return
    raise failure
