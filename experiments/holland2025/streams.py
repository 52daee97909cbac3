"""The streams of Holland 2025: Zipf keys, and a stream in the form of a network trace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.int64]
DOMAIN = 100_001
SPREAD = 0x9E3779B1  # odd, so that keys times this are distinct words of 32 bits
TRAIN = 8  # packets that a source sends in a row, on average
TAIL = 1.1


@dataclass(frozen=True)
class Stream:
    """Keys in their order, and how often each occurs."""

    keys: Keys

    @cached_property
    def truth(self) -> dict[int, int]:
        """The exact counts."""
        values, counts = np.unique(self.keys, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.keys)


def zipf(events: int, skew: float, seed: int) -> Stream:
    """Independent keys of 100,001, the i-th with a probability proportional to i^-skew."""
    weights = np.arange(1, DOMAIN + 1, dtype=float) ** -skew
    return Stream(spread(_drawn(weights, events, np.random.default_rng(seed))))


def trace(packets: int, sources: int, seed: int) -> Stream:
    """Packets in trains from one source; the i-th source sends a share like i^-1.1, each at least one.

    The trace of the paper (CAIDA 2019) may not be passed on. This has its number of packets and sources, a
    heavy tail, and bursts, which independent keys lack.
    """
    random = np.random.default_rng(seed)
    weights = np.arange(1, sources + 1, dtype=float) ** -TAIL
    more = _drawn(weights, max(packets // TRAIN - sources, 0), random)
    trains = random.permutation(np.concatenate([np.arange(sources), more]))
    lengths = random.geometric(min(1.0, len(trains) / packets), len(trains))
    return Stream(spread(np.repeat(trains, lengths)[:packets]))


def spread(ranks: npt.NDArray[np.int64]) -> Keys:
    """Return keys that do not show their rank."""
    return ((ranks + 1) * SPREAD & 0xFFFFFFFF).astype(np.int64)


def _drawn(weights: npt.NDArray[np.float64], count: int, random: np.random.Generator) -> Keys:
    sums = np.cumsum(weights)
    return np.searchsorted(sums / sums[-1], random.random(count)).astype(np.int64)
