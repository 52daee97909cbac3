"""Privacy losses of independent outputs, composed on a grid: bounds of their joint divergence, both ways.

A loss log(P / Q) is rounded to a multiple of a step, up for an upper bound of the divergence and down for a
lower one. The step divides the losses of a noise that changes by 1, so these are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np

from hushcount.audit.laws import LawPair, NoisyThreshold, key_pairs, summed, together
from hushcount.audit.neighbours import Summary
from hushcount.compiled.arrays import Floats
from hushcount.noise.gaussian import Distribution
from hushcount.noise.laplace import DiscreteLaplace

FINENESS = 5e-4
ROUNDING = 1e-9  # of a step: what floating point may add to a loss

Rounded = Callable[[Floats], Floats]
Kind = tuple[tuple[int, int], tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class Losses:
    """P[loss = (first + i) step], and the mass of P where Q has none."""

    step: float
    first: int
    masses: Floats
    infinite: float

    def divergence(self, epsilon: float) -> float:
        """Return the hockey-stick divergence."""
        loss = (self.first + np.arange(len(self.masses))) * self.step
        excess = self.masses * -np.expm1(np.minimum(epsilon - loss, 0.0))
        return float(excess.sum()) + self.infinite

    def __matmul__(self, other: Losses) -> Losses:
        """Return the losses of both outputs together."""
        either = self.infinite + other.infinite - self.infinite * other.infinite
        return Losses(self.step, self.first + other.first, _convolved(self.masses, other.masses), either)


def _convolved(one: Floats, other: Floats) -> Floats:
    """Return the convolution, by Fourier transforms, within 1e-15."""
    size = len(one) + len(other) - 1
    product = np.fft.rfft(one, size) * np.fft.rfft(other, size)
    return np.asarray(np.maximum(np.fft.irfft(product, size), 0.0))


def up(steps: Floats) -> Floats:
    """Round losses up."""
    return np.ceil(steps - ROUNDING)


def down(steps: Floats) -> Floats:
    """Round losses down."""
    return np.floor(steps + ROUNDING)


def step_of(law: Distribution) -> float:
    """Return a small part of the loss of one noise, of which all its losses are multiples."""
    unit = float(law.epsilon) if isinstance(law, DiscreteLaplace) else 1 / (2 * float(law.sigma) ** 2)
    return unit / math.ceil(unit / FINENESS)


def losses(pair: LawPair, step: float, rounded: Rounded) -> Losses:
    """Return the losses of one output on the grid."""
    p, q = pair
    common = (p > 0) & (q > 0)
    steps = rounded(np.log(p[common] / q[common]) / step).astype(np.int64)
    first = int(steps.min(initial=0))
    return Losses(step, first, summed(steps - first, p[common]), float(p[(p > 0) & (q <= 0)].sum()))


def composed(parts: Iterable[Losses]) -> Losses:
    """Return the losses of all outputs together."""
    return reduce(Losses.__matmul__, parts)


@cache
def level(release: NoisyThreshold, kind: Kind, rounded: Rounded) -> Losses:
    """Return the losses of one level: its noisy floor, and each count that is `threshold` above it."""
    floors, counts = kind
    sides = [{f"n{i}": pair[side] for i, pair in enumerate(counts) if pair[side] >= 0} for side in (0, 1)]
    values = np.arange(min(floors) - release.span, max(floors) + release.span + 1)
    weights = [np.asarray(release.law.pmf(values - floor)) for floor in floors]
    parts = []
    for index, noisy in enumerate(values.tolist()):
        p, q = together(key_pairs(release, noisy + release.threshold, (sides[0], sides[1])))
        parts.append((p * weights[0][index], q * weights[1][index]))
    p, q = (np.concatenate(side) for side in zip(*parts, strict=True))
    return losses((p, q), step_of(release.law), rounded)


@cache
def root(release: NoisyThreshold, step: int, rounded: Rounded) -> Losses:
    """Return the losses of the noisy number of events; one stream has `step` more than the other."""
    values = np.arange(-release.span - 1, release.span + 2)
    p, q = (np.asarray(release.law.pmf(values + moved)) for moved in (0, step))
    return losses((p, q), step_of(release.law), rounded)


def kind_of(more: Summary, less: Summary) -> Kind:
    """Return two summaries up to the names of their nodes and a common shift; -1 is not there."""
    low = min(more.floor, less.floor)
    keys = more.counts.keys() | less.counts.keys()
    counts = [(more.counts.get(key, low - 1) - low, less.counts.get(key, low - 1) - low) for key in keys]
    return (more.floor - low, less.floor - low), tuple(sorted(counts))


def levels_divergence(
    release: NoisyThreshold, pairs: Sequence[tuple[Summary, Summary]], rounded: Rounded, step: int = 1
) -> float:
    """Bound the divergence of all that is published of the levels, root included, above or below."""
    parts = [root(release, step, rounded), *(level(release, kind_of(*pair), rounded) for pair in pairs)]
    noises = 1 + sum(1 + len(more.counts) for more, _ in pairs)
    found = composed(parts).divergence(release.epsilon)
    return found + noises * release.beyond if rounded is up else found
