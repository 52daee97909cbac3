"""The hockey-stick divergence HS(P || Q) = sum max(P - exp(epsilon) Q, 0) of two release laws, enumerated.

A law pair is two arrays over one alphabet. Noise is enumerated on |z| <= span; what lies beyond has a known
mass under P, and HS can be larger by at most that: every result is a (low, high) bracket around the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from hushcount.noise.laplace import DiscreteLaplace

Floats = npt.NDArray[np.float64]
LawPair = tuple[Floats, Floats]
Bracket = tuple[float, float]
Sides = tuple[Mapping[str, int], Mapping[str, int]]


@dataclass(frozen=True)
class Summary:
    """What a mechanism sees: the floor and the absolute counts of the candidates."""

    floor: int
    counts: Mapping[str, int]

    def heights(self, least: int = 0) -> dict[str, int]:
        heights = {key: count - self.floor for key, count in self.counts.items()}
        return {key: height for key, height in heights.items() if height >= least}


@dataclass(frozen=True)
class Thresholded:
    """Integer noise, and the value from which on a noisy count is published; checked at (epsilon, delta)."""

    law: DiscreteLaplace
    threshold: int
    epsilon: float
    delta: float

    @property
    def beyond(self) -> float:
        """The mass of each noise that is not enumerated."""
        return 1e-12 * self.delta

    @property
    def span(self) -> int:
        return self.law.two_sided(self.beyond)


def hockey_stick(pair: LawPair, epsilon: float) -> float:
    return math.fsum(np.maximum(pair[0] - math.exp(epsilon) * pair[1], 0.0))


def merged(pair: LawPair) -> LawPair:
    """Join the atoms whose ratio P / Q agrees to 1e-12 relatively: HS does not change (beyond 1e-12)."""
    p, q = (side[(pair[0] > 0) | (pair[1] > 0)] for side in pair)
    with np.errstate(divide="ignore"):
        ratio = np.round((np.log(p) - np.log(q)) * 1e12)
    _, group = np.unique(ratio, return_inverse=True)
    return np.bincount(group, p), np.bincount(group, q)


def together(pairs: Iterable[LawPair]) -> LawPair:
    """The joint law pair of independent outputs."""
    p, q = np.ones(1), np.ones(1)
    for one in pairs:
        p, q = np.outer(p, one[0]).ravel(), np.outer(q, one[1]).ravel()
        if len(p) > 100:
            p, q = merged((p, q))
    return p, q


@cache
def key_pair(law: DiscreteLaplace, span: int, margins: tuple[int | None, int | None]) -> LawPair:
    """One key's output under both laws; its margin is threshold - count, None if it is not there."""
    last = max(span - margin for margin in margins if margin is not None)
    p, q = (output_law(law, margin, last) for margin in margins)
    return merged((p, q))


def output_law(law: DiscreteLaplace, margin: int | None, last: int) -> Floats:
    """P[suppressed], then P[noisy count = threshold + i], i = 0 .. last; an absent key is suppressed."""
    values = np.arange(max(last + 1, 1))
    if margin is None:
        return np.concatenate(([1.0], np.zeros(len(values))))
    return np.concatenate(([float(law.tail(1 - margin))], np.atleast_1d(law.pmf(values + margin))))


def key_pairs(release: Thresholded, threshold: int, counts: Sides) -> list[LawPair]:
    keys = counts[0].keys() | counts[1].keys()
    margins = ([None if key not in side else threshold - side[key] for side in counts] for key in keys)
    return [key_pair(release.law, release.span, (one, other)) for one, other in margins]


def independent(release: Thresholded, counts: Sides) -> Bracket:
    """Independent noise on each count, published at >= threshold."""
    low = hockey_stick(together(key_pairs(release, release.threshold, counts)), release.epsilon)
    return low, low + len(counts[0]) * release.beyond


def floor_release(release: Thresholded, more: Summary, less: Summary) -> Bracket:
    """The floor is published with noise, and each count that is `threshold` above the noisy floor."""
    span = release.span
    floors = np.arange(min(more.floor, less.floor) - span, max(more.floor, less.floor) + span + 1)
    weights = zip(*(np.asarray(release.law.pmf(floors - side.floor)) for side in (more, less)), strict=True)
    total = []
    for noisy_floor, (more_weight, less_weight) in zip(floors.tolist(), weights, strict=True):
        p, q = together(key_pairs(release, noisy_floor + release.threshold, (more.counts, less.counts)))
        total.append(hockey_stick((p * more_weight, q * less_weight), release.epsilon))
    low = math.fsum(total)
    return low, low + (1 + len(more.counts)) * release.beyond


def shared_noise(release: Thresholded, heights: Sides) -> Bracket:
    """height + z0 + zj is published at >= threshold, z0 shared and secret; at most two common keys."""
    shared = np.arange(-release.span, release.span + 1)
    joint = [joint_law(release, shared, heights, side) for side in (0, 1)]
    suppressed = log_suppressed(release, shared, heights, 0)
    betrayed = np.asarray(release.law.pmf(shared)) * -np.expm1(suppressed)
    low = math.fsum(betrayed) + hockey_stick((joint[0], joint[1]), release.epsilon)
    return low, low + (1 + len(heights[0])) * release.beyond


def log_suppressed(release: Thresholded, shared: npt.NDArray[np.int64], heights: Sides, side: int) -> Floats:
    """log P[no key isolated on this side is published | shared noise]."""
    total = np.zeros(len(shared))
    for key in heights[side].keys() - heights[1 - side].keys():
        total += np.asarray(release.law.log_tail(heights[side][key] + shared - release.threshold + 1))
    return total


def joint_law(release: Thresholded, shared: npt.NDArray[np.int64], heights: Sides, side: int) -> Floats:
    """P[output of the common keys, no isolated key published], summed over the shared noise."""
    weights = np.asarray(release.law.pmf(shared)) * np.exp(log_suppressed(release, shared, heights, side))
    common = sorted(heights[0].keys() & heights[1].keys())
    highest = max([release.threshold, *(each[key] for each in heights for key in common)])
    last = highest - release.threshold + 2 * release.span
    tables = [np.ones((len(shared), 1))] * (2 - len(common))
    for key in common:
        margins = (release.threshold - heights[side][key] - shared).tolist()
        tables.append(np.stack([output_law(release.law, margin, last) for margin in margins]))
    return np.einsum("z,zi,zj->ij", weights, *tables, optimize=True).ravel()
