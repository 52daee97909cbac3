"""Campaigns of hushcount.ldp, simulated: every user reports, and the server reads the bytes.

All is drawn from the seed of the campaign, also what must be secret and fresh in reality: the responses of
the clients, and the public seed of the manifest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from experiments.ldp import data
from experiments.ldp.quality import Campaign

from hushcount.ldp import Aggregator, Bitstogram, BitstogramBinary, Manifest, PackedWords, TreeHist, Words
from hushcount.ldp.client.simulation import Items, packed, respond_all

WORDS = Words(data.ALPHABET, data.LENGTH)
PACKED = PackedWords(data.ALPHABET, data.LENGTH)  # 29 bits: what the code of the binary mode holds
Protocol = Callable[..., Any]

PRODUCTS: dict[str, Protocol] = {
    "TreeHist": lambda **asked: TreeHist(WORDS, **asked),
    "TreeHist, 1 bit": lambda **asked: TreeHist(WORDS, symbol_bits=1, **asked),
    "Bitstogram": lambda **asked: Bitstogram(WORDS, **asked),
    "Bitstogram, binary": lambda **asked: BitstogramBinary(PACKED, **asked),
}


class SeededBits:
    """Uniform bits that can be drawn again; satisfies hushcount.noise.bits.Bits."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def words(self, count: int) -> Any:
        """So many 64-bit words."""
        return self._rng.integers(0, 1 << 64, count, dtype=np.uint64)

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        return self._rng.bytes(count)


def simulate(protocol: Protocol, campaign: Campaign) -> tuple[dict[str, float], float]:
    """What is published of a campaign, and the CPU seconds of the server, from the bytes to the release."""
    rng = campaign.rng
    asked = protocol(epsilon=campaign.epsilon, users=campaign.users, threshold=campaign.tau).manifest
    manifest = replace(asked, seed=rng.bytes(len(asked.seed)))
    reports = reports_of(manifest, campaign, rng)
    start = time.process_time()
    release = Aggregator(manifest).add(reports).heavy_hitters(campaign.tau)
    seconds = time.process_time() - start
    words, counts = release.keys["key"].to_pylist(), release.counts.to_pylist()
    return dict(zip(words, counts, strict=True)), seconds


def reports_of(manifest: Manifest, campaign: Campaign, rng: np.random.Generator) -> bytes:
    """The reports of all users, one after the other."""
    users = data.population(campaign.users, campaign.seed, campaign.name)
    items = Items.of(data.counts(campaign.name, campaign.users)[0], manifest.encoding).take(users)
    nonces = rng.integers(0, 1 << 64, campaign.users, dtype=np.uint64)
    return packed(manifest, nonces, respond_all(manifest, nonces, items, SeededBits(rng)))
