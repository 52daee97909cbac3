"""The hockey-stick divergence HS(P || Q) = sum max(P - exp(epsilon) Q, 0) of two release laws, enumerated.

A law pair is two arrays over one alphabet. Noise is enumerated on |z| <= R; what lies beyond has a known
mass under P, and HS can be larger by at most that: every result is a (low, high) bracket around the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushcount.mechanisms.distributions import DiscreteLaplace

Floats = npt.NDArray[np.float64]
LawPair = tuple[Floats, Floats]
Bracket = tuple[float, float]


@dataclass(frozen=True)
class Summary:
    """What a mechanism sees: the floor and the absolute counts of the candidates."""

    floor: int
    counts: Mapping[str, int]

    def heights(self, least: int = 0) -> dict[str, int]:
        heights = {key: count - self.floor for key, count in self.counts.items()}
        return {key: height for key, height in heights.items() if height >= least}


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
        p, q = merged((np.outer(p, one[0]).ravel(), np.outer(q, one[1]).ravel()))
    return p, q


def reach(law: DiscreteLaplace, remainder: float) -> int:
    return law.two_sided(remainder)


def thresholded(law: DiscreteLaplace, count: int | None, threshold: int, last: int) -> Floats:
    """P[suppressed], P[noisy count = threshold .. last]; an absent key is always suppressed."""
    width = max(last - threshold + 1, 0)
    if count is None:
        return np.concatenate(([1.0], np.zeros(width)))
    values = np.arange(threshold, threshold + width)
    return np.concatenate(([float(law.tail(count - threshold + 1))], np.atleast_1d(law.pmf(values - count))))


def independent(
    law: DiscreteLaplace, threshold: int, laws: tuple[Mapping[str, int], Mapping[str, int]], epsilon: float
) -> Bracket:
    """Independent noise on each count, published at >= threshold."""
    pairs, remainder = count_pairs(law, threshold, laws)
    low = hockey_stick(together(pairs), epsilon)
    return low, low + remainder


def count_pairs(
    law: DiscreteLaplace, threshold: int, laws: tuple[Mapping[str, int], Mapping[str, int]]
) -> tuple[list[LawPair], float]:
    keys = sorted(laws[0].keys() | laws[1].keys())
    last = max([threshold, *laws[0].values(), *laws[1].values()]) + reach(law, 1e-25)
    pairs = []
    for key in keys:
        p, q = (thresholded(law, side.get(key), threshold, last) for side in laws)
        pairs.append(merged((p, q)))
    return pairs, len(keys) * 1e-25


def floor_release(
    law: DiscreteLaplace, threshold: int, more: Summary, less: Summary, epsilon: float
) -> Bracket:
    """The floor is published with noise, and each count that is `threshold` above the noisy floor."""
    span = reach(law, 1e-25)
    parts, remainder = [], 1e-25
    for noisy_floor in range(min(more.floor, less.floor) - span, max(more.floor, less.floor) + span + 1):
        pairs, beyond = count_pairs(law, noisy_floor + threshold, (more.counts, less.counts))
        p, q = together(pairs)
        weights = (float(law.pmf(noisy_floor - side.floor)) for side in (more, less))
        parts.append((p * next(weights), q * next(weights)))
        remainder = max(remainder, 1e-25 + beyond)
    low = math.fsum(hockey_stick(part, epsilon) for part in parts)
    return low, low + remainder


def shared_noise(
    law: DiscreteLaplace,
    threshold: int,
    heights: tuple[Mapping[str, int], Mapping[str, int]],
    epsilon: float,
) -> Bracket:
    """height + z0 + zj is published at >= threshold, z0 shared and secret; at most two common keys."""
    span = reach(law, 1e-25)
    common = sorted(heights[0].keys() & heights[1].keys())
    shared = np.arange(-span, span + 1)
    last = max([threshold, *heights[0].values(), *heights[1].values()]) + 2 * span
    joint = [joint_law(law, shared, side, common, (threshold, last)) for side in heights]
    betrayed = np.asarray(law.pmf(shared)) * -np.expm1(
        log_suppressed(law, shared, heights[0], common, threshold)
    )
    low = math.fsum(betrayed) + hockey_stick((joint[0], joint[1]), epsilon)
    return low, low + (1 + len(heights[0])) * 1e-25


def log_suppressed(
    law: DiscreteLaplace,
    shared: npt.NDArray[np.int64],
    heights: Mapping[str, int],
    common: list[str],
    threshold: int,
) -> Floats:
    """log P[no isolated key is published | shared noise]."""
    total = np.zeros(len(shared))
    for key in heights.keys() - set(common):
        total += np.log1p(-np.asarray(law.tail(threshold - heights[key] - shared)))
    return total


def joint_law(
    law: DiscreteLaplace,
    shared: npt.NDArray[np.int64],
    heights: Mapping[str, int],
    common: list[str],
    output: tuple[int, int],
) -> Floats:
    """P[output of the common keys, no isolated key published], summed over the shared noise."""
    weights = np.asarray(law.pmf(shared)) * np.exp(log_suppressed(law, shared, heights, common, output[0]))
    first, second = ([*common, None, None][index] for index in (0, 1))
    tables = [
        np.stack([thresholded(law, at(heights, key, int(z0)), *output) for z0 in shared])
        for key in (first, second)
    ]
    return np.einsum("z,zi,zj->ij", weights, *tables, optimize=True).ravel()


def at(heights: Mapping[str, int], key: str | None, shared: int) -> int | None:
    return None if key is None else heights[key] + shared
