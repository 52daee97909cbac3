"""A set of 64-bit nonces in one array: open addressing with linear probing.

`table` has a power of two of slots, each holding a nonce, or 0 if it is empty; the caller remembers the nonce
0 itself. A nonce starts its search in the slot given by the top bits of nonce * factor, with a secret odd
factor, so that nobody can choose nonces that crowd one place and make the search slow. It goes on to the next
slots until it finds itself or an empty slot. Nothing is ever removed, so a search never stops too early.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel


@inlined
def _shift(table: Any) -> Any:
    """Return how far a 64-bit product is shifted so that its top bits number a slot."""
    shift = np.uint64(64)
    size = len(table)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    return shift


@inlined
def _insert(table: Any, shift: Any, factor: Any, nonce: Any) -> Any:
    """Put a nonce into the table; return whether it is new."""
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
    """Put nonces other than 0 into the table and mark which are new; return how many are."""
    shift = _shift(table)
    added = 0
    for i in range(len(nonces)):
        fresh[i] = nonces[i] != 0 and _insert(table, shift, factor, nonces[i])
        added += fresh[i]
    return added


@kernel
def grow(table: Any, factor: Any, larger: Any) -> None:
    """Move the nonces of a table to an empty, longer one."""
    shift = _shift(larger)
    for nonce in table:
        if nonce != 0:
            _insert(larger, shift, factor, nonce)
