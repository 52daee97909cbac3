"""What is computed from the stored reports of a campaign: heavy hitters, counts of items, and checks.

It costs no privacy, because every report is private by itself. Only a campaign with a central guarantee
charges a ledger, once, with what its manifest claims.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from hushcount.accounting import inspection
from hushcount.accounting.chain import question_hash
from hushcount.accounting.charges import Event
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import USER, Answer, RunPlan
from hushcount.errors import LedgerError, ParameterError
from hushcount.ldp import registry
from hushcount.ldp.server.decoding import Collected, check_threshold, release_of
from hushcount.ldp.server.tallies import split_symbols
from hushcount.ldp.wire.encodings import Integers
from hushcount.ldp.wire.manifest import Manifest
from hushcount.releases.stored.documents import json_of
from hushcount.service.store.store import CollectorStore

CONFIDENCE = 0.95
Answered = TypeVar("Answered")
SUSPICIOUS = 7.0  # standard deviations: honest nonces deviate so far less than once in 100,000 looks
NOT_OF_USERS = "The dataset {} of the ledger does not protect users, as campaigns do; name another."
FOUND_NOTHING = "no report is stored, so nothing can be estimated."


class NoReportsError(ParameterError):
    """A campaign has no report yet."""


def collected(store: CollectorStore, manifest: Manifest) -> Collected:
    """Return the tables of a campaign, or raise if it has no reports."""
    found = store.tables.of(manifest)
    if not found.reports:
        raise NoReportsError(FOUND_NOTHING)
    return found


def heavy_hitters(
    store: CollectorStore, manifest: Manifest, threshold: float | None = None, limit: int | None = None
) -> str:
    """Return the items whose estimated count reaches a threshold, as the JSON of a release."""
    checked = check_threshold(threshold)
    tables = collected(store, manifest)
    release = release_of(tables, registry.DECODERS[manifest.protocol].find(tables, checked))
    return json_of(release if limit is None else release.limit(limit))


def frequencies(store: CollectorStore, manifest: Manifest, items: Sequence[str]) -> dict[str, object]:
    """Return estimated counts of chosen items with intervals."""
    values = [_encoded(item, manifest) for item in items]
    found = registry.DECODERS[manifest.protocol].estimate(collected(store, manifest), values)
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * found.deviations
    lower = np.maximum(np.floor(found.estimates - half), 0)
    upper = np.maximum(np.ceil(found.estimates + half), 0)
    columns = (np.rint(found.estimates), lower, upper)
    rows = [
        {"key": item, "count": int(count), "lower": int(low), "upper": int(high)}
        for item, count, low, high in zip(items, *columns, strict=True)
    ]
    return {"hushcount": 1, "kind": "answers", "confidence": CONFIDENCE, "rows": rows}


def _encoded(item: str, manifest: Manifest) -> int:
    """Return an item as an integer, or raise; numbers are written in digits."""
    digits = item.isascii() and item.isdigit() and len(item) <= 400
    numbers = isinstance(manifest.encoding, Integers) and digits
    value = manifest.encoding.encode(int(item) if numbers else item)
    if value is None:
        raise ParameterError("an item cannot be encoded.")
    return value


def influence(manifest: Manifest) -> float:
    """Return by how much one fake report can move the estimate of an item: (q - 1) / (q p - 1) holders."""
    response = manifest.groups[0].response
    return (response.symbols - 1) / response.gain


def consistency(store: CollectorStore, manifest: Manifest) -> dict[str, object]:
    """Return how far the reports are from what honest clients send, in standard deviations.

    Honest nonces are uniform, so each question has about its share of the reports, and each of 256 values of
    a nonce's first byte one in 256. No honest symbol is rarer or more frequent than the randomised response
    allows, whatever the items. Fakes made without regard to that are seen; careful ones are not.
    """
    tables = collected(store, manifest)
    first, symbols = np.zeros(256, np.int64), np.zeros(manifest.groups[0].symbols, np.int64)
    for nonces, joint in store.reports.read(manifest.id):
        first += np.bincount(nonces[:, 0].astype(np.uint64) & np.uint64(255), minlength=256)
        symbols += np.bincount(split_symbols(joint, manifest.groups)[0], minlength=len(symbols))
    group = manifest.groups[0]
    shares = np.array(group.shares) / 2**32
    asked = np.array([tally.reports for tally in tables.groups[0]])
    low = (1 - group.probability / 2**64) / (group.symbols - 1)
    found = {
        "nonces": _farthest(first, np.full(256, 1 / 256), np.full(256, 1 / 256)),
        "questions": _farthest(asked, shares, shares),
        "symbols": _farthest(
            symbols, np.full(len(symbols), low), np.full(len(symbols), group.probability / 2**64)
        ),
    }
    return {
        "reports": tables.reports,
        "deviations": {name: round(value, 2) for name, value in found.items()},
        "suspicious": [name for name, value in found.items() if value > SUSPICIOUS],
        "questions": asked.tolist(),
    }


def _farthest(
    counts: np.ndarray[tuple[int], np.dtype[np.int64]],
    low: np.ndarray[tuple[int], np.dtype[np.float64]],
    high: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> float:
    """Return how many standard deviations the farthest count lies outside of its range of shares."""
    total = float(counts.sum())
    below = (total * low - counts) / np.sqrt(total * low * (1 - low) + 1)
    above = (counts - total * high) / np.sqrt(total * high * (1 - high) + 1)
    return max(float(below.max()), float(above.max()), 0.0)


def check_ledger(ledger: str, dataset: str) -> None:
    """Raise LedgerError unless a ledger has the dataset, and the dataset protects users."""
    (found,) = inspection.show(ledger, dataset)
    if found["unit"] != USER:
        raise LedgerError(NOT_OF_USERS.format(dataset))


def charge(manifest: Manifest, ledger: str | None, dataset: str | None) -> None:
    """Charge the central guarantee of a campaign to a ledger, once, before anything of it is released."""
    claim = manifest.terms
    if ledger is None or dataset is None or claim.central is None:
        return
    event = Event.of(Decimal(claim.central_epsilon), Decimal(claim.central_delta))
    plan = RunPlan(
        question_hash({"campaign": manifest.id}), USER, event, f"campaign {manifest.id}", source=None
    )
    book = Ledger(ledger)
    reservation = book.reserve(dataset, plan)
    if reservation.answer is None:
        book.commit(reservation, Answer(manifest.to_json().encode()))


def least_detectable(manifest: Manifest, reports: int) -> float | None:
    """Return the smallest count that so many reports would show, by the manifest's own threshold.

    Thresholds are planned for the users of the manifest and grow with the root of the number of reports.
    """
    planned = manifest.parameters.get("threshold")
    if not isinstance(planned, int) or not reports:
        return None
    return planned * math.sqrt(reports / manifest.users)
