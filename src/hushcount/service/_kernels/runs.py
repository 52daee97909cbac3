"""Sorted runs of 16-byte names (nonces, or hashes of spent tokens), and the reports of a batch.

A name is a row of two words, its first eight bytes and its last eight, each read with the first byte as the
most significant. So the order of rows is the order of the bytes. A run holds no name twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

HEADER = 9
NAME = 16
# What `read` found: everything is well formed, or the reason of the first report that is not.
WELL, FOREIGN, SYMBOL = 0, 1, 2


@inlined
def _below(first: Any, second: Any) -> Any:
    """Return whether one name comes before another."""
    return first[0] < second[0] or (first[0] == second[0] and first[1] < second[1])


@inlined
def _word(data: Any, start: Any) -> Any:
    """Return the eight bytes from `start` on, the first the most significant."""
    word = np.uint64(0)
    for i in range(8):
        word = (word << np.uint64(8)) | np.uint64(data[start + i])
    return word


@kernel
def read(data: Any, header: Any, bound: int, nonces: Any, symbols: Any) -> Any:
    """Read packed reports of 27 bytes; return what was found, and whether the nonces ascend strictly."""
    ascending = True
    for i in range(len(nonces)):
        start = i * (HEADER + NAME + 2)
        for at in range(HEADER):
            if data[start + at] != header[at]:
                return FOREIGN, False
        nonces[i, 0] = _word(data, start + HEADER)
        nonces[i, 1] = _word(data, start + HEADER + 8)
        last = start + HEADER + NAME
        symbols[i] = data[last] | (np.uint16(data[last + 1]) << np.uint16(8))
        if symbols[i] >= bound:
            return SYMBOL, False
        if i > 0 and not _below(nonces[i - 1], nonces[i]):
            ascending = False
    return WELL, ascending


@kernel
def first_of_each(names: Any, fresh: Any) -> None:
    """Mark in a sorted list the first of equal names."""
    for i in range(len(names)):
        fresh[i] = i == 0 or names[i, 0] != names[i - 1, 0] or names[i, 1] != names[i - 1, 1]


@kernel
def unmark_known(names: Any, run: Any, fresh: Any) -> None:
    """Take the mark from those of a sorted list of names that a run holds.

    The search for a name begins where that for the one before ended: it doubles its steps until it has passed
    the name, then halves them. So a long list reads the run once from one end to the other.
    """
    low = 0
    for i in range(len(names)):
        step, high = 1, low
        while high < len(run) and _below(run[high], names[i]):
            low = high + 1
            high += step
            step *= 2
        high = min(high, len(run))
        while low < high:
            middle = (low + high) // 2
            if _below(run[middle], names[i]):
                low = middle + 1
            else:
                high = middle
        if low < len(run) and run[low, 0] == names[i, 0] and run[low, 1] == names[i, 1]:
            fresh[i] = False


@kernel
def merge(first: Any, second: Any, out: Any) -> None:
    """Write two runs that have no name in common as one."""
    i = j = 0
    for k in range(len(out)):
        if j == len(second) or (i < len(first) and _below(first[i], second[j])):
            out[k, 0] = first[i, 0]
            out[k, 1] = first[i, 1]
            i += 1
        else:
            out[k, 0] = second[j, 0]
            out[k, 1] = second[j, 1]
            j += 1
