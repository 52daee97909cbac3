"""Sizes of linear sketches for a stated error: as few cells as keep it (Holland 2025, Lemmas 12 and 13)."""

from __future__ import annotations

import math
from typing import Self

from hushcount.errors import ParameterError
from hushcount.keys.row_hash import COUNT_MIN, LARGEST_DEPTH, LARGEST_WIDTH, at_least_half
from hushcount.privacy import check_fraction
from hushcount.sketches.cells import LinearSketch

WIDER = 64  # sizes are looked for up to so many times the smallest width


class SizedCells(LinearSketch):
    """Cells whose number can follow from the error that is allowed."""

    @classmethod
    def for_error(
        cls,
        error: float,
        failure: float,
        *,
        seed: int | str | bytes | None = None,
        max_weight: int | None = None,
        partial: bool = False,
    ) -> Self:
        """Return an empty sketch with as few cells as keep a stated error.

        For a key chosen without knowing the seed, a Count-Min estimate exceeds the truth by more than
        error * F1 with probability at most `failure`, where F1 is `total`, the sum of all counts. A
        CountSketch estimate is off by more than error * sqrt(F2) with at most that probability, where F2 is
        the sum of the squares of all counts and the hash is taken as a random function.

        Parameters
        ----------
        error : float
            The largest error as a share of F1, or of the root of F2; strictly between 0 and 1.
        failure : float
            The probability with which one estimate may be off by more; strictly between 0 and 1.
        seed, max_weight, partial
            As for the sketch itself.

        Raises
        ------
        ParameterError
            If a number breaks its rule, or so small an error needs more than 67,108,864 cells in a row.

        Examples
        --------
        >>> import hushcount as hc
        >>> sketch = hc.CountMin.for_error(0.001, 1e-6)
        >>> sketch.depth, sketch.width
        (10, 4096)
        """
        depth, width = size_for(cls.kind, error, failure)
        return cls(depth, width, seed=seed, max_weight=max_weight, partial=partial)


def size_for(kind: str, error: float, failure: float) -> tuple[int, int]:
    """Return the depth and width of the fewest cells that keep an error, or raise.

    A row of Count-Min is too high by more than error * F1 with probability 1 / (error * width) at most, by
    Markov's inequality; all rows must be. A row of CountSketch is off by more than error * sqrt(F2) with
    probability 1 / (error^2 * width) at most, by Chebyshev's; half of the rows must be.
    """
    share, allowed = check_fraction("error", error), check_fraction("failure", failure)
    rows, cells = (_smallest, 1 / share) if kind == COUNT_MIN else (_median, 1 / share**2)
    found = []
    width = 2
    while width <= min(WIDER * cells, LARGEST_WIDTH):
        depth = rows(cells / width, allowed)
        if depth <= LARGEST_DEPTH:
            found.append((depth * width, depth, width))
        width *= 2
    if not found:
        raise ParameterError(
            f"error must be larger for {kind}, got {error:g}: a row would need more than {LARGEST_WIDTH}"
            " cells."
        )
    return min(found)[1:]


def _smallest(row: float, failure: float) -> int:
    """Return how many rows it takes so that all fail with probability `failure` at most; each has `row`."""
    if row >= 1:
        return LARGEST_DEPTH + 1
    depth = max(math.ceil(math.log(failure) / math.log(row)), 1)
    return depth if row**depth <= failure else depth + 1


def _median(row: float, failure: float) -> int:
    """Return the smallest odd number of rows of which half fail with probability `failure` at most."""
    low, high = -1, LARGEST_DEPTH // 2 - 1  # standing for 2 high + 1 rows
    if row >= 1 / 2 or at_least_half(2 * high + 1, row) > failure:
        return LARGEST_DEPTH + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = at_least_half(2 * middle + 1, row) <= failure
        low, high = (low, middle) if enough else (middle, high)
    return 2 * high + 1
