"""Hashes of users and keys are keyed, and the first rows of each user are those of the definition."""

import numpy as np
import pytest

from hushcount.sources.duckdb._kernels.pairs import (
    first_rows,
    hashes_of_bytes,
    hashes_of_pairs,
    hashes_of_words,
    parts_of,
)

A, B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def words(*values):
    return np.array(values, np.uint64)


def bytes_hashed(strings, key=A, odd=B):
    data = np.frombuffer(b"".join(strings), np.uint8)
    offsets = np.cumsum([0, *map(len, strings)]).astype(np.uint32)
    return hashes_of_bytes(data, offsets, key, odd).tolist()


def test_equal_strings_have_equal_hashes_and_others_others():
    strings = [b"", b"\x00", b"\x00\x00", b"ab", b"ba", b"ab", b"x" * 7, b"x" * 8, b"x" * 33, b"x" * 34]
    hashes = bytes_hashed(strings)
    assert len(set(hashes)) == len(set(strings))
    assert hashes[3] == hashes[5]
    assert not set(hashes) & set(bytes_hashed(strings, key=B, odd=A))


def test_a_pair_is_not_the_pair_the_other_way_round():
    one, two = hashes_of_words(words(1, 2), A), hashes_of_words(words(2, 1), A)
    first, second = hashes_of_pairs(one, two, A, B).tolist()
    assert first != second


@pytest.mark.parametrize("parts", [1, 3, 128])
def test_users_are_spread_evenly_over_parts(parts):
    """Consecutive numbers, which are the usual users; 6.2 standard deviations."""
    users = 100_000
    found = np.bincount(parts_of(hashes_of_words(np.arange(users, dtype=np.uint64), A), parts))
    assert len(found) == parts
    assert np.abs(found - users / parts).max() <= 6.2 * np.sqrt(users / parts)


def rows_of(codes, hashes, largest):
    codes, hashes = np.array(codes, np.int32), words(*hashes)
    found = first_rows(np.arange(len(codes)), codes, hashes, largest)
    return [each.tolist() for each in found[:4]], found[4]


def test_first_rows_of_each_user_and_those_that_repeat_one():
    """User 0 has hashes 1, 1, 5 and 9, 9; with two places the rows of 9 need no comparison."""
    rows, in_order = rows_of([0, 0, 0, 0, 0, 2, 2], [1, 1, 5, 9, 9, 0, 0], 2)
    assert rows == [[0, 2, 5], [1, 2, 1], [1, 6], [0, 5]]
    assert in_order


@pytest.mark.parametrize(("codes", "hashes"), [([1, 0], [1, 1]), ([0, 0], [2, 1])])
def test_rows_out_of_order_are_noticed(codes, hashes):
    assert rows_of(codes, hashes, 2) == ([[], [], [], []], False)
