"""Whether an array of text is valid UTF-8, cheaply where it is ASCII."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_HIGH_BITS = np.uint64(0x8080808080808080)


def is_utf8(array: pa.Array) -> bool:
    """Check the values of a string or large_string array; readers of binary files do not.

    >>> is_utf8(pa.array(["plain", "naïve"]))
    True
    """
    if _is_ascii(array):
        return True
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_ascii(array: pa.Array) -> bool:
    """Look at all bytes at once, eight at a time (at most seven bytes too many at either end)."""
    _, offsets, data = array.buffers()
    if data is None or len(array) == 0:
        return True
    width = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
    ends = np.frombuffer(offsets, width)
    first, last = int(ends[array.offset]), int(ends[array.offset + len(array)])
    start, stop = first // 8 * 8, min(-(-last // 8) * 8, len(data) // 8 * 8)
    words = (
        np.frombuffer(data, np.uint64, (stop - start) // 8, start) if stop > start else np.empty(0, np.uint64)
    )
    rest = np.frombuffer(data, np.uint8)[max(start, stop) : last]
    return not (np.bitwise_or.reduce(words) & _HIGH_BITS) and not (rest & 0x80).any()
