"""Output laws of linear releases, enumerated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from tests import reference

from hushcount.audit.laws import LawPair, hockey_stick, merged, together
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace

Event = tuple[int, int]  # key, weight
Stream = tuple[Event, ...]
Partition = tuple[frozenset[int], ...]


def shifted(law: DiscreteLaplace | DiscreteGaussian, move: int, span: int) -> LawPair:
    """The laws of a noisy cell and of the same cell moved."""
    values = np.arange(-span, span + move + 1)
    return np.asarray(law.pmf(values)), np.asarray(law.pmf(values - move))


def cells_divergence(law: DiscreteLaplace, moves: Sequence[int], epsilon: float, span: int) -> float:
    """HS of independent noisy cells that move; what lies beyond the span is left out of both."""
    return hockey_stick(together(merged(shifted(law, move, span)) for move in moves), epsilon)


def sum_law(law: DiscreteGaussian, draws: int, span: int) -> Any:
    """The law of the sum of draws, by convolution."""
    one = np.asarray(law.pmf(np.arange(-span, span + 1)))
    total = np.ones(1)
    for _ in range(draws):
        total = np.convolve(total, one)
    return total


def gaussian_by_convolution(depth: int, sigma: float, epsilon: float, weight: int) -> float:
    """HS of `depth` cells that move by `weight`: the loss is a function of the sum of the noises."""
    span = math.ceil(12 * sigma) + 12
    law = sum_law(DiscreteGaussian(sigma), depth, span)
    total = np.arange(-depth * span, depth * span + 1)
    loss = (depth * weight**2 - 2 * weight * total) / (2 * sigma**2)
    return float(np.sum(law * np.maximum(0.0, -np.expm1(epsilon - loss))))


@dataclass(frozen=True)
class OneRow:
    """An error-envelope release with one row; with signs it is a CountSketch."""

    law: DiscreteLaplace | DiscreteGaussian
    threshold: int
    counters: int
    width: int
    epsilon: float
    signed: bool = False


def envelope_divergence(release: OneRow, stream: Stream, other: Stream) -> float:
    """HS(stream || other), averaged over the hash, as if the hash were published too."""
    keys = tuple(sorted({key for key, _ in stream + other}))
    sides = [(tracked(one, release.counters), counts(one)) for one in (stream, other)]
    total = []
    for signs in product((1, -1), repeat=len(keys)) if release.signed else [(1,) * len(keys)]:
        sign = dict(zip(keys, signs, strict=True))
        for blocks in partitions(keys):
            pairs = [_cell_pair(release, block, sign, sides) for block in blocks]
            chance = math.perm(release.width, len(blocks)) / release.width ** len(keys)
            if release.signed:
                chance /= 2 ** len(keys)
            total.append(chance * hockey_stick(together(pairs), release.epsilon))
    return math.fsum(total)


def tracked(stream: Stream, counters: int) -> frozenset[int]:
    """The keys that a SpaceSaving sketch of the additions tracks; an event of weight v is added v times."""
    added = [key for key, weight in stream for _ in range(weight)]
    return frozenset(reference.space_saving(added, counters)[0])


def counts(stream: Stream) -> Mapping[int, int]:
    found: dict[int, int] = {}
    for key, sign in stream:
        found[key] = found.get(key, 0) + sign
    return found


def _cell_pair(release: OneRow, block: frozenset[int], sign: Mapping[int, int], sides: Any) -> LawPair:
    names = tuple((sign[key], key in sides[0][0], key in sides[1][0]) for key in sorted(block))
    sums = tuple(sum(sign[key] * found.get(key, 0) for key in block) for _, found in sides)
    return _cell_laws(release, names, (sums[0], sums[1]))


@cache
def _cell_laws(release: OneRow, names: tuple[tuple[int, bool, bool], ...], sums: tuple[int, int]) -> LawPair:
    """The laws of what one cell publishes: the keys whose signed value is above the threshold, and the value.

    Its keys are given by (sign, tracked on one side, tracked on the other).
    """
    span = release.law.two_sided(1e-13) + max(map(abs, sums))
    laws: tuple[dict[Any, float], dict[Any, float]] = ({}, {})
    for value in range(-span, span + 1):
        for side, law in enumerate(laws):
            above = [name[0] * value > release.threshold and name[1 + side] for name in names]
            output = (value, tuple(above)) if any(above) else None
            law[output] = law.get(output, 0.0) + _pmf(release.law, value - sums[side])
    outputs = list(laws[0] | laws[1])
    left, right = (np.array([law.get(output, 0.0) for output in outputs]) for law in laws)
    return merged((left, right))


@cache
def _pmf(law: DiscreteLaplace | DiscreteGaussian, value: int) -> float:
    return float(law.pmf(value))


@cache
def partitions(keys: tuple[int, ...]) -> tuple[Partition, ...]:
    """All ways to put keys into cells."""
    if not keys:
        return ((),)
    found = []
    for rest in partitions(keys[1:]):
        found.append((frozenset(keys[:1]), *rest))
        found += [(*rest[:index], rest[index] | {keys[0]}, *rest[index + 1 :]) for index in range(len(rest))]
    return tuple(found)


def streams(length: int, keys: int) -> Iterator[tuple[int, ...]]:
    """Streams up to the names of the keys: a new key is the least one not seen."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(length):
        found = [(*one, key) for one in found for key in range(min(max(one, default=-1) + 2, keys))]
    yield from found
