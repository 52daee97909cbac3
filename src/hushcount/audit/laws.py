"""Output distributions of thresholded releases on two neighbouring summaries, enumerated.

A pair of distributions is two arrays over one alphabet. Noise is enumerated on |z| <= span; what lies beyond
has a known mass under P, and the divergence can be larger by at most that: every result is a bracket
(low, high) around the true hockey-stick divergence HS(P || Q) = sum max(P - exp(epsilon) Q, 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from weakref import WeakKeyDictionary

import numpy as np

from hushcount.audit.neighbours import Summary
from hushcount.compiled.arrays import Counts, Floats
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.mechanisms.histograms.geometric_noise import TruncatedGeometricNoise
from hushcount.noise.gaussian import Distribution

LawPair = tuple[Floats, Floats]
Bracket = tuple[float, float]
Sides = tuple[Mapping[str, int], Mapping[str, int]]
BEYOND = 1e-12  # of delta: the mass of each noise that is not enumerated
# What mechanisms publish of keys with given heights: the same again for most noisy floors.
_above: WeakKeyDictionary[ShardRelease, dict[tuple[tuple[int, int], ...], LawPair]] = WeakKeyDictionary()


@dataclass(frozen=True)
class NoisyThreshold:
    """Integer noise, and the smallest noisy count that is published; checked at (epsilon, delta)."""

    law: Distribution
    threshold: int
    epsilon: float
    delta: float

    @property
    def beyond(self) -> float:
        """The mass of each noise that is not enumerated."""
        return BEYOND * self.delta

    @cached_property
    def span(self) -> int:
        """The largest noise that is enumerated."""
        return self.law.two_sided(self.beyond)


def hockey_stick(pair: LawPair, epsilon: float) -> float:
    """Return the divergence of the first distribution from the second."""
    return math.fsum(np.maximum(pair[0] - math.exp(epsilon) * pair[1], 0.0))


def merged(pair: LawPair) -> LawPair:
    """Join the outputs whose ratio P / Q agrees to 1e-12 relatively: the divergence stays (within 1e-12)."""
    p, q = (side[(pair[0] > 0) | (pair[1] > 0)] for side in pair)
    with np.errstate(divide="ignore"):
        ratio = np.round((np.log(p) - np.log(q)) * 1e12)
    _, group = np.unique(ratio, return_inverse=True)
    return summed(group, p), summed(group, q)


def summed(group: Counts, masses: Floats) -> Floats:
    """Return the sum of the masses of each group 0, 1, ..."""
    return np.bincount(group, masses).astype(np.float64)


def together(pairs: Iterable[LawPair]) -> LawPair:
    """Return the joint distributions of independent outputs."""
    p, q = np.ones(1), np.ones(1)
    for one in pairs:
        p, q = np.outer(p, one[0]).ravel(), np.outer(q, one[1]).ravel()
        if len(p) > 100:
            p, q = merged((p, q))
    return p, q


@cache
def key_pair(law: Distribution, span: int, margins: tuple[int | None, int | None]) -> LawPair:
    """Return one key's output on both sides; its margin is threshold - count, None if it is not there."""
    last = max(span - margin for margin in margins if margin is not None)
    p, q = (output_law(law, margin, last) for margin in margins)
    return merged((p, q))


def output_law(law: Distribution, margin: int | None, last: int) -> Floats:
    """Return P[suppressed], then P[threshold + i], i = 0 .. last; an absent key is always suppressed."""
    values = np.arange(max(last + 1, 1))
    if margin is None:
        return np.concatenate(([1.0], np.zeros(len(values))))
    return np.concatenate(([float(law.tail(1 - margin))], np.atleast_1d(law.pmf(values + margin))))


def key_pairs(release: NoisyThreshold, threshold: int, counts: Sides) -> list[LawPair]:
    """Return the output of every key at this threshold."""
    keys = counts[0].keys() | counts[1].keys()
    margins = ([None if key not in side else threshold - side[key] for side in counts] for key in keys)
    return [key_pair(release.law, release.span, (one, other)) for one, other in margins]


def independent(release: NoisyThreshold, counts: Sides) -> Bracket:
    """Bound the divergence of independent noise on each count, published if it reaches the threshold."""
    low = hockey_stick(together(key_pairs(release, release.threshold, counts)), release.epsilon)
    return low, low + len(counts[0]) * release.beyond


def floor_release(release: NoisyThreshold, more: Summary, less: Summary) -> Bracket:
    """Bound it for a noisy floor that is published, and each count that is `threshold` above it."""
    span = release.span
    floors = np.arange(min(more.floor, less.floor) - span, max(more.floor, less.floor) + span + 1)
    weights = zip(*(np.asarray(release.law.pmf(floors - side.floor)) for side in (more, less)), strict=True)
    total = []
    for noisy_floor, (more_weight, less_weight) in zip(floors.tolist(), weights, strict=True):
        p, q = together(key_pairs(release, noisy_floor + release.threshold, (more.counts, less.counts)))
        total.append(hockey_stick((p * more_weight, q * less_weight), release.epsilon))
    low = math.fsum(total)
    return low, low + (1 + len(more.counts)) * release.beyond


def shared_noise(release: NoisyThreshold, heights: Sides) -> Bracket:
    """Bound it for height + z0 + zj, published from the threshold on, z0 shared and secret.

    There may be at most two common keys.
    """
    shared = np.arange(-release.span, release.span + 1)
    joint = [_joint_law(release, shared, heights, side) for side in (0, 1)]
    suppressed = _log_suppressed(release, shared, heights, 0)
    betrayed = np.asarray(release.law.pmf(shared)) * -np.expm1(suppressed)
    low = math.fsum(betrayed) + hockey_stick((joint[0], joint[1]), release.epsilon)
    return low, low + (1 + len(heights[0])) * release.beyond


def _log_suppressed(release: NoisyThreshold, shared: Counts, heights: Sides, side: int) -> Floats:
    """Return log P[no key isolated on this side is published | shared noise]."""
    total = np.zeros(len(shared))
    for key in heights[side].keys() - heights[1 - side].keys():
        total += np.asarray(release.law.log_tail(heights[side][key] + shared - release.threshold + 1))
    return total


def _joint_law(release: NoisyThreshold, shared: Counts, heights: Sides, side: int) -> Floats:
    """Return P[output of the common keys, no isolated key published], summed over the shared noise."""
    weights = np.asarray(release.law.pmf(shared)) * np.exp(_log_suppressed(release, shared, heights, side))
    common = sorted(heights[0].keys() & heights[1].keys())
    highest = max([release.threshold, *(each[key] for each in heights for key in common)])
    last = highest - release.threshold + 2 * release.span
    tables = [np.ones((len(shared), 1))] * (2 - len(common))
    for key in common:
        margins = (release.threshold - heights[side][key] - shared).tolist()
        tables.append(np.stack([output_law(release.law, margin, last) for margin in margins]))
    return np.asarray(np.einsum("z,zi,zj->ij", weights, *tables, optimize=True)).ravel()


def above_pairs(mechanism: ShardRelease, moved: tuple[tuple[int, int], ...]) -> LawPair:
    """Return what is published of keys with these heights above the floors on both sides."""
    known = _above.setdefault(mechanism, {})
    if moved not in known:
        pairs = []
        for heights in moved:
            p, q = (_left(mechanism.noise, height, max(*heights, 1)) for height in heights)
            pairs.append(merged((p, q)))
        known[moved] = together(pairs)
    return known[moved]


def _left(law: TruncatedGeometricNoise, height: int, last: int) -> Floats:
    """Return P[nothing], then P[1], .., P[last], of what the noise leaves of a height."""
    output = np.zeros(last + 1)
    for value, mass in enumerate(np.diff(law.cumulative()).tolist()):
        output[max(height - value, 0)] += mass
    return output


def shard_release(
    mechanism: ShardRelease, sides: tuple[Summary, Summary], elsewhere: Mapping[str, int]
) -> Bracket:
    """Bound it for the noisy floor of one shard and what lies above; another shard adds `elsewhere`."""
    law, epsilon = mechanism.floor_noise, mechanism.budget.epsilon
    beyond = BEYOND * mechanism.budget.delta
    span = law.two_sided(beyond)
    low, high = (edge(side.floor for side in sides) for edge in (min, max))
    keys = sorted(sides[0].counts.keys() | sides[1].counts.keys())
    total = []
    for z in range(low - span, high + span + 1):
        weights = [float(law.pmf(z - side.floor)) for side in sides]
        heights = _heights_above(z + mechanism.margin, sides, keys, elsewhere)
        p, q = above_pairs(mechanism, tuple(sorted(pair for pair in heights if pair[0] != pair[1])))
        total.append(hockey_stick((p * weights[0], q * weights[1]), epsilon))
    found = math.fsum(total)
    return found, found + beyond


def _heights_above(
    floor: int, sides: tuple[Summary, Summary], keys: Iterable[str], elsewhere: Mapping[str, int]
) -> list[tuple[int, int]]:
    """Return the heights of all keys above a noisy floor, on both sides, with what another shard adds."""
    return [
        (
            max(sides[0].counts.get(key, floor) - floor, 0) + elsewhere.get(key, 0),
            max(sides[1].counts.get(key, floor) - floor, 0) + elsewhere.get(key, 0),
        )
        for key in keys
    ]
