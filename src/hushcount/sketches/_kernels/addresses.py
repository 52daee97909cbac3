"""Internet addresses from text to numbers, strictly."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled import kernel

_U = np.uint64
_DOT, _ZERO, _NINE = 46, 48, 57


@kernel
def parse_quad(data: Any, start: Any, end: Any) -> Any:
    """Four decimal numbers up to 255 with dots between them, as one number; -1 for all other text."""
    value, part, digits, dots = np.int64(0), np.int64(0), 0, 0
    if end - start > 15:
        return np.int64(-1)
    for place in range(start, end):
        octet = np.int64(data[place])
        if octet == _DOT and digits > 0:
            value, part, digits, dots = (value << 8) | part, np.int64(0), 0, dots + 1
        elif _ZERO <= octet <= _NINE and not (digits > 0 and part == 0) and 10 * part + octet - _ZERO <= 255:
            part, digits = 10 * part + octet - _ZERO, digits + 1
        else:
            return np.int64(-1)
    return (value << 8) | part if dots == 3 and digits > 0 else np.int64(-1)


@kernel
def parse_ipv4(data: Any, offsets: Any) -> Any:
    """The addresses as numbers, and which of them are addresses."""
    leaves = np.zeros(offsets.size - 1, np.uint64)
    good = np.zeros(offsets.size - 1, np.bool_)
    for index in range(leaves.size):
        value = parse_quad(data, np.int64(offsets[index]), np.int64(offsets[index + 1]))
        if value >= 0:
            leaves[index] = _U(value)
            good[index] = True
    return leaves, good
