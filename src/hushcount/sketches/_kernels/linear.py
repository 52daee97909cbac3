"""Updates of linear sketches: every row has one cell for each key, to which the weight is added.

Keys are taken in blocks of 2,048, row after row: the hashes of a block stay in cache, and so does a row of
cells while a block is added to it. Hashing and adding are separate loops, because the compiler can compute
several hashes at once but must add to cells one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.intrinsics import borrow
from hushcount.compiled._kernels.row_hash import hashes_of_prints, hashes_of_words, split
from hushcount.compiled._kernels.siphash import siphash
from hushcount.compiled.kernel import inlined, kernel

_ONE = np.uint64(1)
BLOCK = 2048


@inlined
def add_ones(cells: Any, hashes: Any, count: Any) -> Any:
    """Count a block in a row of Count-Min."""
    for index in range(count):
        cells[hashes[index]] += 1


@inlined
def add_weights(cells: Any, hashes: Any, count: Any, weights: Any, first: Any) -> Any:
    """Add weights of a block to a row of Count-Min."""
    for index in range(count):
        cells[hashes[index]] += weights[first + index]


@inlined
def add_signs(cells: Any, hashes: Any, count: Any) -> Any:
    """Count a block in a row of CountSketch: the last bit of a hash is the sign."""
    for index in range(count):
        hashed = hashes[index]
        cells[hashed >> _ONE] += 1 - 2 * np.int64(hashed & _ONE)


@inlined
def add_signed_weights(cells: Any, hashes: Any, count: Any, weights: Any, first: Any) -> Any:
    """Add weights of a block to a row of CountSketch."""
    for index in range(count):
        hashed = hashes[index]
        weight = weights[first + index]
        cells[hashed >> _ONE] += -weight if hashed & _ONE else weight


@inlined
def add_block(cells: Any, hashes: Any, block: Any, weights: Any, signed: Any) -> Any:
    """Add a block (first, count) to one row; no weights are all ones."""
    first, count = block
    if signed:
        if weights.size:
            add_signed_weights(cells, hashes, count, weights, first)
        else:
            add_signs(cells, hashes, count)
    elif weights.size:
        add_weights(cells, hashes, count, weights, first)
    else:
        add_ones(cells, hashes, count)


@kernel
def update_words(cells: Any, rows: Any, words: Any, weights: Any) -> Any:
    """Add the weights of 64-bit keys to every row."""
    halves, hashes = np.empty((2, BLOCK), np.uint64), np.empty(BLOCK, np.uint64)
    for first in range(0, words.size, BLOCK):
        count = min(BLOCK, words.size - first)
        split(borrow(words), first, count, rows.odd, borrow(halves))
        for depth in range(rows.words.shape[0]):
            hashes_of_words(borrow(halves), count, borrow(rows.words[depth]), rows.shift, borrow(hashes))
            add_block(borrow(cells[depth]), borrow(hashes), (first, count), borrow(weights), rows.signed)


@kernel
def update_prints(cells: Any, rows: Any, words: Any, weights: Any) -> Any:
    """Add the weights of fingerprinted keys to every row."""
    hashes = np.empty(BLOCK, np.uint64)
    for first in range(0, words.shape[1], BLOCK):
        count = min(BLOCK, words.shape[1] - first)
        for depth in range(rows.words.shape[0]):
            row = borrow(rows.words[depth])
            hashes_of_prints(borrow(words), (first, count), row, rows.shift, borrow(hashes))
            add_block(borrow(cells[depth]), borrow(hashes), (first, count), borrow(weights), rows.signed)


@kernel
def update_keyed_words(cells: Any, rows: Any, words: Any, weights: Any) -> Any:
    """Add the weights of 64-bit keys to every row of a keyed CountSketch."""
    hashes = np.empty(BLOCK, np.uint64)
    for first in range(0, words.size, BLOCK):
        count = min(BLOCK, words.size - first)
        for depth in range(rows.words.shape[0]):
            low, high = rows.words[depth, 0], rows.words[depth, 1]
            for index in range(count):
                word = words[first + index]
                hashes[index] = siphash(low, high, word, word, 1) >> rows.shift
            add_block(borrow(cells[depth]), borrow(hashes), (first, count), borrow(weights), rows.signed)


@kernel
def update_keyed_prints(cells: Any, rows: Any, words: Any, weights: Any) -> Any:
    """Add the weights of fingerprinted keys to every row of a keyed CountSketch."""
    hashes = np.empty(BLOCK, np.uint64)
    for first in range(0, words.shape[1], BLOCK):
        count = min(BLOCK, words.shape[1] - first)
        for depth in range(rows.words.shape[0]):
            low, high = rows.words[depth, 0], rows.words[depth, 1]
            for index in range(count):
                one, two = words[0, first + index], words[1, first + index]
                hashes[index] = siphash(low, high, one, two, 2) >> rows.shift
            add_block(borrow(cells[depth]), borrow(hashes), (first, count), borrow(weights), rows.signed)
