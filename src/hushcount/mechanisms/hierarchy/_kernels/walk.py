"""Tests of the nodes of a hierarchy from the leaves up: one walk over sorted leaves, one path in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts
from hushcount.compiled.kernel import kernel

LEAF, LEVEL, ROWS = 0, 1, 2  # places of the cursor
ROW_LEAF, ROW_LEVEL, ROW_VALUE, ROW_SIZE = 0, 1, 2, 3  # columns of a published row


class Leaves(NamedTuple):
    """Counts of sorted leaves, and the level each shares with the leaf before it."""

    counts: Counts
    shared: npt.NDArray[np.int16]


class Path(NamedTuple):
    """The open nodes from the root to the last leaf, and where the walk stands.

    `residuals` are the counts that came up to each open node so far, `opened` how many rows had been
    published when it was opened. The cursor holds the next leaf of the batch, the next level to close before
    it, and the number of rows published so far.
    """

    residuals: Counts
    opened: Counts
    cursor: Counts

    @classmethod
    def of(cls, height: int) -> Path:
        """Return a path on which no leaf has come yet."""
        cursor = np.array([0, height, 0], dtype=np.int64)
        return cls(np.zeros(height + 1, np.int64), np.zeros(height + 1, np.int64), cursor)


@kernel
def walk(leaves: Any, path: Any, noise: Any, threshold: Any, rows: Any) -> Any:
    """Go on through a batch of leaves until it or the noise is used up; return how much noise was used.

    A node is closed when a leaf outside it comes: a residual of at least 1 takes one value of noise, and is
    published if the sum reaches the threshold; if not, the residual goes up to the parent. A published row is
    (last leaf below it in this batch, or -1; level; noisy residual; published rows in its subtree).
    """
    counts, shared = leaves
    residuals, opened, cursor = path
    height = residuals.size - 1
    used = 0
    first = cursor[ROWS]
    while cursor[LEAF] < counts.size:
        leaf = cursor[LEAF]
        while cursor[LEVEL] > shared[leaf]:
            level = cursor[LEVEL]
            residual = residuals[level]
            if residual > 0:
                if used == noise.size:
                    return used
                value = residual + noise[used]
                used += 1
                if value >= threshold:
                    row = rows[cursor[ROWS] - first]
                    row[ROW_LEAF], row[ROW_LEVEL], row[ROW_VALUE] = leaf - 1, level, value
                    row[ROW_SIZE] = cursor[ROWS] - opened[level] + 1
                    cursor[ROWS] += 1
                elif level > 0:
                    residuals[level - 1] += residual
                residuals[level] = 0
            cursor[LEVEL] -= 1
        for level in range(shared[leaf] + 1, height + 1):
            opened[level] = cursor[ROWS]
        residuals[height] = counts[leaf]
        cursor[LEAF] += 1
        cursor[LEVEL] = height
    return used
