"""How good the published tables are: one million Zipf(1.2) keys over 2^20, a hundred releases.

Precision: the share of the first 100 published keys whose true count is at least that of the true
number 100. Relative error: |published - true| / true, mean over those 100 keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.data import scrambled, zipf
from hushcount.jobs.release import release
from hushcount.noise.bits import Bits
from hushcount.releases.release import Release
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.exact import Exact

EVENTS = 1_000_000
EXPONENT = 1.2
DOMAIN = 1 << 20
DELTA = 1e-6
RELEASES = 100
TOP = 100


@dataclass(frozen=True, slots=True)
class Setting:
    """A sketch and a budget."""

    name: str
    sketch: Callable[[], Any]
    epsilon: float


FEW = Setting("1024 counters, epsilon 1", lambda: SpaceSaving(1024), 1.0)
MANY = Setting("131072 counters, epsilon 1", lambda: SpaceSaving(131072), 1.0)
ALL = Setting("Exact, epsilon 1", Exact, 1.0)
NOISY = Setting("2048 counters, epsilon 0.1", lambda: SpaceSaving(2048), 0.1)
SETTINGS = (FEW, MANY, ALL, NOISY)


def stream(seed: int = 1) -> npt.NDArray[np.int64]:
    """The keys, by seed: noise is never seeded."""
    return scrambled(zipf(np.random.default_rng(seed), EVENTS, EXPONENT, DOMAIN))


def measure(releases: int = RELEASES, bits: Bits | None = None) -> dict[str, dict[str, float]]:
    """For every setting mean precision, mean relative error and mean number of published keys."""
    keys = stream()
    values, counts = np.unique(keys, return_counts=True)
    truth = dict(zip(values.tolist(), counts.tolist(), strict=True))
    figures = {}
    for setting in SETTINGS:
        sketch = setting.sketch()
        sketch.update(keys)
        drawn = [release(sketch, epsilon=setting.epsilon, delta=DELTA, bits=bits) for _ in range(releases)]
        figures[setting.name] = _means([_score(each, truth) for each in drawn])
    return figures


def _means(scores: list[tuple[float, float, int]]) -> dict[str, float]:
    names = ("precision", "relative_error", "published")
    return dict(zip(names, (float(mean) for mean in np.mean(scores, axis=0)), strict=True))


def _score(drawn: Release, truth: dict[int, int]) -> tuple[float, float, int]:
    """Precision and mean relative error of the first rows (a missing one is wrong), number of rows."""
    last = sorted(truth.values())[-TOP]
    first = drawn.limit(TOP)
    rows = zip(first.keys["key"].to_pylist(), first.counts.to_pylist(), strict=True)
    pairs = [(truth.get(key, 0), count) for key, count in rows]
    right = sum(true >= last for true, _ in pairs)
    errors = [abs(count - true) / max(true, 1) for true, count in pairs] + [1.0] * (TOP - len(pairs))
    return right / TOP, float(np.mean(errors)), len(drawn)
