"""Frequencies from simulated users: the oracle of the paper, ours, and RAPPOR with Bloom filters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
from experiments.ldp import data
from experiments.ldp.products import WORDS, SeededBits
from scipy.optimize import nnls

from hushcount import ldp
from hushcount.ldp.client.simulation import Items, packed, respond_all
from hushcount.ldp.server.aggregator import Aggregator

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
THEIRS, OURS, RAPPOR = "Hashtogram (paper)", "TreeHist (ours)", "RAPPOR with Bloom filters"
ROWS = 285


@dataclass(frozen=True)
class Population:
    """Words, and how many users hold each, the most frequent first."""

    words: Sequence[str]
    held: Counts

    @property
    def users(self) -> int:
        """How many users there are."""
        return int(self.held.sum())

    @classmethod
    def of(cls, words: Sequence[str], shares: Floats, users: int) -> Population:
        """Share users out by shares, rounded by largest remainder."""
        exact = shares / shares.sum() * users
        held = np.floor(exact).astype(np.int64)
        held[np.argsort(held - exact, kind="stable")[: users - int(held.sum())]] += 1
        return cls(words, held)


def power_law(users: int, items: int = 100, exponent: float = 1.5) -> Population:
    """Return random words of six letters of which the i-th has a share proportional to i^-1.5."""
    random = np.random.default_rng(items)
    letters = random.integers(0, len(data.ALPHABET), (2 * items, data.LENGTH))
    words = list(dict.fromkeys("".join(data.ALPHABET[letter] for letter in row) for row in letters))[:items]
    return Population.of(words, np.arange(1, items + 1) ** -exponent, users)


def exponential(users: int, items: int = 100) -> Population:
    """Return words with shares proportional to exp(-i / 20), the form of RAPPOR's third demo."""
    return Population.of(power_law(users, items).words, np.exp(-np.arange(items) / 20), users)


def english(users: int) -> Population:
    """Return English words of at most six letters."""
    words, shares = data.english()
    return Population.of(words, np.asarray(shares), users)


def estimated(
    method: str, people: Population, epsilon: float, seed: int, cells: int | None = None
) -> tuple[Floats, float]:
    """Return the estimates of a method for the 100 most frequent words, and the CPU seconds of its server."""
    random = np.random.default_rng([seed, people.users, round(100 * epsilon)])
    if method == RAPPOR:
        return bloom_filters(people.held, epsilon, random), 0.0
    manifest = campaign(method, people.users, epsilon, cells)
    manifest = replace(manifest, seed=random.bytes(len(manifest.seed)))
    reports = reports_of(manifest, people, random)
    start = process_time()
    found = ldp.frequencies(Aggregator(manifest).add(reports), people.words[:100])
    return np.asarray(found.estimates), process_time() - start


def campaign(method: str, users: int, epsilon: float, cells: int | None = None) -> Any:
    """Return the manifest of a campaign; cells are those of a row, by default about the root of the users."""
    asked: dict[str, Any] = {"epsilon": epsilon, "users": users}
    if method == OURS:
        return ldp.TreeHist(WORDS, threshold=15 * math.sqrt(users), **asked).manifest
    bits = None if cells is None else max(1, round(math.log2(cells)))
    return ldp.Hashtogram(WORDS, rows=ROWS, cell_bits=bits, **asked).manifest


def reports_of(manifest: Any, people: Population, random: np.random.Generator) -> bytes:
    """Return the reports of all users, in a random order."""
    holders = np.repeat(np.arange(len(people.words), dtype=np.uint16), people.held)
    random.shuffle(holders)
    items = Items.of(list(people.words), manifest.encoding).take(holders)
    nonces = random.integers(0, 1 << 64, people.users, dtype=np.uint64)
    return packed(manifest, nonces, respond_all(manifest, nonces, items, SeededBits(random)))


# RAPPOR (Erlingsson et al. 2014) with the sizes of its demonstrations: 16 bits, 2 hashes, 64 cohorts.
BITS, HASHES, COHORTS = 16, 2, 64


def bloom_filters(held: Counts, epsilon: float, random: np.random.Generator) -> Floats:
    """Return estimates from Bloom filters of which every bit is flipped once; 0 for those not significant.

    A bit is kept with probability 1 - f/2, and two words differ in at most twice as many bits as there are
    hashes, so epsilon = 2 h ln((1 - f/2) / (f/2)). The counts of bits are fitted by non-negative least
    squares over the words known, and a word is reported if it passes a test at 5%, divided by the number of
    words.
    """
    flipped = 1 / (1 + math.exp(epsilon / (2 * HASHES)))
    positions = random.integers(0, BITS, (COHORTS, len(held), HASHES))
    design = np.zeros((COHORTS, BITS, len(held)))
    for place in range(HASHES):
        np.put_along_axis(design, positions[:, None, :, place], 1.0, axis=1)
    users = np.stack([random.multinomial(count, np.full(COHORTS, 1 / COHORTS)) for count in held], axis=1)
    true = np.rint(np.einsum("cbw,cw->cb", design, users)).astype(np.int64)
    total = users.sum(axis=1, keepdims=True)
    seen = random.binomial(true, 1 - flipped) + random.binomial(total - true, flipped)
    counts = (seen - flipped * total) / (1 - 2 * flipped)
    matrix = design.reshape(COHORTS * BITS, len(held)) / COHORTS
    estimates, _ = nnls(matrix, counts.reshape(-1))
    noise = flipped * (1 - flipped) * float(total.mean()) / (1 - 2 * flipped) ** 2
    deviations = np.sqrt(noise * np.diag(np.linalg.pinv(matrix.T @ matrix)))
    passed = estimates >= NormalDist().inv_cdf(1 - 0.05 / len(held)) * deviations
    return np.where(passed, estimates, 0.0)
