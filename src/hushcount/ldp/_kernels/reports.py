"""Incoming reports: packed bytes become nonces and symbols, and each nonce is counted once.

A report has 18 bytes in version 1 and 27 in version 2 of the wire:

    version (1) | first bytes of the campaign's id (8) | nonce (8 or 16) | symbols (1 or 2, little-endian)

Version and campaign, the first nine bytes, are the same in all reports of a campaign: its header. Reports
usually stand one after the other. If one is too short or too long, or if other bytes stand between them, the
reader looks for the next header and goes on there, so that one malformed report costs no other. What is
malformed is counted by its reason.

The nonces that came are a set in one array, by open addressing with linear probing. `table` has a power of
two of slots, rows of one or two words, each holding a nonce, or zeros if it is empty; the caller remembers
the nonce 0 itself. A nonce starts its search in the slot given by the top bits of the sum of its words times
secret odd factors, so that nobody can choose nonces that crowd one place and make the search slow. It goes on
to the next slots until it finds itself or an empty slot. Nothing is ever removed, so a search never stops too
early.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

HEADER = 9
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
def _next_inside(data: Any, start: Any, size: Any, version: Any, campaign: Any) -> Any:
    """Return the offset of a header inside the report at `start`, which is then cut short; 0 if none."""
    for offset in range(1, size):
        if _is_header(data, start + offset, version, campaign):
            return offset
    return 0


@inlined
def _skip(byte: Any, size: Any, version: Any, gap: Any, refused: Any) -> None:
    """Skip one byte that belongs to no report; every `size` of them count as one report of another kind."""
    if gap[0] == 0:
        gap[1] = CAMPAIGN if byte == version else VERSION
    gap[0] += 1
    if gap[0] == size:
        refused[gap[1]] += 1
        gap[0] = 0


@inlined
def _end_gap(gap: Any, refused: Any) -> None:
    """Count the bytes that were skipped last, if they are less than a report, as one of the wrong length."""
    if gap[0] > 0:
        refused[LENGTH] += 1
        gap[0] = 0


@inlined
def _symbols(data: Any, start: Any, stop: Any) -> Any:
    """Return the symbols in the last bytes of a report, little-endian."""
    symbols = np.int64(0)
    for i in range(start, stop):
        symbols |= np.int64(data[i]) << (8 * (i - start))
    return symbols


@kernel
def parse(data: Any, expected: Any, out: Any, counted: Any, final: bool) -> Any:
    """Read the reports of a block; return how many bytes were used up and how many reports were kept.

    `expected` is (version, first word of the campaign, bound of the symbols, length of a report), `out` is
    (nonces, symbols) and `counted` is (refused reports by reason, gap). `gap` holds how many bytes of a
    foreign report have been skipped so far, and its reason; it lives on from block to block. Unless the block
    is the final one, the last bytes are left for the next block, because what follows decides about them: a
    report and the header of the next.
    """
    version, campaign, bound, size = expected
    nonces, symbols = out
    refused, gap = counted
    words = nonces.shape[1]
    needed = size if final else size + HEADER
    start = kept = 0
    while start + needed <= len(data):
        if not _is_header(data, start, version, campaign):
            _skip(data[start], size, version, gap, refused)
            start += 1
            continue
        _end_gap(gap, refused)
        follows = start + size == len(data) or _is_header(data, start + size, version, campaign)
        inside = 0 if follows else _next_inside(data, start, size, version, campaign)
        if inside > 0:
            refused[LENGTH] += 1
            start += inside
            continue
        joined = _symbols(data, start + HEADER + 8 * words, start + size)
        if joined >= bound:
            refused[SYMBOL] += 1
        else:
            for word in range(words):
                nonces[kept, word] = _word(data, start + HEADER + 8 * word)
            symbols[kept] = joined
            kept += 1
        start += size
    if final:
        while start < len(data):
            _skip(data[start], size, version, gap, refused)
            start += 1
        _end_gap(gap, refused)
    return start, kept


@inlined
def _insert(table: Any, shift: Any, factors: Any, nonce: Any) -> Any:
    """Put a nonce into the table; return whether it is new."""
    slots, words = table.shape
    last = slots - 1
    hashed = np.uint64(0)
    for word in range(words):
        hashed += nonce[word] * factors[word]
    place = np.int64(hashed >> shift)
    while True:
        empty = same = True
        for word in range(words):
            empty &= table[place, word] == 0
            same &= table[place, word] == nonce[word]
        if same:
            return False
        if empty:
            break
        place = (place + 1) & last
    for word in range(words):
        table[place, word] = nonce[word]
    return True


@inlined
def _any(nonce: Any) -> Any:
    """Return whether a word of a nonce is not 0."""
    found = False
    for word in nonce:
        found |= word != 0
    return found


@kernel
def insert(table: Any, hashing: Any, nonces: Any, fresh: Any) -> int:
    """Put nonces other than 0 into the table and mark which are new; return how many are.

    `hashing` is (factors, shift).
    """
    factors, shift = hashing
    added = 0
    for i in range(len(nonces)):
        fresh[i] = _any(nonces[i]) and _insert(table, shift, factors, nonces[i])
        added += fresh[i]
    return added


@kernel
def grow(table: Any, hashing: Any, larger: Any) -> None:
    """Move the nonces of a table to an empty, longer one, whose hash is `hashing`."""
    factors, shift = hashing
    for place in range(len(table)):
        if _any(table[place]):
            _insert(larger, shift, factors, table[place])
