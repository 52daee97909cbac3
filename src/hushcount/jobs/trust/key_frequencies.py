"""How often keys are expected to occur: from Zipf's law, a public sample or an earlier release."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.privacy import LARGEST_COUNT, check_count
from hushcount.releases.release import Release

KeyFrequencies: TypeAlias = str | os.PathLike[str] | Release | Sequence[int]

SINGLE = 10_000  # ranks of Zipf's law that are looked at one by one; the others stand in blocks
BLOCKS_A_DOUBLING = 64
LARGEST_EXPONENT = 20.0
MANY, MOST = 60, 160  # means from which counts vary normally, and the counts that smaller means can reach
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
FORM = "keys must be zipf:EXPONENT:KEYS such as zipf:1.1:1000000, or the JSON of an earlier release"


@dataclass(frozen=True, slots=True)
class Spectrum:
    """How many keys have each expected count, the most frequent first.

    Parameters
    ----------
    counts : array
        Expected counts, descending.
    keys : array
        How many keys have each; a whole number, or a block of ranks with their mean.
    """

    counts: Floats
    keys: Floats

    def scaled(self, share: float) -> Spectrum:
        """Return the spectrum of a share of the rows."""
        return Spectrum(self.counts * share, self.keys)

    def floor(self, counters: int) -> float:
        """Return the floor that a SpaceSaving sketch of so many counters reaches on rows in random order.

        The counters add up to the number of rows. Keys above the floor f have their own counts, all other
        counters stand at f or one above it: f is where both add up, rounded down.
        """
        if float(self.keys.sum()) <= counters:
            return 0.0
        mass = self.counts * self.keys
        before = np.concatenate(([0.0], np.cumsum(self.keys)[:-1]))
        left = mass.sum() - np.concatenate(([0.0], np.cumsum(mass)[:-1]))
        floors = left / np.maximum(counters - before, 1.0)
        reached = np.flatnonzero((self.counts <= floors) | (before + self.keys >= counters))
        return float(math.floor(floors[reached[0]]))

    def published(self, forecast: KeyForecast, floor: float) -> float:
        """Return how many keys are published on average, if counts are Poisson distributed.

        Parameters
        ----------
        forecast : KeyForecast
            How likely each count is to be published.
        floor : float
            The floor that the sketch is expected to reach.
        """
        rare = self.counts < MANY
        each = np.empty_like(self.counts)
        each[rare] = _averaged(forecast, self.counts[rare], floor)
        each[~rare] = _averaged_over_normal(forecast, self.counts[~rare], floor)
        never = max(forecast.domain_size - float(self.keys.sum()), 0.0)
        noise = never * float(forecast.published(np.zeros(1), floor)[0]) if never else 0.0
        found = float(np.sum(each * self.keys)) + noise
        return found if forecast.most is None else min(found, float(forecast.most))


def spectrum_of(expected: KeyFrequencies, rows: int) -> Spectrum:
    """Return the expected counts of the keys of so many rows.

    Parameters
    ----------
    expected : str, path, Release or sequence of int
        "zipf:EXPONENT:KEYS", the counts of a public sample, an earlier release or the file of one.
    rows : int
        The number of rows that are expected.
    """
    if isinstance(expected, str) and expected.startswith("zipf:"):
        return _zipf(expected, rows)
    counts = np.sort(_counts(expected))[::-1]
    if not len(counts) or not np.isfinite(counts).all() or counts[-1] < 0 or counts[0] == 0:
        raise ParameterError("keys must hold counts of at least 0, and one above it.")
    return Spectrum(counts * (rows / counts.sum()), np.ones(len(counts)))


def _counts(expected: KeyFrequencies) -> Floats:
    """Return the counts of a sample or of an earlier release."""
    from hushcount.releases.stored.reading import read_release

    if isinstance(expected, str) and not expected.endswith(".json"):
        raise ParameterError(f"{FORM}, got {expected}.")
    table = read_release(expected) if isinstance(expected, str | os.PathLike) else expected
    if isinstance(table, Release):
        return np.asarray(table.counts, dtype=np.float64)
    if not isinstance(table, Sequence | np.ndarray):
        raise ParameterError("keys must be a table of keys and counts, not a tree or an oracle.")
    return np.asarray(table, dtype=np.float64)


def _zipf(expected: str, rows: int) -> Spectrum:
    """Return the spectrum in which the key of rank r has a share proportional to r to the minus exponent."""
    try:
        _, power, size = expected.split(":")
        exponent, keys = float(power), int(float(size))
    except ValueError:
        raise ParameterError(f"{FORM}, got {expected}.") from None
    if not 0 <= exponent <= LARGEST_EXPONENT:
        raise ParameterError(f"the exponent of Zipf's law must lie between 0 and 20, got {power}.")
    check_count("the number of keys of Zipf's law", keys, most=LARGEST_COUNT)
    single = np.arange(1, min(keys, SINGLE) + 1, dtype=np.float64)
    blocks = max(math.ceil(math.log2(keys / SINGLE) * BLOCKS_A_DOUBLING), 1) if keys > SINGLE else 0
    edges = np.unique(np.rint(np.geomspace(SINGLE, keys, blocks + 1))) if blocks else np.array([SINGLE])
    first, last = edges[:-1] + 1, edges[1:]
    ranks = np.concatenate((single, np.sqrt((first - 0.5) * (last + 0.5))))
    many = np.concatenate((np.ones(len(single)), last - first + 1))
    shares = ranks**-exponent
    return Spectrum(shares * (rows / float(np.sum(shares * many))), many)


def _averaged(forecast: KeyForecast, means: Floats, floor: float) -> Floats:
    """Return how likely keys of these mean counts are to be published, by Poisson's distribution."""
    published = forecast.published(np.arange(MOST, dtype=np.float64), floor)
    chance, total = np.exp(-means), np.zeros_like(means)
    for count, reported in enumerate(published.tolist()):
        total += chance * reported
        chance = chance * means / (count + 1)
    return total


def _averaged_over_normal(forecast: KeyForecast, means: Floats, floor: float) -> Floats:
    """Return the same for larger means, by the normal distribution of the same mean and variance."""
    total: Floats = np.zeros_like(means)
    for node, weight in zip(NODES, WEIGHTS / WEIGHTS.sum(), strict=True):
        total += weight * forecast.published(means + np.sqrt(means) * node, floor)
    return total
