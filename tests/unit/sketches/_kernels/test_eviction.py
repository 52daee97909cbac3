"""The order in which Misra-Gries evicts keys is that of their hashes, however these are spread."""

import numpy as np
import pytest

from hushcount.sketches._kernels.eviction import CROWDED, hash_order


@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 1000, 4096, 50_000])
def test_hashes_that_are_spread_evenly(size):
    hashes = np.random.default_rng(size).integers(0, 2**64, size, dtype=np.uint64)
    np.testing.assert_array_equal(hash_order(hashes), np.argsort(hashes, kind="stable"))


@pytest.mark.parametrize("low_bits", [0, 1, 3, 40])
def test_crowded_hashes(low_bits):
    """Hashes of a forged file may all lie in one bucket."""
    hashes = np.random.default_rng(low_bits).integers(0, 2**low_bits, 20 * CROWDED, dtype=np.uint64)
    order = hash_order(hashes)
    np.testing.assert_array_equal(hashes[order], np.sort(hashes))
    np.testing.assert_array_equal(np.sort(order), np.arange(hashes.size))


def test_equal_hashes_in_one_bucket():
    hashes = np.array([7, 1 << 63, 7, 0, 1 << 63], dtype=np.uint64)
    np.testing.assert_array_equal(hash_order(hashes), [3, 0, 2, 1, 4])
