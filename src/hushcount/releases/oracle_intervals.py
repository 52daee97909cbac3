"""How far an oracle's answers may lie from the truth, read off its own published cells.

For a key chosen without knowledge of the hash key, the cell of the key in a row is uniform and independent of
what the other keys put there. So the error of the row is a random cell of the sketch of the other keys, and
that sketch differs from the published one in one cell. Noise and collisions are in it together.
Proof: docs/proofs/linear/cells.md, section 4. Checked by: tests/statistical/test_linear.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts, Floats
    from hushcount.keys.row_hash import RowHash
    from hushcount.privacy import Guarantee

Interval = tuple[int | None, int | None]


def oracle_interval(
    cells: Counts, hashing: RowHash, confidence: float, parts: Sequence[Guarantee] = ()
) -> Interval:
    """Return (below, above): the true count is in [count - below, count + above]; None if unbounded.

    `parts` are the promises of the oracles that were merged. Where each user counts once per cell, a user of
    the key who has another key in its cell is not counted twice, so other keys add less than a random cell
    holds: from above only the noise is certain (cells.md, section 6).
    """
    each = (1 - confidence) / 2
    if hashing.signed:
        sizes = np.sort(np.abs(cells), axis=1)
        error = _smallest(sizes, lambda bound: at_least_half_of(_beyond(sizes, bound) / 2), each)
        return error, error
    ordered, mirrored = np.sort(cells, axis=1), np.sort(-cells, axis=1)
    below = _smallest(ordered, lambda bound: float(np.prod(_beyond(ordered, bound))), each)
    if parts and "max_keys" in parts[0].parameters:
        far = math.log(hashing.depth * len(parts) / each)
        return below, sum(_largest_noise(promise, far) for promise in parts)
    above = _smallest(mirrored, lambda bound: float(np.sum(_beyond(mirrored, bound))), each)
    return below, above


def least_answer(hashing: RowHash, parts: Sequence[Guarantee], failure: float) -> int:
    """Return how far an answer of Count-Min lies below the truth at most: by noise, as other keys only add.

    `failure` is the probability that it lies further below.
    """
    far = math.log(2 * hashing.depth * len(parts) / failure)
    return sum(_largest_noise(promise, far) for promise in parts)


def _largest_noise(promise: Guarantee, far: float) -> int:
    """Return what one noise stays within, except with probability exp(-far)."""
    parameters = promise.parameters
    if "sigma" in parameters:  # E[exp(x Z)] <= exp(x^2 sigma^2 / 2)
        return math.ceil(float(parameters["sigma"]) * math.sqrt(2 * far))
    return math.ceil(far / float(parameters["noise"]))


def at_least_half_of(probabilities: Floats) -> float:
    """Return the probability that at least half of independent events happen."""
    distribution = np.ones(1)  # of the number of events that happen
    for probability in probabilities:
        distribution = np.convolve(distribution, (1 - probability, probability))
    return float(distribution[(len(probabilities) + 1) // 2 :].sum())


def _beyond(ordered: Counts, bound: int) -> Floats:
    """Bound, for each row, the probability that a random cell of the others' sketch is above `bound`."""
    width = ordered.shape[1]
    above = [width - int(np.searchsorted(row, bound, side="right")) for row in ordered]
    return np.asarray(np.minimum((np.array(above) + 1) / width, 1.0), np.float64)


def _smallest(ordered: Counts, failure: Callable[[int], float], target: float) -> int | None:
    """Return the smallest bound >= 0 at which the probability of failure is at most `target`, if any."""
    high = max(int(ordered[:, -1].max()), 0)
    if failure(high) > target:
        return None
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failure(middle) <= target else (middle, high)
    return high
