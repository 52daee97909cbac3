"""The cells of Count-Min and CountSketch: sums of weights at hashed places."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.files.container import Contents, type_from_text, type_to_text
from hushcount.keys.arrays import ByteKeys, Keys, held_as, to_kernel
from hushcount.keys.memory import Data, asked_arrays, key_arrays
from hushcount.keys.row_hash import LONGEST_KEY, NO_WEIGHTS, RowHash, check_weights
from hushcount.privacy import check_count
from hushcount.shapes import Cells
from hushcount.sketches.held import array_of, need
from hushcount.sketches.table import PreparedKeys, check_lengths

LARGEST_WEIGHT = (1 << 31) - 1
# Two cells of this size can be added without running over 64 bits.
LARGEST_CELL = (1 << 62) - 1
BELOW_ZERO = (
    "weights would delete more events of some key than were added; nothing of this batch was counted."
)


class LinearCells:
    """Cells that are sums of weights, so order does not matter and what is deleted leaves no trace."""

    def __init__(
        self, hashing: RowHash, max_weight: int | None, partial: bool, cells: Counts | None = None
    ) -> None:
        self.hashing = hashing
        self.max_weight = max_weight if max_weight is None else _weight(max_weight)
        if not isinstance(partial, bool):
            raise ParameterError(f"partial must be True or False, got {partial!r}.")
        self.partial = partial
        self.cells = hashing.empty() if cells is None else cells
        self.total = 0
        self.key_type: pa.DataType | None = None

    def prepared(self, keys: Data) -> PreparedKeys:
        """Return a batch ready to be added, or raise; the cells do not change."""
        arrays = [array for array in key_arrays(keys) if len(array)]
        kind = self.key_type or (held_as(arrays[0].type) if arrays else None)
        batch = PreparedKeys(kind, [to_kernel(array, kind) for array in arrays])
        for some in batch.batches:
            check_lengths(some, LONGEST_KEY)
        return batch

    def weights(self, batch: PreparedKeys, weights: npt.ArrayLike) -> Counts:
        """Return one weight for each key of a batch, or raise."""
        values = check_weights(weights, self.max_weight or LARGEST_WEIGHT)
        if batch.rows != len(values):
            raise ParameterError("weights must have one whole number for each key, and no key may be null.")
        return values

    def add(self, batch: PreparedKeys, weights: Counts | None = None) -> None:
        """Add the weights of a batch, or 1 for each key; a batch that would delete too much is not added."""
        self._apply(batch, weights)
        if weights is not None and len(weights) and int(weights.min()) < 0 and self.below_zero():
            self._apply(batch, -weights)
            raise DataError(BELOW_ZERO)
        self.key_type = batch.kind

    def estimate(self, keys: Data) -> Counts:
        """Return the counts of keys."""
        self.check_whole()
        arrays = [array for array in asked_arrays(keys) if len(array)]
        if self.key_type is None:
            return np.zeros(sum(map(len, arrays)), np.int64)
        found = [self._estimates(to_kernel(array, self.key_type)) for array in arrays]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def _estimates(self, keys: Keys) -> Counts:
        hashes = self.hashing.hashes(keys)
        return self.hashing.estimate(self.cells.ravel()[self.hashing.places(hashes)], hashes)

    def check_whole(self) -> None:
        """Raise for a part of a stream, whose deletions may belong to other parts."""
        if self.partial:
            raise NotProvedError("a partial sketch has no counts of its own; merge it into a whole one.")

    def merge(self, other: LinearCells) -> LinearCells:
        """Return the cells of both streams together."""
        if (self.hashing, self.max_weight) != (other.hashing, other.max_weight):
            raise ParameterError(
                "merge needs sketches of the same kind, depth, width, max_weight and seed;"
                " give both the same seed."
            )
        kind = _same_type(self.held_type, other.held_type)
        both = LinearCells(
            self.hashing, self.max_weight, self.partial and other.partial, self.cells + other.cells
        )
        both.key_type = kind
        both.total = self.total + other.total
        if both.below_zero():
            raise DataError(
                "the merged sketch would hold fewer than zero events of some key; a part is missing."
            )
        if not both.within_bounds():
            raise DataError("the merged sketch would have cells that do not fit in 64 bits.")
        return both

    def below_zero(self) -> bool:
        """Return whether the cells of a whole stream show more deletions of a key than additions."""
        if self.partial:
            return False
        return self.total < 0 or (not self.hashing.signed and bool((self.cells < 0).any()))

    def within_bounds(self) -> bool:
        """Return whether every cell can be added to another without running over 64 bits."""
        return bool(((self.cells >= -LARGEST_CELL) & (self.cells <= LARGEST_CELL)).all())

    @property
    def held_type(self) -> pa.DataType | None:
        """The type of the keys; cells that are all zero hold no keys, whatever was added and deleted."""
        return self.key_type if self.total or self.cells.any() else None

    def copied(self) -> LinearCells:
        """Return a copy that later updates do not change."""
        copy = LinearCells(self.hashing, self.max_weight, self.partial, self.cells.copy())
        copy.total, copy.key_type = self.total, self.key_type
        return copy

    def shape(self) -> Cells:
        """Return the cells as a mechanism takes them; noise hides whatever they are, below zero too."""
        return Cells(
            self.cells.copy(), self.hashing, self.key_type or pa.string(), self.max_weight, self.partial
        )

    def contents(self) -> Contents:
        """Return what is written: nothing of it remembers updates that have cancelled."""
        fields = {
            "depth": self.hashing.depth,
            "width": self.hashing.width,
            "key": self.hashing.key.hex(),
            "key_type": type_to_text(self.held_type),
            "total": self.total,
            "max_weight": self.max_weight,
            "partial": self.partial,
        }
        return Contents(self.hashing.kind, fields, {"cells": self.cells.ravel()})

    @classmethod
    def from_contents(cls, contents: Contents) -> LinearCells:
        """Return the cells that `contents` described, or raise if it describes none."""
        fields = contents.fields
        hashing = RowHash(contents.kind, fields["depth"], fields["width"], bytes.fromhex(fields["key"]))
        cells = array_of(contents.arrays, "cells", np.int64)
        need("cells", len(cells) == hashing.depth * hashing.width and len(hashing.key) == 32)
        shaped = cells.reshape(hashing.depth, hashing.width)
        linear = cls(hashing, fields["max_weight"], fields["partial"], shaped)
        linear.key_type = type_from_text(fields["key_type"])
        linear.total = fields["total"]
        linear._check_read()
        return linear

    def _check_read(self) -> None:
        """Raise unless what was read is what such cells can be."""
        need("total", type(self.total) is int and self.within_bounds())
        if not self.hashing.signed:
            high, low = (self.cells >> 32).sum(axis=1), (self.cells & 0xFFFFFFFF).sum(axis=1)
            sums = ((int(top) << 32) + int(rest) for top, rest in zip(high, low, strict=True))
            need("total", all(row == self.total for row in sums))
        need("type", (self.key_type is None) != bool(self.total or self.cells.any()))
        need("cells", not self.below_zero())
        if self.key_type is not None:
            to_kernel(pa.array([], self.key_type), self.key_type)

    def _apply(self, batch: PreparedKeys, weights: Counts | None) -> None:
        """Add weights to the cells of keys, whatever comes of it."""
        from hushcount.sketches._kernels import linear

        done = 0
        for some in batch.batches:
            own = NO_WEIGHTS if weights is None else weights[done : done + len(some)]
            if isinstance(some, ByteKeys):
                linear.update_prints(self.cells, self.hashing.rows, self.hashing.fingerprints(some), own)
            else:
                linear.update_words(self.cells, self.hashing.rows, some, own)
            done += len(some)
        self.total += done if weights is None else int(weights.sum())


def _weight(max_weight: int) -> int:
    if check_count("max_weight", max_weight) > LARGEST_WEIGHT:
        raise ParameterError(f"max_weight must be at most {LARGEST_WEIGHT}, got {max_weight}.")
    return int(max_weight)


def _same_type(left: pa.DataType | None, right: pa.DataType | None) -> pa.DataType | None:
    if left is not None and right is not None and left != right:
        raise ParameterError(f"merge needs sketches of the same key type, got {left} and {right}.")
    return left if left is not None else right
