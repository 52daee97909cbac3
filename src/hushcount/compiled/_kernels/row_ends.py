"""Ends of rows of delimited text, found by the rules of pyarrow's parser."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushcount.compiled.kernel import kernel

LINE_FEED, CARRIAGE_RETURN, QUOTE = ord("\n"), ord("\r"), ord('"')
# What came before a byte: the start of a field, a byte of a plain field, of a quoted one, or a quote in one.
START, PLAIN, QUOTED, QUOTE_IN_QUOTED = 0, 1, 2, 3


@kernel
def row_ends(data: npt.NDArray[np.uint8], delimiter: int, state: int) -> tuple[int, int, int]:
    """Return the state after the data, and where the first and the last row end, 0 if none does."""
    first = last = 0
    for index in range(len(data)):
        byte = data[index]
        if state == QUOTED:
            if byte == QUOTE:
                state = QUOTE_IN_QUOTED
            continue
        if byte == QUOTE and state in (START, QUOTE_IN_QUOTED):
            state = QUOTED
            continue
        state = PLAIN
        if byte == delimiter:
            state = START
        elif byte in (LINE_FEED, CARRIAGE_RETURN):
            state = START
            last = index + 1
            if not first:
                first = last
    return state, first, last
