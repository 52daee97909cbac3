"""Hashes and fingerprints of linear sketches against slow ones, and their independence by counting."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from hushcount.compiled._kernels import row_hash as kernels
from hushcount.keys.arrays import ByteKeys
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, RowHash

PRIME = (1 << 61) - 1
WORD = (1 << 64) - 1


def slow_fingerprint(data: bytes, point: int) -> int:
    value = len(data) + 1
    for start in range(0, len(data), 7):
        value = (value * point + int.from_bytes(data[start : start + 7], "little")) % PRIME
    return value


def test_products_modulo_a_prime() -> None:
    rng = np.random.default_rng(1)
    numbers = [0, 1, 2, PRIME - 1, 1 << 60, (1 << 32) - 1, 1 << 32, *rng.integers(0, PRIME, 30).tolist()]
    for left, right in product(numbers, repeat=2):
        assert int(kernels.times(np.uint64(left), np.uint64(right))) == left * right % PRIME


def test_fingerprints_are_polynomials() -> None:
    rng = np.random.default_rng(2)
    strings = [b"", b"\0", b"\0\0", *(rng.bytes(length) for length in range(1, 60)), rng.bytes(65535)]
    offsets = np.cumsum([0, *map(len, strings)]).astype(np.uint64)
    points = np.array([5, PRIME - 3], np.uint64)
    found = kernels.fingerprints(np.frombuffer(b"".join(strings), np.uint8), offsets, points)
    expected = [[slow_fingerprint(one, int(point)) for one in strings] for point in points]
    assert found.tolist() == expected
    assert len({tuple(pair) for pair in found.T.tolist()}) == len(strings)


def slow_hash(halves: list[int], row: list[int], shift: int) -> int:
    value = row[4]
    for index in range(0, len(halves), 2):
        value += (row[index] + halves[index]) * (row[index + 1] + halves[index + 1])
    return (value & WORD) >> shift


@pytest.mark.parametrize("kind", [COUNT_MIN, COUNT_SKETCH])
def test_rows_hash_as_defined(kind: str) -> None:
    hashing = RowHash(kind, 3, 1024, b"k" * 32)
    rows = hashing.rows
    words = np.array([0, 1, WORD, 1 << 32, 12345678901234567890], np.uint64)
    found = hashing.hashes(words)
    shift = 64 - 10 - (kind == COUNT_SKETCH)
    for index, word in enumerate(words.tolist()):
        mixed = word * int(rows.odd) & WORD
        mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93 & WORD
        for depth in range(3):
            row = rows.words[depth].tolist()
            assert int(found[depth, index]) == slow_hash([mixed >> 32, mixed & 0xFFFFFFFF], row, shift)
    strings = ByteKeys(np.frombuffer(b"abc", np.uint8), np.array([0, 1, 1, 3], np.uint64))
    prints = hashing.fingerprints(strings).tolist()
    found = hashing.hashes(strings)
    for index in range(3):
        halves = [part for one in prints for part in (one[index] >> 32, one[index] & 0xFFFFFFFF)]
        for depth in range(3):
            assert int(found[depth, index]) == slow_hash(halves, rows.words[depth].tolist(), shift)


def joint_counts(left: int, right: int, half: int, kept: int) -> Any:
    """How often each pair of upper bits occurs, over all a, b, c of a word of twice `half` bits."""
    size = 1 << 2 * half
    a, b, c = np.meshgrid(*[np.arange(size)] * 3, indexing="ij")
    mask = (1 << half) - 1

    def upper(key: int) -> Any:
        return ((a + (key >> half)) * (b + (key & mask)) + c) % size >> (2 * half - kept)

    return np.bincount((upper(left) << kept | upper(right)).ravel(), minlength=1 << 2 * kept)


def test_row_hashes_are_pairwise_independent() -> None:
    """In words of 6 bits and keys of 3 + 3 bits the upper 4 bits are, exactly, and the upper 5 are not."""
    for left, right in [(0, 1), (0, 4), (5, 13), (63, 0), (8, 40), (17, 21)]:
        found = joint_counts(left, right, half=3, kept=4)
        assert (found == found[0]).all()
    assert any(len(set(joint_counts(*pair, half=3, kept=5))) > 1 for pair in [(0, 4), (8, 40)])
