"""The fast Walsh-Hadamard transform, in place.

Each pass combines cells at a distance of one stride; the strides are the powers of two below the size. Two
strides are done in one pass, which halves the traffic to memory. All strides within a block that fits the
nearest cache are done block by block first; only the far strides go over the whole table.
"""

from __future__ import annotations

from typing import Any

from hushcount.compiled.kernel import kernel

_NEAR = 1 << 12  # cells that stay in the nearest cache


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
