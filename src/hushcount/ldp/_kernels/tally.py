"""From reports to tables: derive question, row and masks, order by table, add up, transform.

The tables of a group lie one after the other in one array; table t is cells[offsets[t] : offsets[t + 1]], a
power of two long. A table belongs to one question, row and position. Reports arrive in random order, so they
are first ordered by table (a counting sort); then the table that they are added to stays in the cache.

A report with b masks adds to 2^b - 1 cells: for every nonempty set s of masks, to the cell that is the xor of
the masks in s. `combined[s]` holds these xors, built by doubling; the sign depends on s and the symbol only.

The Walsh-Hadamard transform of a table gives the matches of all cells. Each pass combines cells at a distance
of one stride; the strides are the powers of two below the size. Two strides are done in one pass, which
halves the traffic to memory. All strides within a block that fits the nearest cache are done block by block
first; only the far strides go over the whole table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel
from hushcount.ldp._kernels.blake2s import LANES, compress

MOST_BITS = 5
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
def derive(state: Any, group: Any, nonces: Any, layout: Any, out: Any) -> None:
    """Derive the table and the masks of every nonce from public randomness.

    `layout` is (cumulative shares, rows, positions in a row, first table), each by question. `out` is
    (tables, masks).
    """
    cumulative, rows, positions, tables = layout
    slots, masks = out
    count = len(nonces)
    width = masks.shape[1]
    words = np.empty(8 * LANES, np.uint32)
    padded = np.zeros(LANES, np.uint64)
    for start in range(0, count, LANES):
        size = min(LANES, count - start)
        if size == LANES:
            compress(state, nonces, start, np.uint32(group), words)
        else:
            padded[:size] = nonces[start:]
            compress(state, padded, 0, np.uint32(group), words)
        for lane in range(size):
            question = first_above(cumulative, np.int64(words[lane]))
            row = (np.int64(words[LANES + lane]) * rows[question]) >> 32
            position = (np.int64(words[7 * LANES + lane]) * positions[question]) >> 32
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
def tally(order: Any, starts: Any, reports: Any, signs: Any, tables: Any) -> None:
    """Add the sign (-1)^parity(s & y) to T[xor of the masks in s], for every nonzero s and every report.

    `reports` is (masks, symbols), signs[y, s] holds the signs, and `tables` is (offsets, cells).
    """
    masks, symbols = reports
    offsets, cells = tables
    width = masks.shape[1]
    symbols_of = 1 << width
    combined = np.zeros(1 << MOST_BITS, np.uint32)
    for table in range(len(offsets) - 1):
        offset = offsets[table]
        keep = np.uint32(offsets[table + 1] - offset - 1)
        for place in range(starts[table], starts[table + 1]):
            report = order[place]
            y = symbols[report]
            for i in range(width):
                mask = masks[report, i] & keep
                for s in range(1 << i):
                    combined[(1 << i) + s] = combined[s] ^ mask
            for s in range(1, symbols_of):
                cells[offset + np.int64(combined[s])] += signs[y, s]


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
