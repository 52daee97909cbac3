"""Blocks of keys into the cells of linear sketches: the same as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hushcount.keys.arrays import ByteKeys
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, RowHash
from hushcount.sketches._kernels import linear as kernels
from hushcount.sketches.coded.batch import PreparedKeys
from hushcount.sketches.linear import LINEAR


@pytest.mark.parametrize("of_bytes", [False, True])
@pytest.mark.parametrize("kind", [COUNT_MIN, COUNT_SKETCH])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_update_as_one_by_one(kind: str, of_bytes: bool, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    hashing = RowHash(kind, 4, 64, b"x" * 32)
    count = 2 * kernels.BLOCK + 17
    words = rng.integers(0, 50, count).astype(np.uint64)
    keys: Any = words
    if of_bytes:
        keys = ByteKeys(words.view(np.uint8), (8 * np.arange(count + 1)).astype(np.uint64))
    weights = rng.integers(-5, 6, count) if weighted else np.ones(count, np.int64)
    expected = hashing.empty()
    for index, column in enumerate(hashing.hashes(keys).T.tolist()):
        for depth, hashed in enumerate(column):
            sign = 1 - 2 * (hashed & 1) if hashing.signed else 1
            expected[depth, hashed >> hashing.signed] += sign * int(weights[index])
    linear = LINEAR[hashing.kind].with_hash(hashing, partial=True)
    linear.count(PreparedKeys(pa.int64(), [keys]), weights if weighted else None)
    assert (linear.cells == expected).all()
