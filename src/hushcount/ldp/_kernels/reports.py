"""Incoming reports: packed bytes become nonces and symbols, and each nonce is counted once.

A report has 18 bytes:

    version (1) | first bytes of the campaign's id (8) | nonce (8) | symbols (1)

Version and campaign, the first nine bytes, are the same in all reports of a campaign: its header. Reports
usually stand one after the other. If one is too short or too long, or if other bytes stand between them, the
reader looks for the next header and goes on there, so that one malformed report costs no other. What is
malformed is counted by its reason.

The nonces that came are a set in one array, by open addressing with linear probing. `table` has a power of
two of slots, each holding a nonce, or 0 if it is empty; the caller remembers the nonce 0 itself. A nonce
starts its search in the slot given by the top bits of nonce * factor, with a secret odd factor, so that
nobody can choose nonces that crowd one place and make the search slow. It goes on to the next slots until it
finds itself or an empty slot. Nothing is ever removed, so a search never stops too early.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

SIZE = 18
HEADER = 9
AHEAD = SIZE + HEADER  # bytes that decide about one report: the report and the header of the next
VERSION, CAMPAIGN, SYMBOL, LENGTH = 0, 1, 2, 3  # places of the reasons in `refused`


@inlined
def _word(data: Any, start: Any) -> Any:
    """Return the eight bytes from `start` on, little-endian."""
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[start + i]) << np.uint64(8 * i)
    return word


@inlined
def _is_header(data: Any, start: Any, version: Any, campaign: Any) -> Any:
    """Return whether a header of the campaign begins at `start`."""
    return start + HEADER <= len(data) and data[start] == version and _word(data, start + 1) == campaign


@inlined
def _next_inside(data: Any, start: Any, version: Any, campaign: Any) -> Any:
    """Return the offset of a header inside the report at `start`, which is then cut short; 0 if none."""
    for offset in range(1, SIZE):
        if _is_header(data, start + offset, version, campaign):
            return offset
    return 0


@inlined
def _skip(data: Any, start: Any, version: Any, gap: Any, refused: Any) -> None:
    """Skip one byte that belongs to no report; every 18 of them count as one report of another kind."""
    if gap[0] == 0:
        gap[1] = CAMPAIGN if data[start] == version else VERSION
    gap[0] += 1
    if gap[0] == SIZE:
        refused[gap[1]] += 1
        gap[0] = 0


@inlined
def _end_gap(gap: Any, refused: Any) -> None:
    """Count the bytes that were skipped last, if they are less than a report, as one of the wrong length."""
    if gap[0] > 0:
        refused[LENGTH] += 1
        gap[0] = 0


@kernel
def parse(data: Any, expected: Any, out: Any, counted: Any, final: bool) -> Any:
    """Read the reports of a block; return how many bytes were used up and how many reports were kept.

    `expected` is (version, first word of the campaign, bound of the symbols), `out` is (nonces, symbols) and
    `counted` is (refused reports by reason, gap). `gap` holds how many bytes of a foreign report have been
    skipped so far, and its reason; it lives on from block to block. Unless the block is the final one, the
    last bytes are left for the next block, because what follows decides about them.
    """
    version, campaign, bound = expected
    nonces, symbols = out
    refused, gap = counted
    needed = SIZE if final else AHEAD
    start = kept = 0
    while start + needed <= len(data):
        if not _is_header(data, start, version, campaign):
            _skip(data, start, version, gap, refused)
            start += 1
            continue
        _end_gap(gap, refused)
        follows = start + SIZE == len(data) or _is_header(data, start + SIZE, version, campaign)
        inside = 0 if follows else _next_inside(data, start, version, campaign)
        if inside > 0:
            refused[LENGTH] += 1
            start += inside
            continue
        if data[start + 17] >= bound:
            refused[SYMBOL] += 1
        else:
            nonces[kept] = _word(data, start + HEADER)
            symbols[kept] = data[start + 17]
            kept += 1
        start += SIZE
    if final:
        while start < len(data):
            _skip(data, start, version, gap, refused)
            start += 1
        _end_gap(gap, refused)
    return start, kept


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
def insert(table: Any, hashing: Any, nonces: Any, fresh: Any) -> int:
    """Put nonces other than 0 into the table and mark which are new; return how many are.

    `hashing` is (factor, shift).
    """
    factor, shift = hashing
    added = 0
    for i in range(len(nonces)):
        fresh[i] = nonces[i] != 0 and _insert(table, shift, factor, nonces[i])
        added += fresh[i]
    return added


@kernel
def grow(table: Any, hashing: Any, larger: Any) -> None:
    """Move the nonces of a table to an empty, longer one, whose hash is `hashing`."""
    factor, shift = hashing
    for nonce in table:
        if nonce != 0:
            _insert(larger, shift, factor, nonce)
