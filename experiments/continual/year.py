"""A simulated year: Zipf events of keys that come and go, and the three ways to publish them day by day."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from hushcount.jobs.feed.bounds import FeedBounds, Summed
from hushcount.mechanisms.continual.gate import Gate, Watching
from hushcount.mechanisms.continual.thresholds import threshold
from hushcount.noise.bits import Bits
from hushcount.noise.lattice import typed
from hushcount.privacy import Budget

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Year:
    """Days of events, as a stream of (keys, counts) for each day.

    Each place of a Zipf distribution belongs to one key; half of the places get another key on a random day.
    """

    events: int
    places: int
    days: int
    seed: int
    exponent: float = 1.1

    def stream(self) -> list[tuple[Counts, Counts]]:
        """Return the keys of each day with their counts."""
        rng = np.random.default_rng(self.seed)
        weights = np.cumsum(np.arange(1, self.places + 1, dtype=np.float64) ** -self.exponent)
        changes = np.where(rng.random(self.places) < 0.5, rng.integers(1, self.days, self.places), self.days)
        found = []
        for day in range(self.days):
            size = self.events // self.days
            place = np.searchsorted(weights, rng.random(size) * weights[-1]).clip(max=self.places - 1)
            keys, counts = np.unique(place + self.places * (changes[place] <= day), return_counts=True)
            found.append((keys.astype(np.int64), counts.astype(np.int64)))
        return found


@dataclass(frozen=True)
class Published:
    """An estimate for every key, and which keys have one."""

    estimates: Counts
    keys: npt.NDArray[np.bool_]


def watch(
    year: Year, stream: list[tuple[Counts, Counts]], budget: Budget, bits: Bits
) -> tuple[Published, Summed]:
    """The gate and the levels of one and 28 days: entries, and the nodes that make up the whole time."""
    size, days = 2 * year.places, year.days
    watching = Watching(budget, days, (1, 28))
    gate, levels = watching.gate, watching.levels
    r, z = np.zeros(size, np.int64), np.full(size, -1, np.int64)
    known, entries = np.zeros(size, bool), np.zeros(size, np.int64)
    counts, nodes, draws = (np.zeros(size, np.int64) for _ in range(3))
    for day, (keys, events) in enumerate(stream):
        counts[keys] += np.where(known[keys], events, 0)
        fresh = keys[~known[keys]]
        r[fresh] += events[~known[keys]]
        new = fresh[z[fresh] < 0]
        z[new] = gate.secrets(len(new), bits)
        if (day + 1) % 28 == 0 or day >= days - days % 28:  # a node that makes up the whole time
            level = int((day + 1) % 28 == 0)
            there = np.flatnonzero(known)
            nodes[there] += levels.noisy(level, counts[there], bits)
            draws[there] += 1
            counts[:] = 0
        waiting = np.flatnonzero(~known & (r >= gate.least))
        passed = gate.entries(r[waiting], z[waiting], bits)
        entered = waiting[passed.places]
        entries[entered], known[entered] = passed.values, True
    zeros = np.zeros(size, np.int64)
    summed = Summed(nodes, draws, entries, zeros, known.astype(np.int64), *[zeros] * 5)
    return Published(np.where(known, entries + nodes, 0), known), summed


def nights(year: Year, stream: list[tuple[Counts, Counts]], budget: Budget, bits: Bits) -> Published:
    """A release of each day by itself, and their sums."""
    rate = typed(budget.epsilon)
    gate = Gate(rate, threshold(rate, budget.delta, 1))
    total, seen = np.zeros(2 * year.places, np.int64), np.zeros(2 * year.places, bool)
    for keys, events in stream:
        passed = gate.entries(events, gate.secrets(len(events), bits), bits)
        total[keys[passed.places]] += passed.values
        seen[keys[passed.places]] = True
    return Published(total, seen)


@dataclass(frozen=True)
class Toeplitz:
    """Running totals with the noise of the square root of the matrix of sums, and a threshold.

    Half of delta is for the Gaussian mechanism, half for keys of one event on any of the days.
    """

    sigma: float
    deviations: npt.NDArray[np.float64]
    tau: float

    @classmethod
    def of(cls, budget: Budget, days: int) -> Toeplitz:
        """Return noise and threshold for so many days."""
        k = np.arange(1, days)
        root = np.concatenate(([1.0], np.cumprod((2 * k - 1) / (2 * k))))
        norms = np.sqrt(np.cumsum(root**2))
        sigma = gaussian(budget.epsilon, budget.delta / 2) * norms[-1]
        spread = sigma * norms
        low, high = 1.0, 1e6
        for _ in range(200):
            middle = (low + high) / 2
            fails = float(np.sum(norm.sf((middle - 1) / spread)))
            low, high = (middle, high) if fails > budget.delta / 2 else (low, middle)
        return cls(sigma, spread, high)

    def publish(self, totals: Counts, rng: np.random.Generator) -> Published:
        """Test all keys at the end."""
        noisy = totals + rng.normal(0, self.deviations[-1], len(totals))
        keys = (noisy >= self.tau) & (totals > 0)
        return Published(np.where(keys, np.rint(noisy), 0).astype(np.int64), keys)


def gaussian(epsilon: float, delta: float) -> float:
    """Return the deviation of Gaussian noise of sensitivity 1, by its exact privacy profile."""
    low, high = 1e-3, 1e4
    for _ in range(200):
        middle = math.sqrt(low * high)
        spent = norm.cdf(0.5 / middle - epsilon * middle)
        spent -= math.exp(epsilon + norm.logcdf(-0.5 / middle - epsilon * middle))
        low, high = (middle, high) if spent > delta else (low, middle)
    return high


def measured(published: Published, totals: Counts) -> dict[str, float]:
    """Return how many keys are published, which of those with 50 events or more, and the error of the top."""
    frequent = totals >= 50
    top = np.argsort(-totals, kind="stable")[:1000]
    return {
        "published": int(published.keys.sum()),
        "recall": float(published.keys[frequent].mean()),
        "error": float(np.abs(published.estimates - totals)[top].mean()),
    }


def covered(summed: Summed, totals: Counts, budget: Budget, days: int) -> float:
    """Return the share of published keys whose interval of 95% holds their count."""
    bounds = FeedBounds(Watching(budget, days, (1, 28)), 0.025, 0)
    there = summed.whole > 0
    low, high = bounds.lower(summed), bounds.upper(summed)
    return float(((low <= totals) & (totals <= high))[there].mean())
