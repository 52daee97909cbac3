"""SipHash-2-4 against its published vectors and a slow one; rows of a keyed CountSketch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hushcount.compiled._kernels.siphash import siphash
from hushcount.keys.arrays import to_kernel
from hushcount.keys.row_hash import KEYED, RowHash

WORD = (1 << 64) - 1


def slow(key: bytes, data: bytes) -> int:
    """The function as Aumasson and Bernstein 2012 define it, for any bytes."""
    low, high = (int.from_bytes(key[start : start + 8], "little") for start in (0, 8))
    v = [
        low ^ 0x736F6D6570736575,
        high ^ 0x646F72616E646F6D,
        low ^ 0x6C7967656E657261,
        high ^ 0x7465646279746573,
    ]

    def turn(word: int, bits: int) -> int:
        return (word << bits | word >> 64 - bits) & WORD

    def rounds(count: int) -> None:
        for _ in range(count):
            for one, two, left in ((0, 1, 13), (2, 3, 16)):
                v[one] = (v[one] + v[two]) & WORD
                v[two] = turn(v[two], left) ^ v[one]
            v[0] = turn(v[0], 32)
            for one, two, left in ((2, 1, 17), (0, 3, 21)):
                v[one] = (v[one] + v[two]) & WORD
                v[two] = turn(v[two], left) ^ v[one]
            v[2] = turn(v[2], 32)

    whole = len(data) // 8 * 8
    last = data[whole:] + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for start in range(0, whole + 8, 8):
        block = int.from_bytes((data[:whole] + last)[start : start + 8], "little")
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_the_slow_one_has_the_value_of_the_paper() -> None:
    assert slow(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


def test_one_word_and_two() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        low, high, one, two = rng.integers(0, WORD, 4, dtype=np.uint64, endpoint=True)
        key = low.tobytes() + high.tobytes()
        assert int(siphash(low, high, one, one, 1)) == slow(key, one.tobytes())
        assert int(siphash(low, high, one, two, 2)) == slow(key, one.tobytes() + two.tobytes())


def test_rows_of_a_keyed_sketch_hash_as_defined() -> None:
    hashing = RowHash(KEYED, 3, 1024, b"k" * 32)
    words = np.array([0, 1, WORD, 12345678901234567890], np.uint64)
    strings = to_kernel(pa.array(["", "tea", "milk"]), pa.string())
    by_words, by_strings, prints = (
        hashing.hashes(words),
        hashing.hashes(strings),
        hashing.fingerprints(strings),
    )
    for depth, row in enumerate(hashing.rows.words):
        key = row[:2].tobytes()
        assert by_words[depth].tolist() == [slow(key, word.tobytes()) >> 53 for word in words]
        pairs = [slow(key, pair.tobytes()) >> 53 for pair in np.ascontiguousarray(prints.T)]
        assert by_strings[depth].tolist() == pairs
    assert hashing.signed
    assert hashing.places(by_words).max() < 3 * 1024
