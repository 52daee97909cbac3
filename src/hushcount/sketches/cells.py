"""What Count-Min and CountSketch share: keys with weights in, cells behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.errors import DataError, HushcountError, NotProvedError, ParameterError
from hushcount.keys.arrays import Keys, held_as, to_kernel
from hushcount.keys.memory import asked_arrays, key_arrays
from hushcount.keys.row_hash import RowHash, check_weights
from hushcount.privacy import check_count
from hushcount.shapes import Cells
from hushcount.sketches import codec

Counts = npt.NDArray[np.int64]

BUFFER = 4096
LARGEST_WEIGHT = (1 << 31) - 1
BELOW_ZERO = (
    "weights would delete more events of some key than were added; nothing of this batch was counted."
)


class LinearCells:
    """Cells that are sums of weights, so order does not matter and what is deleted leaves no trace."""

    def __init__(self, hashing: RowHash, max_weight: int | None, partial: bool) -> None:
        self.hashing = hashing
        self.max_weight = max_weight if max_weight is None else _weight(max_weight)
        if not isinstance(partial, bool):
            raise ParameterError(f"partial must be True or False, got {partial!r}.")
        self.partial = partial
        self.cells = hashing.empty()
        self.total = 0
        self.key_type: pa.DataType | None = None
        self._buffer: list[Any] = []

    def update(self, keys: Any, weights: Any = None) -> None:
        """Add the weights of a batch of keys; a batch that cannot be counted whole is not counted."""
        self.flush()
        arrays = list(key_arrays(keys))
        kind = self._kind(arrays)
        batch = [to_kernel(array, kind) for array in arrays if len(array)]
        for part in batch:
            self.hashing.check(part)
        if weights is None:
            for part in batch:
                self.hashing.update(self.cells, part)
                self.total += len(part)
        else:
            self._add(batch, check_weights(weights, self.max_weight or LARGEST_WEIGHT))
        self.key_type = kind

    def add(self, key: Any, weight: int = 1) -> None:
        """Add one key; a few thousand of weight 1 wait together."""
        if weight != 1 or isinstance(weight, bool):
            self.update([key], [weight])
            return
        self._buffer.append(key)
        if len(self._buffer) >= BUFFER:
            self.flush()

    def flush(self) -> None:
        """Add the keys that wait."""
        waiting, self._buffer = self._buffer, []
        if not waiting:
            return
        try:
            self.update(waiting)
        except HushcountError:
            self._one_by_one(waiting)

    def estimate(self, keys: Any) -> Counts:
        """Counts of keys."""
        self.flush()
        self.whole()
        arrays = [array for array in asked_arrays(keys) if len(array)]
        if self.key_type is None:
            return np.zeros(sum(map(len, arrays)), np.int64)
        found = [self.estimate_kernel(to_kernel(array, self.key_type)) for array in arrays]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def estimate_kernel(self, keys: Keys) -> Counts:
        """Counts of keys as a kernel reads them."""
        hashes = self.hashing.hashes(keys)
        return self.hashing.estimate(self.cells.ravel()[self.hashing.places(hashes)], hashes)

    def whole(self) -> None:
        """Raise for a part of a stream, whose deletions may belong to other parts."""
        if self.partial:
            raise NotProvedError("a partial sketch has no counts of its own; merge it into a whole one.")

    def merge(self, other: LinearCells) -> LinearCells:
        """The cells of both streams together."""
        self.flush()
        other.flush()
        if (self.hashing, self.max_weight) != (other.hashing, other.max_weight):
            raise ParameterError(
                "merge needs sketches of the same kind, depth, width, max_weight and seed;"
                " give both the same seed."
            )
        both = LinearCells(self.hashing, self.max_weight, self.partial and other.partial)
        both.key_type = _same_type(self.held, other.held)
        both.cells = self.cells + other.cells
        both.total = self.total + other.total
        if both.below_zero():
            raise DataError(
                "the merged sketch would hold fewer than zero events of some key; a part is missing."
            )
        return both

    def below_zero(self) -> bool:
        """Whether the cells of a whole stream show that a key was deleted more often than it was added."""
        if self.partial:
            return False
        return self.total < 0 or (not self.hashing.signed and bool((self.cells < 0).any()))

    @property
    def held(self) -> pa.DataType | None:
        """The type of the keys; cells that are all zero hold no keys, whatever was added and deleted."""
        return self.key_type if self.total or self.cells.any() else None

    def shape(self) -> Cells:
        """The cells as a mechanism takes them; noise hides whatever they are, below zero too."""
        self.flush()
        return Cells(self.cells, self.hashing, self.key_type or pa.string(), self.max_weight, self.partial)

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written: nothing of it remembers updates that have cancelled."""
        self.flush()
        fields = {
            "depth": self.hashing.depth,
            "width": self.hashing.width,
            "key": self.hashing.key.hex(),
            "key_type": codec.type_to_text(self.held),
            "total": self.total,
            "max_weight": self.max_weight,
            "partial": self.partial,
        }
        return self.hashing.kind, fields, {"cells": self.cells.ravel()}

    @classmethod
    def from_parts(cls, kind: str, fields: Mapping[str, Any], arrays: codec.Arrays) -> LinearCells:
        """The cells of which this was written."""
        hashing = RowHash(kind, fields["depth"], fields["width"], bytes.fromhex(fields["key"]))
        linear = cls(hashing, fields["max_weight"], fields["partial"])
        linear.cells = arrays["cells"].reshape(hashing.depth, hashing.width)
        linear.key_type = codec.type_from_text(fields["key_type"])
        linear.total = fields["total"]
        linear._check_read()
        return linear

    def _check_read(self) -> None:
        """Raise unless what was read is what such cells can be."""
        if self.cells.dtype != np.int64 or type(self.total) is not int or len(self.hashing.key) != 32:
            raise ValueError("cells")
        if not self.hashing.signed and bool((self.cells.sum(axis=1) != self.total).any()):
            raise ValueError("total")
        if (self.key_type is None) == bool(self.total or self.cells.any()) or self.below_zero():
            raise ValueError("key type")
        if self.key_type is not None:
            to_kernel(pa.array([], self.key_type), self.key_type)

    def _one_by_one(self, waiting: list[Any]) -> None:
        """Add the keys that can be, so that one that cannot does not take those beside it along."""
        refused: HushcountError | None = None
        for key in waiting:
            try:
                self.update([key])
            except HushcountError as error:
                refused = error
        if refused is not None:
            raise refused

    def _kind(self, arrays: list[pa.Array]) -> pa.DataType | None:
        if self.key_type is not None:
            return self.key_type
        return next((held_as(array.type) for array in arrays if len(array)), None)

    def _add(self, batch: list[Keys], weights: Counts) -> None:
        if sum(map(len, batch)) != len(weights):
            raise ParameterError("weights must have one whole number for each key, and no key may be null.")
        self._apply(batch, weights)
        if len(weights) and int(weights.min()) < 0 and self.below_zero():
            self._apply(batch, -weights)
            raise DataError(BELOW_ZERO)

    def _apply(self, batch: list[Keys], weights: Counts) -> None:
        done = 0
        for part in batch:
            self.hashing.update(self.cells, part, weights[done : done + len(part)])
            done += len(part)
        self.total += int(weights.sum())


def _weight(max_weight: int) -> int:
    if check_count("max_weight", max_weight) > LARGEST_WEIGHT:
        raise ParameterError(f"max_weight must be at most {LARGEST_WEIGHT}, got {max_weight}.")
    return int(max_weight)


def _same_type(left: pa.DataType | None, right: pa.DataType | None) -> pa.DataType | None:
    if left is not None and right is not None and left != right:
        raise ParameterError(f"merge needs sketches of the same key type, got {left} and {right}.")
    return left if left is not None else right
