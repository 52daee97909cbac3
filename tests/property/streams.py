"""Streams that attack counter tables, as numbers and as keys of every kind; and invariants of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.hashing import hash_bytes, mix
from hushcount.sketches._kernels import arrays as layout

EXTREMES = [0, -1, 1, -(2**63), 2**63 - 1, 2**32, -(2**32), 255, 256]
LENGTHS = (0, 1, 2, 6, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 40)


def numbers(rng: np.random.Generator, length: int, distinct: int) -> np.ndarray[Any, Any]:
    """One stream of small numbers, of a shape drawn at random."""
    shapes = [
        lambda: rng.integers(0, distinct, length),
        lambda: rng.zipf(1.3, length) % distinct,
        lambda: np.sort(rng.integers(0, distinct, length)),
        lambda: np.sort(rng.integers(0, distinct, length))[::-1],
        lambda: np.arange(length) % distinct,
        lambda: np.arange(length),
        lambda: np.arange(length) % 2 * (1 + np.arange(length) // 2),
        lambda: np.repeat(rng.integers(0, distinct, length), rng.integers(1, 30, length))[:length],
        lambda: np.concatenate([np.arange(length // 2), rng.integers(0, distinct, length - length // 2)]),
    ]
    return np.asarray(shapes[rng.integers(len(shapes))](), np.int64)


def as_integers(values: np.ndarray[Any, Any]) -> list[int]:
    """Numbers as 64-bit keys, the first ones extreme."""
    return [EXTREMES[v] if v < len(EXTREMES) else int(v) * 0x1_0000_0001 for v in values.tolist()]


def as_bytes(values: np.ndarray[Any, Any]) -> list[bytes]:
    """Numbers as byte strings: one empty, shared prefixes, NULs, lengths about the steps of the hash."""
    return [_bytes_of(value) for value in values.tolist()]


def as_text(values: np.ndarray[Any, Any]) -> list[str]:
    return [key.decode("latin-1") for key in as_bytes(values)]


def _bytes_of(value: int) -> bytes:
    length = LENGTHS[value % len(LENGTHS)]
    rank = value // len(LENGTHS)
    return (b"\0" * length)[: max(length - 3, 0)] + rank.to_bytes(3, "big") if length else b"\1" * rank


def batches(rng: np.random.Generator, length: int) -> list[tuple[int, int]]:
    """Ways to cut a stream: whole, in ones, or anywhere, with empty pieces."""
    way = rng.integers(4)
    if way == 0:
        return [(0, length)]
    if way == 1 and length <= 60:
        return [(start, start + 1) for start in range(length)]
    cuts = np.sort(rng.integers(0, length + 1, int(rng.integers(0, 12)))).tolist()
    return list(zip([0, 0, *cuts], [0, *cuts, length], strict=True))


def table_of(sketch: Any) -> Any:
    """The arrays behind a sketch that has seen keys."""
    return sketch._table._arrays


def order_in(sketch: Any) -> Any:
    """The order in which a Misra-Gries sketch ranks keys, from the hash itself."""
    table = table_of(sketch)
    key, odd = table.state[layout.KEY], table.state[layout.ODD]

    def order(value: Any) -> Any:
        if isinstance(value, int):
            return int(mix(np.uint64(value % 2**64) ^ key, odd))
        data = value.encode() if isinstance(value, str) else value
        octets = np.frombuffer(data, np.uint8)
        return int(hash_bytes(octets, np.uint64(0), np.uint64(len(octets)), key, odd)), data

    return order


def check_invariants(table: Any) -> None:
    """What every search relies on: no key is beyond an EMPTY place, and the tallies are right."""
    words = table.rows.reshape(-1, 2, 4)[:, 1]
    keys = table.rows.reshape(-1, 2, 4)[:, 0]
    assert (words > layout.GONE).sum() == table.state[layout.USED]
    assert (words == layout.GONE).sum() == table.state[layout.HOLES]
    assert not keys[words <= layout.GONE].any()
    assert not (words[table.passed.astype(bool)] == layout.EMPTY).any()
    for bucket, index in np.argwhere(words > layout.GONE).tolist():
        at = int(home(table, keys[bucket, index]))
        while at != bucket:
            assert table.passed[at]
            at = (at + 1) % len(words)


def home(table: Any, key: Any) -> int:
    hashed = int(mix(key, table.state[layout.ODD])) if table.refs.size == 0 else int(key)
    return ((hashed >> 32) * (table.rows.size >> 3)) >> 32
