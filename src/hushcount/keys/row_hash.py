"""The cells of a key in a linear sketch: one in each row, found by a hash, and the count that they tell."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Words
from hushcount.errors import ParameterError
from hushcount.keys.arrays import ByteKeys, Keys
from hushcount.keys.plain import LARGEST_KEY_BYTES, check_lengths
from hushcount.privacy import check_count
from hushcount.secure import fresh_key

if TYPE_CHECKING:
    from hushcount.compiled._kernels.row_hash import RowWords
    from hushcount.keys.memory import Data

COUNT_MIN = "count-min"
COUNT_SKETCH = "count-sketch"
KEYED = "keyed-count-sketch"  # CountSketch whose rows stand in for random functions, and count slower
KINDS = (COUNT_MIN, COUNT_SKETCH)
LARGEST_DEPTH = 1024
LARGEST_WIDTH = 1 << 26
LONGEST_KEY = LARGEST_KEY_BYTES  # the collision bound of the fingerprints is proved up to here
# Beyond it, sums of two cells, or of a cell and the bound of an interval, could exceed 64 bits.
LARGEST_CELL = 1 << 61
NO_WEIGHTS = np.zeros(0, np.int64)
_PRIME = np.uint64((1 << 61) - 1)


@dataclass(frozen=True)
class RowHash:
    """Pairwise independent hashes, one for each row, from one secret or shared key; or SipHash, if keyed.

    Count-Min reads log2(width) bits of a hash as the place of a cell; CountSketch reads one more as a sign.
    """

    kind: str
    depth: int
    width: int
    key: bytes

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, KEYED):
            raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {self.kind}.")
        check_count("depth", self.depth, most=LARGEST_DEPTH)
        width = check_count("width", self.width, least=2)
        if width & (width - 1) or width > LARGEST_WIDTH:
            raise ParameterError(f"width must be a power of two up to {LARGEST_WIDTH}, got {self.width}.")

    @property
    def signed(self) -> bool:
        """Whether cells are sums with signs."""
        return self.kind != COUNT_MIN

    @property
    def id(self) -> str:
        """Identifies the seed and the size: sketches with the same id can be added."""
        return hashlib.blake2b(self._public + self.key, digest_size=16).hexdigest()

    def empty(self) -> Counts:
        """Return the cells of a sketch without events."""
        return np.zeros((self.depth, self.width), np.int64)

    def hashes(self, keys: Keys) -> Words:
        """Return the hash of every key in every row: depth x keys."""
        from hushcount.compiled._kernels import row_hash, siphash

        keyed = self.kind == KEYED
        if isinstance(keys, ByteKeys):
            by_prints = siphash.keyed_prints if keyed else row_hash.hash_prints
            return np.asarray(by_prints(self.rows, self.fingerprints(keys)))
        by_words = siphash.keyed_words if keyed else row_hash.hash_words
        return np.asarray(by_words(self.rows, keys))

    def places(self, hashes: Words) -> Counts:
        """Return the places of the cells of hashes, counted through all rows."""
        columns = (hashes >> np.uint64(self.signed)).astype(np.int64)
        return columns + self.width * np.arange(self.depth, dtype=np.int64)[:, None]

    def estimate(self, values: Counts, hashes: Words) -> Counts:
        """Return counts from the cells of keys: the smallest (Count-Min), or the median (CountSketch)."""
        if not self.signed:
            return np.asarray(values.min(axis=0))
        ordered = np.sort(np.where(hashes & np.uint64(1), -values, values), axis=0)
        return np.asarray((ordered[(self.depth - 1) // 2] + ordered[self.depth // 2]) // 2)

    def fingerprints(self, keys: ByteKeys) -> Words:
        """Return the two fingerprints of every byte string."""
        from hushcount.compiled._kernels import row_hash

        check_lengths(keys, LONGEST_KEY)
        return np.asarray(row_hash.fingerprints(keys.data, keys.offsets, self._points))

    @property
    def _public(self) -> bytes:
        return f"hushcount {self.kind} {self.depth} x {self.width} ".encode()

    @cached_property
    def _words(self) -> Words:
        """Five words for each row, one to mix with, and two points for fingerprints."""
        stream = hashlib.shake_256(self._public + self.key).digest(8 * (5 * self.depth + 3))
        return np.frombuffer(stream, "<u8").astype(np.uint64)

    @cached_property
    def rows(self) -> RowWords:
        """The random words of all rows, as kernels read them."""
        from hushcount.compiled._kernels.row_hash import RowWords

        words = self._words[: 5 * self.depth].reshape(self.depth, 5)
        shift = np.uint64(64 - (self.width.bit_length() - 1) - self.signed)
        return RowWords(words, self._words[-3] | np.uint64(1), shift, self.signed)

    @property
    def _points(self) -> Words:
        return (self._words[-2:] >> np.uint64(3)) % _PRIME


def at_least_half(draws: int, probability: float) -> float:
    """Return the probability that at least half of independent draws hit: P[Bin(draws, p) >= draws / 2].

    The median of so many rows errs only if at least half of them do.

    >>> at_least_half(3, 0.5)
    0.5
    """
    first = (draws + 1) // 2
    terms = (
        math.comb(draws, hits) * probability**hits * (1 - probability) ** (draws - hits)
        for hits in range(first, draws + 1)
    )
    return math.fsum(terms)


def key_of(seed: int | str | bytes | None) -> bytes:
    """Return the hash key of a seed, or without one a fresh key of the system's secure generator."""
    if seed is None:
        return fresh_key() + fresh_key()
    if isinstance(seed, bool) or not isinstance(seed, int | str | bytes):
        raise ParameterError(f"seed must be a whole number, text or bytes, got {seed!r}.")
    text = seed if isinstance(seed, bytes) else f"{type(seed).__name__} {seed}".encode()
    return hashlib.blake2b(text, digest_size=32, person=b"hushcount seed").digest()


def check_weights(weights: Data, largest: int) -> Counts:
    """Return weights as whole numbers within the bound, or raise."""
    try:
        values = np.asarray(weights)
    except ValueError:  # rows of unlike lengths
        values = np.zeros((0, 0))
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise ParameterError("weights must be one row of whole numbers.")
    if values.size and not (-largest <= int(values.min()) and int(values.max()) <= largest):
        raise ParameterError(f"weights must lie between -{largest} and {largest}, the sketch's max_weight.")
    return np.ascontiguousarray(values, np.int64)


@dataclass(frozen=True, eq=False)
class HashedCells:
    """Cells with the hash that says which of them belong to a key; sums of two cells fit in 64 bits."""

    cells: Counts
    hashing: RowHash

    def __post_init__(self) -> None:
        check_cells(self.cells, self.hashing)


def largest_cell(cells: Counts) -> int:
    """Return the largest cell, whatever its sign."""
    return max(int(cells.max(initial=0)), -int(cells.min(initial=0)))


def check_cells(cells: Counts, hashing: RowHash) -> None:
    """Raise unless cells can be those of an oracle, before or after noise is added.

    A release that is only rehearsed has no rows, so that no noise is drawn for it.
    """
    sizes = (hashing.depth, hashing.width), (0, hashing.width)
    if cells.dtype != np.int64 or cells.shape not in sizes or largest_cell(cells) > LARGEST_CELL:
        raise ParameterError(
            "The cells of an oracle must be 64-bit integers from -2^61 to 2^61, depth rows of width cells;"
            " sums of larger ones would not fit in 64 bits."
        )
