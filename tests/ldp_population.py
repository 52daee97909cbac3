"""A whole population answers a campaign, with seeded bits: for tests of decoders."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np
from tests.seeded_bits import SeededBits

from hushcount.ldp.client.client import Client
from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.wire.manifest import Manifest
from hushcount.releases.release import Release

BLOCK = 1 << 20


def with_seed(manifest: Manifest, seed: int) -> Manifest:
    """The same campaign with public randomness that follows from a seed."""
    return replace(manifest, seed=hashlib.sha256(seed.to_bytes(8, "little")).digest())


def pure_reports(manifest: Manifest, items: list[Any], seed: int) -> list[bytes]:
    """The reports of pure clients, one for each item."""
    bits = SeededBits(seed)
    return [Client(manifest, nonce, bits=bits).report(item) for nonce, item in enumerate(items)]


def answered(manifest: Manifest, counts: dict[Any, int], seed: int) -> Aggregator:
    """The aggregator after every holder of every item has reported; all randomness follows from the seed."""
    seeded = with_seed(manifest, seed)
    items = Items.of(counts, seeded.encoding)
    held = np.repeat(np.arange(len(counts), dtype=np.uint16), list(counts.values()))
    np.random.default_rng(seed).shuffle(held)
    aggregator, bits = Aggregator(seeded), SeededBits(seed)
    for start in range(0, len(held), BLOCK):
        nonces = np.arange(start, min(start + BLOCK, len(held)), dtype=np.uint64)
        symbols = respond_all(seeded, nonces, items.take(held[start : start + BLOCK]), bits)
        aggregator.add((nonces, symbols))
    return aggregator


def random_words(count: int, seed: int, letters: int = 6) -> list[str]:
    """Different words of three letters and more, in alphabetical order."""
    generator = random.Random(seed)
    drawn: set[str] = set()
    while len(drawn) < count:
        drawn.add("".join(generator.choices(ascii_lowercase, k=generator.randint(3, letters))))
    return sorted(drawn)


def zipf(items: list[Any], users: int) -> dict[Any, int]:
    """Counts proportional to rank^-1.2, rounded down."""
    weights = np.arange(1, len(items) + 1) ** -1.2
    counts = (weights / weights.sum() * users).astype(np.int64)
    return dict(zip(items, counts.tolist(), strict=True))


def assert_found(release: Release, counts: dict[Any, int]) -> None:
    """All items well above the floor, none well below it, at least three, true counts in wide intervals.

    Well is five standard deviations of the largest count, so that hardly any seed fails.
    """
    sure = 1 - 5e-7
    table = release.at_confidence(sure).table.to_pydict()
    far = release.accuracy(sure).below
    assert {item for item, count in counts.items() if count >= release.floor + far} <= set(table["key"])
    assert all(counts.get(item, 0) >= release.floor - far for item in table["key"])
    for item, lower, upper in zip(table["key"], table["lower"], table["upper"], strict=True):
        assert lower <= counts.get(item, 0) <= upper
    assert len(table["key"]) >= 3


def precision_recall(release: Release, counts: dict[Any, int], threshold: float) -> tuple[float, float]:
    """Of the published items the part that is heavy, of the heavy ones the part that is published."""
    published = set(release.table["key"].to_pylist())
    heavy = {item for item, count in counts.items() if count >= threshold}
    right = len(published & heavy)
    return right / max(len(published), 1), right / max(len(heavy), 1)
