"""What attacks find on the printed algorithms and on ours: exact divergences over the height of the tree."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from experiments.common.study import Row, short
from scipy import stats
from tests.privacy.twins.papers import SharedNoise, on_integers

from hushcount.audit.moved import gaussian_divergence
from hushcount.mechanisms.hierarchy.levels import calibrated_levels
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Public

EPSILON, DELTA, NODES, COUNTERS = 1.0, 1e-6, 1000, 1000
HEIGHTS = (2, 4, 8, 16, 32)
PRINTED, OURS = "Algorithm 1 as printed", "offline (ours)"
STREAM, OUR_STREAM = "Algorithm 3 as printed, one level", "streaming (ours), all levels"


def rows(quick: bool) -> Iterator[Row]:
    """Yield the divergence that an attack reaches, by height; what is private stays below delta."""
    for height in HEIGHTS[:2] if quick else HEIGHTS:
        yield _row(height, PRINTED, shared_noise(height))
        yield _row(height, OURS, independent_noise(height))
        yield _row(height, STREAM, fresh_noise(height))
        yield _row(height, OUR_STREAM, noisy_floors(height))


def _row(height: int, method: str, divergence: float) -> Row:
    return {"sweep": "privacy", "value": height, "method": method, "divergence": short(divergence)}


def shared_noise(height: int) -> float:
    """Return the worst divergence of Algorithm 1, of a path of this many nodes and unrelated leaves."""
    printed = on_integers(DiscreteLaplace(EPSILON / 2), DiscreteLaplace(EPSILON / 4))
    return _worst(printed, height)


def independent_noise(height: int) -> float:
    """Return the same for the offline release, which tests the root too."""
    noise = HierarchyRelease(Budget(EPSILON, DELTA), Public(height=height - 1)).noise
    ours = SharedNoise(
        np.zeros(1), np.ones(1), lambda t: np.asarray(noise.tail(1 - np.asarray(t).astype(np.int64)))
    )
    return _worst(ours, height)


def fresh_noise(height: int) -> float:
    """Return a lower bound for Algorithm 3: how many of the counters of a level are above the middle."""
    up = float(DiscreteLaplace(EPSILON / (4 * height)).tail(0))
    seen = np.arange(COUNTERS + 1)
    more, less = (stats.binom.pmf(seen, COUNTERS, chance) for chance in (up, 1 - up))
    return math.fsum(np.maximum(more - math.exp(EPSILON) * less, 0))


def noisy_floors(height: int) -> float:
    """Return the divergence of ours where all counters move: only the noisy floors and the root do."""
    noise = calibrated_levels(EPSILON, DELTA, height).noise.distribution
    if isinstance(noise, DiscreteLaplace):  # every value has its share of epsilon, which they spend together
        return 0.0
    return gaussian_divergence(noise, height + 1, EPSILON)


def _worst(release: SharedNoise, path: int) -> float:
    return max(release.attack(residual, NODES, path, EPSILON) for residual in range(-60, 61, 3))
