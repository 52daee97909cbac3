"""Composition of discrete Laplace noise, exact: the privacy loss of one step has only two values.

Let Z be DLap(rate) on the integers, a = exp(-rate). The loss log P[Z = z] - log P[Z = z + 1] is +rate for
z >= 0, with probability 1 / (1 + a), and -rate for z < 0. So the privacy loss distribution of `steps` counts
that each change by 1, with independent noise, is binomial. Proof: docs/proofs/hierarchy/streaming.md.
"""

from __future__ import annotations

import math

import numpy as np

from hushcount.compiled.arrays import Floats


def laplace_divergences(most: int, rate: float, epsilon: float) -> Floats:
    """Return HS at epsilon of 0, 1, ..., `most` counts that each change by 1 under independent DLap(rate).

    >>> laplace_divergences(2, 0.5, 1.0).tolist()
    [0.0, 0.0, 0.0]
    """
    steps = np.arange(most + 1)[:, None]
    ups = np.arange(most + 1)[None, :]
    loss = (2 * ups - steps) * rate
    excess = np.where(ups <= steps, -np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)
    return np.asarray((np.exp(_log_binomial(most, rate)) * excess).sum(axis=1))


def largest_rate(steps: int, epsilon: float, delta: float) -> float:
    """Return the largest rate up to epsilon (of 40 bits) at which `steps` counts may change by 1.

    >>> largest_rate(4, 1.0, 0.0)
    0.25
    """
    low, high = rounded_down(epsilon / steps), epsilon
    while high - low > low * 2.0**-36:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if laplace_divergences(steps, middle, epsilon)[-1] > delta else (middle, high)
        )
    return rounded_down(low)


def rounded_down(rate: float) -> float:
    """Return a rate with 40 binary digits: a few of them add up without rounding."""
    mantissa, exponent = math.frexp(rate)
    return math.ldexp(math.floor(math.ldexp(mantissa, 40)), exponent - 40)


def _log_binomial(most: int, rate: float) -> Floats:
    """Return log P[ups of steps] in row `steps`, column `ups`; only columns up to `steps` mean anything."""
    factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, most + 1)))))
    steps, ups = np.arange(most + 1)[:, None], np.arange(most + 1)[None, :]
    downs = np.maximum(steps - ups, 0)
    ways = factorial[steps] - factorial[ups] - factorial[downs]
    return np.asarray(ways - steps * math.log1p(math.exp(-rate)) - downs * rate)
