"""Rows dealt to shards by a keyed hash of their key; the order within a shard is that of the rows.

The hash has a key of its own: if it were that of a table, the keys of a shard would crowd a part of it.
Whoever calls gives the arrays that are filled, and uses them again: fresh memory costs more than dealing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import hash_bytes
from hushcount.compiled.kernel import inlined, kernel

_U = np.uint64
_HALF = _U(32)


@inlined
def shard_of(hashed: Any, shards: Any) -> Any:
    """Return the shard of a hash: its upper half times the number of shards, without a division."""
    return ((hashed >> _HALF) * shards) >> _HALF


@kernel
def shards_of_words(words: Any, secret: Any, shards: Any, dealt: Any) -> Any:
    """Write down the shard of each 64-bit key: one multiplication spreads them enough."""
    mask, odd, many = secret[0], secret[1], _U(shards)
    for index in range(words.size):
        dealt[index] = shard_of((words[index] ^ mask) * odd, many)


@kernel
def shards_of_bytes(data: Any, offsets: Any, secret: Any, shards: Any, dealt: Any) -> Any:
    """Write down the shard of each byte string."""
    for index in range(offsets.size - 1):
        start = _U(offsets[index])
        hashed = hash_bytes(data, start, _U(offsets[index + 1]) - start, secret[0], secret[1])
        dealt[index] = shard_of(hashed, _U(shards))


@kernel
def bounds_of(dealt: Any, shards: Any) -> Any:
    """Return where each shard begins and ends if rows are put in the order of their shards."""
    found = np.zeros((2, shards), np.int64)  # every second row apart, so that no sum waits for the last one
    for index in range(0, dealt.size - 1, 2):
        found[0, dealt[index]] += 1
        found[1, dealt[index + 1]] += 1
    if dealt.size & 1:
        found[0, dealt[dealt.size - 1]] += 1
    bounds = np.zeros(shards + 1, np.int64)
    for shard in range(shards):
        bounds[shard + 1] = bounds[shard] + found[0, shard] + found[1, shard]
    return bounds


@kernel
def deal(values: Any, dealt: Any, bounds: Any, out: Any) -> Any:
    """Put values in the order of their shards, and within a shard in their own."""
    if bounds.size == 3:  # places in registers, without a guess that fails for every second row
        first, second = bounds[0], bounds[1]
        for index in range(dealt.size):
            shard = np.int64(dealt[index])
            out[second if shard else first] = values[index]
            second += shard
            first += 1 - shard
        return
    at = bounds.copy()
    for index in range(dealt.size):
        shard = dealt[index]
        place = at[shard]
        out[place] = values[index]
        at[shard] = place + 1
