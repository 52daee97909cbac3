"""Compiling the loops of a collector before it takes requests: nobody's report waits for a compiler.

Where compiled code can be kept on disk that is done once; elsewhere at every start.
"""

from __future__ import annotations

import time

from hushcount.ldp.protocols.paper.campaign import ExplicitHist
from hushcount.ldp.server.tallies import GroupTallies
from hushcount.ldp.wire.encodings import Integers
from hushcount.ldp.wire.report import header
from hushcount.ldp.wire.versions import DRAWN
from hushcount.secure import fresh_key
from hushcount.service.store.batch import nonces_of, read_reports, readable
from hushcount.service.store.runs import Runs

_HOUR = 3600


def compile_loops() -> None:
    """Read, deduplicate and count a few reports of a campaign that nobody else has."""
    manifest = ExplicitHist(Integers(8), epsilon=1.0, users=1000, expires=int(time.time()) + _HOUR).manifest
    runs, tallies = Runs(), GroupTallies(manifest, 0)
    for _ in range(2):
        nonces = [fresh_key(DRAWN.nonce_bytes) for _ in range(4)]
        batch = read_reports(b"".join(header(manifest) + nonce + b"\0\0" for nonce in nonces), manifest).batch
        batch = batch.where(runs.fresh(batch.nonces))
        stored = batch.to_bytes()
        runs.add(nonces_of(stored))
        tallies.add(*readable(stored))
    _ = tallies.question(0).matches
