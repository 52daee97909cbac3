"""Privacy losses of independent outputs, composed on a grid: bounds of their joint divergence, both ways.

A loss log(P / Q) is rounded to a multiple of a step, up for an upper bound of HS and down for a lower one.
The step divides the losses of a noise that moves by one, so these are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.signal import fftconvolve
from tests.privacy.hockey_stick import Floats, LawPair

from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace

FINENESS = 5e-4
ROUNDING = 1e-9  # of a step: what floating point may add to a loss


@dataclass(frozen=True)
class Losses:
    """P[loss = (first + i) step], and the mass of P where Q has none."""

    step: float
    first: int
    masses: Floats
    infinite: float

    def divergence(self, epsilon: float) -> float:
        loss = (self.first + np.arange(len(self.masses))) * self.step
        excess = self.masses * -np.expm1(np.minimum(epsilon - loss, 0.0))
        return float(excess.sum()) + self.infinite

    def __matmul__(self, other: Losses) -> Losses:
        """Both outputs together."""
        masses = np.maximum(fftconvolve(self.masses, other.masses), 0.0)  # within 1e-15
        either = self.infinite + other.infinite - self.infinite * other.infinite
        return Losses(self.step, self.first + other.first, masses, either)


def up(steps: Floats) -> Floats:
    return np.ceil(steps - ROUNDING)


def down(steps: Floats) -> Floats:
    return np.floor(steps + ROUNDING)


def step_of(law: DiscreteLaplace | DiscreteGaussian) -> float:
    """A small part of the loss of one noise, of which all its losses are multiples."""
    unit = float(law.epsilon) if isinstance(law, DiscreteLaplace) else 1 / (2 * float(law.sigma) ** 2)
    return unit / math.ceil(unit / FINENESS)


def losses(pair: LawPair, step: float, rounded: Callable[[Floats], Floats]) -> Losses:
    p, q = pair
    common = (p > 0) & (q > 0)
    steps = rounded(np.log(p[common] / q[common]) / step).astype(np.int64)
    first = int(steps.min(initial=0))
    return Losses(step, first, np.bincount(steps - first, p[common]), float(p[(p > 0) & (q <= 0)].sum()))


def composed(parts: Iterable[Losses]) -> Losses:
    return reduce(Losses.__matmul__, parts)
