"""Protocols of other authors, to compare with: unary encoding, and local hashing with growing prefixes.

In all of them a report supports some items: the own item with probability p, any other item with
probability q, independently of each other. (In unary encoding because every bit has its own coin, in local
hashing because an ideal hash throws every other item into the reported value with chance 1/g.) So the support
counts of different items are independent sums of two binomial variables, which is their exact law and what is
drawn here; a test compares it with reports drawn user by user.

- unary encoding, p + q = 1: the one-time form of RAPPOR (Erlingsson et al. 2014).
- optimised unary encoding (OUE) and optimal local hashing (OLH): Wang et al. 2017.
- prefix extending (PEM): Wang et al. 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from experiments.ldp.data import ALPHABET, SYMBOL_BITS

FALSE_ALARM = 0.01
CUTS = (2, 4, 6)


@dataclass(frozen=True)
class Support:
    """The law of a protocol whose reports support items: p for the own item, q for any other."""

    p: float
    q: float

    def estimate(self, held: Any, users: int, rng: np.random.Generator) -> Any:
        """Unbiased estimates of the counts of items, of which `held` users each hold one."""
        support = rng.binomial(held, self.p) + rng.binomial(users - held, self.q)
        return (support - users * self.q) / (self.p - self.q)

    def variance(self, held: Any, users: int) -> Any:
        """Variance of the estimate of an item that so many of the users hold."""
        noise = held * self.p * (1 - self.p) + (users - held) * self.q * (1 - self.q)
        return noise / (self.p - self.q) ** 2


def unary(epsilon: float) -> Support:
    """Unary encoding where ones and zeros are kept alike (basic one-time RAPPOR)."""
    p = 1 / (1 + math.exp(-epsilon / 2))
    return Support(p, 1 - p)


def optimised_unary(epsilon: float) -> Support:
    """Unary encoding with the least variance of an absent item: a one is kept with chance 1/2."""
    return Support(0.5, 1 / (math.exp(epsilon) + 1))


def local_hashing(epsilon: float) -> Support:
    """Optimal local hashing: g = exp(epsilon) + 1 rounded, randomised response over g values."""
    g = hash_values(epsilon)
    return Support(math.exp(epsilon) / (math.exp(epsilon) + g - 1), 1 / g)


def hash_values(epsilon: float) -> int:
    """How many values an optimal local hash has."""
    return max(2, round(math.exp(epsilon) + 1))


def threshold(tau: float, deviation: float, candidates: int) -> float:
    """What an estimate must reach: tau, and no absent candidate in 99 of 100 runs."""
    return max(tau, NormalDist().inv_cdf(1 - FALSE_ALARM / candidates) * deviation)


def from_list(law: Support, held: Any, tau: float, rng: np.random.Generator) -> dict[int, float]:
    """Positions in a list of candidates whose estimates are accepted, and the estimates."""
    users = int(held.sum())
    estimates = law.estimate(held, users, rng)
    bar = threshold(tau, math.sqrt(law.variance(0, users)), len(held))
    accepted = np.flatnonzero(estimates >= bar)
    return dict(zip(accepted.tolist(), estimates[accepted].tolist(), strict=True))


def prefix_extending(
    codes: Any, held: Any, epsilon: float, tau: float, rng: np.random.Generator
) -> dict[int, float]:
    """Codes of words found by PEM with local hashing: equal groups, the best n / tau prefixes extended."""
    law, users = local_hashing(epsilon), int(held.sum())
    prefixes, start, left = np.arange(1, len(ALPHABET) + 1, dtype=np.uint64), 1, held
    for step, stop in enumerate(CUTS):
        size = int(left.sum()) // (len(CUTS) - step)
        group = rng.multivariate_hypergeometric(left, size, method="marginals")
        left = left - group
        prefixes = extended(prefixes, stop - start)
        inside = tally(codes >> np.uint64(SYMBOL_BITS * (CUTS[-1] - stop)), group, prefixes)
        estimates = law.estimate(inside, size, rng) * users / size
        best = np.argsort(-estimates)[: int(users / tau)]
        tested, prefixes, estimates, start = len(prefixes), prefixes[best], estimates[best], stop
    bar = threshold(tau, math.sqrt(law.variance(0, size)) * users / size, tested)
    accepted = estimates >= bar
    return dict(zip(prefixes[accepted].tolist(), estimates[accepted].tolist(), strict=True))


def extended(prefixes: Any, letters: int) -> Any:
    """Every prefix with every valid continuation of so many letters: nothing follows the end of a word."""
    symbols = np.arange(len(ALPHABET) + 1, dtype=np.uint64)
    for _ in range(letters):
        ended = (prefixes & np.uint64((1 << SYMBOL_BITS) - 1)) == 0
        longer = (prefixes[:, None] << np.uint64(SYMBOL_BITS)) | symbols
        prefixes = np.concatenate([longer[~ended].ravel(), longer[ended, 0]])
    return prefixes


def tally(codes: Any, held: Any, candidates: Any) -> Any:
    """How many hold each of the candidates."""
    present, where = np.unique(codes, return_inverse=True)
    totals = np.bincount(where, weights=held).astype(np.int64)
    position = np.minimum(np.searchsorted(present, candidates), len(present) - 1)
    return np.where(present[position] == candidates, totals[position], 0)
