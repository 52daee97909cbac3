"""Reports of one campaign as a batch: checked, sorted by nonce, and stored in 18 bytes each.

What every report of a campaign begins with is left out. Sorted by nonces, which clients draw uniformly,
reports say nothing of the order in which they came.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushcount.compiled.arrays import Mask, Symbols, Words
from hushcount.errors import ReportError
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.report import header
from hushcount.ldp.wire.versions import DRAWN
from hushcount.service._kernels import runs as kernels
from hushcount.service.store.runs import in_order

STORED_BYTES = DRAWN.nonce_bytes + DRAWN.symbol_bytes
_STORED = np.dtype([("nonce", ">u8", (2,)), ("symbols", "<u2")])
_READABLE = np.dtype([("nonce", "<u8", (2,)), ("symbols", "<u2")])  # the words as the aggregator takes them
FOREIGN = "a report is not of this campaign, or of another version."
IMPOSSIBLE = "a report has an impossible symbol."


class ReportBatch(NamedTuple):
    """Nonces in ascending order, none twice, with their joint symbols."""

    nonces: Words
    symbols: Symbols

    def where(self, wanted: Mask) -> ReportBatch:
        """Return some of the reports."""
        return self if wanted.all() else ReportBatch(self.nonces[wanted], self.symbols[wanted])

    def to_bytes(self) -> bytes:
        """Return what is stored."""
        stored = np.empty(len(self.nonces), _STORED)
        stored["nonce"], stored["symbols"] = self.nonces, self.symbols
        return stored.tobytes()


class ReceivedBatch(NamedTuple):
    """The reports of one request, sorted, equal ones included; and whether they came in that order."""

    batch: ReportBatch
    ascending: bool


def read_reports(packed: bytes, manifest: Manifest) -> ReceivedBatch:
    """Return packed reports of a campaign, or raise ReportError if one of them is malformed."""
    count = len(packed) // DRAWN.report_bytes
    nonces, symbols = np.empty((count, 2), np.uint64), np.empty(count, np.uint16)
    expected = np.frombuffer(header(manifest), np.uint8)
    data = np.frombuffer(packed, np.uint8)
    found, ascending = kernels.read(data, expected, manifest.symbols, nonces, symbols)
    if found != kernels.WELL:
        raise ReportError(FOREIGN if found == kernels.FOREIGN else IMPOSSIBLE)
    if ascending:
        return ReceivedBatch(ReportBatch(nonces, symbols), True)
    order = in_order(nonces)
    return ReceivedBatch(ReportBatch(nonces[order], symbols[order]), False)


def nonces_of(stored: bytes) -> Words:
    """Return the nonces of a stored batch, as a run."""
    return np.frombuffer(stored, _STORED)["nonce"].astype(np.uint64)


def readable(stored: bytes) -> tuple[Words, Symbols]:
    """Return a stored batch as the tables of a campaign take it."""
    read = np.frombuffer(stored, _READABLE)
    return read["nonce"].astype(np.uint64), read["symbols"].astype(np.uint16)
