"""Rows that name their key by a code, as pages of a dictionary do: lined up, and looked for in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import hash_bytes
from hushcount.compiled._kernels.intrinsics import prefetch
from hushcount.compiled.kernel import kernel
from hushcount.sketches._kernels.table import BLOCK, KEY, ODD, borrowed, bucket_of, search

_U = np.uint64
_THREE = _U(3)


@kernel
def line_up_codes(codes: Any, size: Any) -> Any:
    """Return the different codes in the order of their last rows, and the number of rows of each.

    Codes are below `size`.
    """
    rows_of = np.zeros(size, np.uint32)
    lasts = np.empty(size, np.int32)
    for row in range(codes.size):
        code = codes[row]
        rows_of[code] += np.uint32(1)
        lasts[code] = row
    order = np.empty(codes.size + 1, np.int32)
    distinct = 0
    for row in range(codes.size):
        order[distinct] = codes[row]
        distinct += lasts[codes[row]] == row
    times = np.empty(distinct, np.uint64)
    for index in range(distinct):
        times[index] = rows_of[order[index]]
    return order[:distinct].copy(), times


@kernel
def all_have_room(table: Any, data: Any, begins: Any, ends: Any, free: Any) -> Any:
    """Return whether at most `free` of the byte strings data[begins[i] : ends[i]] are not tracked."""
    table = borrowed(table)
    keys = np.empty(BLOCK, np.uint64)
    for start in range(0, begins.size, BLOCK):
        count = min(BLOCK, begins.size - start)
        for index in range(count):
            begin = _U(begins[start + index])
            length = _U(ends[start + index]) - begin
            keys[index] = hash_bytes(data, begin, length, table.state[KEY], table.state[ODD])
            prefetch(table.rows, bucket_of(table, keys[index]) << _THREE)
        for index in range(count):
            begin = _U(begins[start + index])
            item = (data, begin, _U(ends[start + index]) - begin)
            _, found = search(table, keys[index], bucket_of(table, keys[index]), item)
            free -= not found
        if free < 0:
            return False
    return True
