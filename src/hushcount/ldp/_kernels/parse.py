"""Packed reports to arrays; what does not fit is counted by its reason."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

SIZE = 18
VERSION, CAMPAIGN, SYMBOL = 0, 1, 2  # places of the reasons in `refused`


@inlined
def _word(data: Any, start: Any) -> Any:
    """Eight bytes, little-endian."""
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[start + i]) << np.uint64(8 * i)
    return word


@kernel
def parse(data: Any, expected: Any, nonces: Any, symbols: Any, refused: Any) -> int:
    """Read reports of 18 bytes: version, campaign, nonce, symbol; returns how many are kept.

    `expected` is (version, first word of the campaign, bound of the symbols).
    """
    version, campaign, bound = expected
    kept = 0
    for start in range(0, len(data) - SIZE + 1, SIZE):
        if data[start] != version:
            refused[VERSION] += 1
        elif _word(data, start + 1) != campaign:
            refused[CAMPAIGN] += 1
        elif data[start + 17] >= bound:
            refused[SYMBOL] += 1
        else:
            nonces[kept] = _word(data, start + 9)
            symbols[kept] = data[start + 17]
            kept += 1
    return kept
