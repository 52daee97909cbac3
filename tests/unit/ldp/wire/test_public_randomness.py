"""Public randomness: words of a nonce, hash constants, multiply-shift."""

import itertools
import pickle
from collections import Counter
from hashlib import blake2s

import pytest

from hushcount.ldp.wire.public_randomness import (
    BUCKET,
    CELL,
    SIGN,
    PublicRandomness,
    multiply_shift,
    pick,
    words_of,
)
from hushcount.ldp.wire.versions import DRAWN, ISSUED

SEED = bytes(range(32))


def test_words_are_a_keyed_blake2s_of_nonce_and_group():
    nonce = b"abcdefgh"
    digest = blake2s(nonce + b"\x01", key=SEED).digest()
    words = PublicRandomness(SEED).words(nonce, 1, ISSUED)
    assert words == tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 32, 4))


def test_words_of_version_2_are_two_digests():
    nonce = b"abcdefghijklmnop"
    digests = b"".join(blake2s(nonce + bytes([1, j]), key=SEED).digest() for j in (0, 1))
    words = PublicRandomness(SEED).words(nonce, 1, DRAWN)
    assert words == tuple(int.from_bytes(digests[at : at + 4], "little") for at in range(0, 64, 4))


def test_constants_are_named_by_purpose_group_question_row_and_block():
    public = PublicRandomness(SEED)
    name = b"sign".ljust(16, b"\0") + b"\x01" + b"\x02\x00" + b"\x03\x00\x00\x00"
    octets = blake2s(name + b"\x00", key=SEED).digest() + blake2s(name + b"\x01", key=SEED).digest()
    expected = tuple(int.from_bytes(octets[at : at + 8], "little") for at in range(0, 48, 8))
    assert public.constants(SIGN, (1, 2, 3), 6) == expected
    assert public.constants(SIGN, (1, 2, 3), 2) == expected[:2]


def test_every_name_has_constants_of_its_own():
    public = PublicRandomness(SEED)
    names = itertools.product((CELL, SIGN, BUCKET), itertools.product((0, 1), (0, 1, 65535), (0, 1, 65535)))
    found = [public.constants(purpose, where, 8) for purpose, where in names]
    assert len(set(itertools.chain(*found))) == 8 * len(found)


def test_it_can_be_copied():
    again = pickle.loads(pickle.dumps(PublicRandomness(SEED)))
    assert again.words(bytes(8), 0) == PublicRandomness(SEED).words(bytes(8), 0)


@pytest.mark.parametrize(("width", "words"), [(1, 1), (32, 1), (33, 2), (64, 2), (65, 3), (1024, 32)])
def test_words_of(width, words):
    assert words_of(width) == words


def test_multiply_shift_takes_words_least_significant_first():
    value = 5 << 64 | 3 << 32 | 2
    total = 7 + 11 * 2 + 13 * 3 + (1 << 60) * 5
    assert multiply_shift(value, (7, 11, 13, 1 << 60), 32) == total >> 32
    assert multiply_shift(1, (2**64 - 1, 2**63 + 1), 1) == 1  # modulo 2^64
    assert multiply_shift(1, (2**64 - 1, 1), 32) == 0


def test_two_items_fall_into_every_pair_of_cells_equally_often():
    public = PublicRandomness(SEED)
    for left, right in [(0, 1), (5, 1 << 29), (2**30 - 1, 2**30 - 2)]:
        pairs = Counter(
            tuple(public.hash(CELL, (0, 0, row), value, (30, 2)) for value in (left, right))
            for row in range(6400)
        )
        # Chi-square with 15 degrees of freedom: above 76 at most once in 2e9.
        assert len(pairs) == 16
        assert sum((count - 400) ** 2 / 400 for count in pairs.values()) < 76


@pytest.mark.parametrize(("word", "question"), [(0, 0), (4, 0), (5, 1), (6, 1), (7, 2), (2**32 - 1, 2)])
def test_pick(word, question):
    assert pick(word, (5, 7, 1 << 32)) == question
