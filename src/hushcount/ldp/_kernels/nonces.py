"""A set of 64-bit nonces in one array, by open addressing with linear probing.

The place of a nonce is the top of its product with a secret odd number, so that nobody can choose nonces that
crowd one place. 0 marks an empty slot; the nonce 0 itself is remembered beside the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

_AHEAD = 64  # slots looked at together, so that their cache misses overlap


@inlined
def _insert(table: Any, shift: Any, factor: Any, nonce: Any) -> Any:
    """Whether the nonce is new; it is in the table afterwards."""
    last = len(table) - 1
    place = np.int64((nonce * factor) >> shift)
    while table[place] != 0:
        if table[place] == nonce:
            return False
        place = (place + 1) & last
    table[place] = nonce
    return True


@kernel
def insert(table: Any, factor: Any, nonces: Any, fresh: Any) -> int:
    """Put nonces other than 0 into the table and mark which of them are new; returns how many are."""
    shift = np.uint64(64)
    size = len(table)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    added = 0
    seen = np.uint64(0)
    for start in range(0, len(nonces), _AHEAD):
        stop = min(start + _AHEAD, len(nonces))
        for i in range(start, stop):
            seen ^= table[np.int64((nonces[i] * factor) >> shift)]
        for i in range(start, stop):
            fresh[i] = nonces[i] != 0 and _insert(table, shift, factor, nonces[i])
            added += fresh[i]
    table[0] ^= seen ^ seen  # the first look is not dead code
    return added


@kernel
def grow(table: Any, factor: Any, larger: Any) -> None:
    """Move the nonces of a table to an empty, longer one."""
    shift = np.uint64(64)
    size = len(larger)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    for nonce in table:
        if nonce != 0:
            _insert(larger, shift, factor, nonce)
