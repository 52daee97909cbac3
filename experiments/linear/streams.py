"""Streams: Zipf additions, and a turnstile stream of which 30% are deletions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

EXPONENT = 1.1
DELETED = 0.3
KEYS = 1 << 31


@dataclass(frozen=True)
class Stream:
    """Keys with weights +1 and -1, and the true counts of the keys that are left."""

    keys: Any
    weights: Any
    truth: dict[int, int]


def additions(events: int) -> Stream:
    """Independent Zipf keys."""
    keys = zipf(events, 1)
    return Stream(keys, np.ones(events, np.int64), _truth(keys, np.ones(events, np.int64)))


def turnstile(events: int) -> Stream:
    """Zipf additions, then deletions: each key, heaviest first, goes wholly with chance one half.

    It ends when 30% of the stream are deletions.
    """
    deletions = int(DELETED * events)
    added = zipf(events - deletions, 3)
    values, counts = np.unique(added, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    going = order[np.random.default_rng(2).random(len(order)) < 0.5]
    gone = np.repeat(values[going], counts[going])[:deletions]
    keys = np.concatenate([added, gone])
    weights = np.concatenate([np.ones(len(added), np.int64), -np.ones(len(gone), np.int64)])
    return Stream(keys, weights, _truth(keys, weights))


def zipf(events: int, seed: int) -> Any:
    """Keys with Zipf frequencies."""
    return (np.random.default_rng(seed).zipf(EXPONENT, events) % KEYS).astype(np.int64)


def _truth(keys: Any, weights: Any) -> dict[int, int]:
    values, where = np.unique(keys, return_inverse=True)
    counts = np.bincount(where, weights=weights).astype(np.int64)
    left = counts > 0
    return dict(zip(values[left].tolist(), counts[left].tolist(), strict=True))


STREAMS: dict[str, Callable[[int], Stream]] = {"additions": additions, "turnstile": turnstile}
