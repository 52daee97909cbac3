"""The order in which Misra-Gries evicts keys is that of their hashes, however these are spread."""

import numpy as np
import pytest

from hushcount.sketches._kernels.arrays import scratch_size
from hushcount.sketches._kernels.eviction import CROWDED, by_hash, digit_order, split


def order_of(hashes):
    """Return the order by numbering the places, after checking the hashes that come with them."""
    scratch = np.full(scratch_size(hashes.size), 7, np.uint32)
    split(scratch, hashes.size)[0][:] = hashes
    found, order = by_hash(np.arange(hashes.size, dtype=np.uint32), scratch)
    np.testing.assert_array_equal(found, np.sort(hashes))
    return order


@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 1000, 4096, 50_000])
def test_hashes_that_are_spread_evenly(size):
    hashes = np.random.default_rng(size).integers(0, 2**64, size, dtype=np.uint64)
    np.testing.assert_array_equal(order_of(hashes), np.argsort(hashes, kind="stable"))


@pytest.mark.parametrize("low_bits", [0, 1, 3, 40])
def test_crowded_hashes(low_bits):
    """Hashes of a forged file may all lie in one bucket."""
    hashes = np.random.default_rng(low_bits).integers(0, 2**low_bits, 20 * CROWDED, dtype=np.uint64)
    np.testing.assert_array_equal(order_of(hashes), np.argsort(hashes, kind="stable"))


@pytest.mark.parametrize("size", [0, 1, 2, 1000, 50_000])
@pytest.mark.parametrize("bits", [1, 12, 64])
def test_digits_sort_any_words(size, bits):
    words = np.random.default_rng(size).integers(0, 2**bits, size, dtype=np.uint64)
    np.testing.assert_array_equal(digit_order(words), np.argsort(words, kind="stable"))


def test_equal_hashes_in_one_bucket():
    hashes = np.array([7, 1 << 63, 7, 0, 1 << 63], dtype=np.uint64)
    np.testing.assert_array_equal(order_of(hashes), [3, 0, 2, 1, 4])
