"""The numbers and arrays of counter tables, without the kernels: table.py says what they mean.

Whoever only asks for these loads no numba.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

CLOCK_BITS = np.uint64(24)
LAST_TIME = np.uint64((1 << 24) - 1)
WINDOW = np.uint64(16)
EMPTY = np.uint64(0)
GONE = np.uint64(1)
BLOCK = 128
AHEAD = 8

# The words of `state`: keys in use, floor, time of the last update, first count above the window, GONE slots,
# bytes of the arena in use; then constants: number of counters, two words of hash key (the second is odd),
# and the rule by which a new key gets a counter when all are in use.
USED, FLOOR, CLOCK, END, HOLES, TOP, COUNTERS, KEY, ODD, RULE = range(10)

SPACE_SAVING = 0
MISRA_GRIES = 1

LENGTH_BITS = np.uint64(24)
LENGTH_MASK = np.uint64((1 << 24) - 1)
GRAIN = np.uint64(15)


class TableArrays(NamedTuple):
    """The arrays of one table: `refs` and `arena` for byte strings, `scratch` for Misra-Gries to sort in."""

    rows: Any
    passed: Any
    stacks: Any
    tops: Any
    state: Any
    refs: Any
    arena: Any
    scratch: Any


def scratch_size(counters: int) -> int:
    """Return how many words of 32 bits it takes to sort so many keys (see `split`).

    A table keeps them: memory that is asked for anew at every decrement would cost more than the sorting.
    """
    return 7 * counters + 3
