"""From reports to tables: derive question, row and masks, order by table, add up, transform.

The tables of a group lie one after the other in one array; table t is cells[offsets[t] : offsets[t + 1]], a
power of two long. A table belongs to one question, row and position. Reports arrive in random order, so they
are first ordered by table (a counting sort); then the table that they are added to stays in the cache.

A report with b masks adds to 2^b - 1 cells: for every nonempty set s of masks, to the cell that is the xor of
the masks in s, with the sign (-1)^parity(s & y) of its symbol y. `combined[s]` holds both, the xor and below
it the parity as one bit. Both are linear in s, so one xor for each s builds them by doubling, and no table of
signs, which would have 2^2b entries, has to stay in the cache.

The Walsh-Hadamard transform of a table gives the matches of all cells. Each pass combines cells at a distance
of one stride; the strides are the powers of two below the size. Two strides are done in one pass, which
halves the traffic to memory. All strides within a block that fits the nearest cache are done block by block
first; only the far strides go over the whole table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel
from hushcount.ldp._kernels.blake2s import LANES, compress, compress_wide

MOST_BITS = 10
BLOCK = 1 << 19  # reports that are ordered together
_NEAR = 1 << 12  # cells that stay in the nearest cache


@inlined
def first_above(cumulative: Any, word: Any) -> Any:
    """Return the first question whose cumulative share exceeds a word."""
    question = 0
    while cumulative[question] <= word:
        question += 1
    return question


@kernel
def derive(state: Any, asked: Any, nonces: Any, layout: Any, out: Any) -> None:
    """Derive the table and the masks of every nonce, a row of one or two words, from public randomness.

    `asked` is (group, digests that are needed), `layout` is (cumulative shares, rows, positions in a row,
    first table), each by question, and `out` is (tables, masks). The extra word is the last of all digests.
    """
    group, digests = asked
    cumulative, rows, positions, tables = layout
    slots, masks = out
    count = len(nonces)
    width = masks.shape[1]
    wide = nonces.shape[1] == 2
    last = (15 if wide else 7) * LANES
    words = np.zeros(16 * LANES, np.uint32)
    low, high = np.zeros(LANES, np.uint64), np.zeros(LANES, np.uint64)
    for start in range(0, count, LANES):
        size = min(LANES, count - start)
        for lane in range(size):
            low[lane] = nonces[start + lane, 0]
            high[lane] = nonces[start + lane, nonces.shape[1] - 1]
        if wide:
            for digest in range(digests):
                ending = np.uint32(group + (digest << 8))
                compress_wide(state, low, high, ending, words[digest * 8 * LANES :])
        else:
            compress(state, low, np.uint32(group), words)
        for lane in range(size):
            question = first_above(cumulative, np.int64(words[lane]))
            row = (np.int64(words[LANES + lane]) * rows[question]) >> 32
            position = (np.int64(words[last + lane]) * positions[question]) >> 32
            slots[start + lane] = tables[question] + row * positions[question] + position
            for i in range(width):
                masks[start + lane, i] = words[(2 + i) * LANES + lane]


@kernel
def order_by_table(slots: Any, starts: Any, order: Any) -> None:
    """Sort by counting, so that order[starts[t] : starts[t + 1]] are the reports of table t."""
    starts[:] = 0
    for slot in slots:
        starts[slot + 1] += 1
    for table in range(1, len(starts)):
        starts[table] += starts[table - 1]
    filled = starts[:-1].copy()
    for report in range(len(slots)):
        order[filled[slots[report]]] = report
        filled[slots[report]] += 1


@kernel
def tally(order: Any, starts: Any, reports: Any, tables: Any) -> None:
    """Add the sign (-1)^parity(s & y) to T[xor of the masks in s], for every nonzero s and every report.

    `reports` is (masks, symbols) and `tables` is (offsets, cells); a table has fewer than 2^31 cells.
    """
    masks, symbols = reports
    offsets, cells = tables
    width = masks.shape[1]
    symbols_of = 1 << width
    combined = np.zeros(1 << MOST_BITS, np.uint32)
    for table in range(len(offsets) - 1):
        own = cells[offsets[table] : offsets[table + 1]]
        keep = np.uint32(len(own) - 1)
        for place in range(starts[table], starts[table + 1]):
            report = order[place]
            y = np.uint32(symbols[report])
            for i in range(width):
                part = ((masks[report, i] & keep) << np.uint32(1)) | ((y >> np.uint32(i)) & np.uint32(1))
                for s in range(1 << i):
                    combined[(1 << i) + s] = combined[s] ^ part
            for s in range(1, symbols_of):
                own[combined[s] >> np.uint32(1)] += 1 - 2 * np.int32(combined[s] & np.uint32(1))


@kernel
def walsh_hadamard(cells: Any) -> None:
    """Replace cells[c] by the sum over m of (-1)^parity(m & c) * cells[m]; the length is a power of two."""
    size = len(cells)
    near = min(_NEAR, size)
    for start in range(0, size, near):
        _strides(cells[start : start + near], 1)
    _strides(cells, near)


@kernel
def _strides(cells: Any, stride: Any) -> None:
    """Do all strides from `stride` on, two at a time."""
    size = len(cells)
    while 4 * stride <= size:
        for start in range(0, size, 4 * stride):
            for i in range(start, start + stride):
                a, b = cells[i], cells[i + stride]
                c, d = cells[i + 2 * stride], cells[i + 3 * stride]
                cells[i], cells[i + stride] = a + b + c + d, a - b + c - d
                cells[i + 2 * stride], cells[i + 3 * stride] = a + b - c - d, a - b - c + d
        stride *= 4
    if 2 * stride <= size:
        for i in range(stride):
            a, b = cells[i], cells[i + stride]
            cells[i], cells[i + stride] = a + b, a - b
