"""How far an oracle's answers may lie from the truth, read off its own published cells.

For a key named without knowledge of the hash key, the place of the key in a row is uniform and independent of
what the other keys put there, so the error of the row is a random cell of the sketch of the others, and
that sketch differs from the published one in one cell. Noise and collisions are in it together.
Proof: docs/proofs/linear/cells.md, section 4. Checked by: tests/statistical/test_linear.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from hushcount.keys.row_hash import RowHash

    Counts = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

Interval = tuple[int | None, int | None]


def oracle_interval(cells: Counts, hashing: RowHash, confidence: float) -> Interval:
    """(below, above): the true count lies in [count - below, count + above]; None where nothing bounds it."""
    each = (1 - confidence) / 2
    if hashing.signed:
        sizes = np.sort(np.abs(cells), axis=1)
        error = _least(sizes, lambda bound: at_least_half_of(_beyond(sizes, bound) / 2), each)
        return error, error
    ordered, mirrored = np.sort(cells, axis=1), np.sort(-cells, axis=1)
    below = _least(ordered, lambda bound: float(np.prod(_beyond(ordered, bound))), each)
    above = _least(mirrored, lambda bound: float(np.sum(_beyond(mirrored, bound))), each)
    return below, above


def at_least_half_of(chances: Floats) -> float:
    """The chance that at least half of independent events happen."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, (1 - chance, chance))
    return float(law[(len(chances) + 1) // 2 :].sum())


def _beyond(ordered: Counts, bound: int) -> Floats:
    """In each row, the chance that a random cell of the others' sketch is above a bound, at most."""
    width = ordered.shape[1]
    above = [width - int(np.searchsorted(row, bound, side="right")) for row in ordered]
    return np.asarray(np.minimum((np.array(above) + 1) / width, 1.0), np.float64)


def _least(ordered: Counts, chance: Callable[[int], float], target: float) -> int | None:
    """The least bound >= 0 at which a chance that falls with the bound has come down to the target."""
    high = max(int(ordered[:, -1].max()), 0)
    if chance(high) > target:
        return None
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) <= target else (middle, high)
    return high
