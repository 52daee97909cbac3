"""The outputs of rounds of key selection, enumerated for a user of one key that others hold too."""

from __future__ import annotations

import math

import numpy as np

from hushcount.compiled.arrays import Floats
from hushcount.mechanisms.keys.calibration import KeyRound
from hushcount.noise.gaussian import DiscreteGaussian

SPAN = 12  # standard deviations of noise that are enumerated


def moved(law: DiscreteGaussian, step: int, epsilon: Floats) -> Floats:
    """Return the divergence of one value with this noise that changes by `step`, at many losses."""
    sigma = float(law.sigma)
    start = np.clip(np.ceil(sigma**2 * epsilon / step - step / 2), -1e9, 1e9).astype(np.int64)
    found = np.asarray(law.tail(start)) - np.exp(epsilon) * np.asarray(law.tail(start + step))
    return np.asarray(np.clip(found, 0.0, 1.0))


def common_key(rounds: tuple[KeyRound, ...], unit: int, epsilon: float, base: int) -> float:
    """Return the larger divergence of a user of one key, whose noisy weights are the output.

    `base` is the weight that others give the key. The second round is there only if the key stays.
    """
    first = rounds[0]
    reach = math.ceil(SPAN * first.sigma)
    y = np.arange(base - reach, base + unit + reach + 1)
    sides = [np.asarray(first.noise.pmf(y - base - more)) for more in (unit, 0)]
    stays = (y < first.threshold) & (y >= (first.cut if first.cut is not None else y.min()))
    found = []
    for p, q in (sides, sides[::-1]):
        seen = (p > 0) & (q > 0)
        loss = epsilon + np.log(q[seen] / p[seen])
        each = np.maximum(-np.expm1(loss), 0.0)
        if len(rounds) > 1:
            each = np.where(stays[seen], moved(rounds[1].noise, unit, loss), each)
        found.append(math.fsum(p[seen] * each))
    return max(found)
