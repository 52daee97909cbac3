"""What Count-Min and CountSketch have in common: sums of weights in cells at hashed places."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.files.container import Contents, type_from_text, type_to_text
from hushcount.keys.arrays import ByteKeys, Keys, to_kernel
from hushcount.keys.memory import Data
from hushcount.keys.row_hash import LONGEST_KEY, NO_WEIGHTS, RowHash, check_weights, key_of
from hushcount.privacy import check_count
from hushcount.shapes import Cells, Public
from hushcount.sketches.base import BUFFER, BufferedSketch, alone
from hushcount.sketches.coded.batch import PreparedKeys
from hushcount.sketches.held import array_of, need
from hushcount.sketches.several import several
from hushcount.sketches.table import looked_up

Update = Callable[..., None]  # a kernel: cells, rows, keys, weights
LARGEST_WEIGHT = (1 << 31) - 1
# Two cells of this size can be added without running over 64 bits.
LARGEST_CELL = (1 << 62) - 1


class LinearSketch(BufferedSketch[PreparedKeys]):
    """Cells that are sums of weights: order does not matter, sketches add up, deletions leave no trace."""

    kind: ClassVar[str]

    def __init__(
        self,
        depth: int = 5,
        width: int = 4096,
        *,
        seed: int | str | bytes | None = None,
        max_weight: int | None = None,
        partial: bool = False,
    ) -> None:
        super().__init__()
        self._open(RowHash(self.kind, depth, width, key_of(seed)), max_weight, partial)

    def _open(self, hashing: RowHash, max_weight: int | None, partial: bool) -> None:
        """Begin with empty cells."""
        if not isinstance(partial, bool):
            raise ParameterError(f"partial must be True or False, got {partial!r}.")
        if max_weight is not None:
            max_weight = check_count("max_weight", max_weight, most=LARGEST_WEIGHT)
        self.hashing, self.partial, self.max_weight = hashing, partial, max_weight
        self.cells = hashing.empty()

    @classmethod
    def with_hash(cls, hashing: RowHash, max_weight: int | None = None, partial: bool = False) -> Self:
        """Return an empty sketch that can be added to others with this hash."""
        sketch = cls.__new__(cls)
        BufferedSketch.__init__(sketch)
        sketch._open(hashing, max_weight, partial)
        return sketch

    @property
    @abstractmethod
    def failure(self) -> float:
        """The probability that one estimate breaks `error_bound`."""

    @property
    def depth(self) -> int:
        """The number of rows."""
        return self.hashing.depth

    @property
    def width(self) -> int:
        """The number of cells in a row."""
        return self.hashing.width

    @property
    def id(self) -> str:  # type: ignore[override]
        """A name of the seed and the size, the same for all sketches that can be merged."""
        return self.hashing.id

    @alone
    def update(
        self, keys: Data, weights: npt.ArrayLike | None = None, *, times: npt.ArrayLike | None = None
    ) -> None:
        """Add a batch of keys, or none of them if one cannot be counted.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of one type. Nulls are ignored, but not together with weights. The batch is converted as a
            whole before anything is counted, so an iterable must fit in memory.
        weights : array or iterable of int, optional
            A whole number for each key, 1 by default. Negative weights delete.
        times : array or iterable of int, optional
            How many events of weight 1 each key stands for, in place of weights.
        """
        self.flush()
        if times is not None:
            if weights is not None:
                raise ParameterError("Give weights or times, not both.")
            some, numbers = several(keys, times, abs(self._total))
            self.count(self.prepared(some), numbers.astype(np.int64))
            return
        batch = self.prepared(keys)
        self.count(batch, None if weights is None else self.weights(batch, weights))

    def add(self, key: object, weight: int = 1) -> None:
        """Add one key. Keys of weight 1 are buffered and counted in batches of 4,096.

        `key` is text, a whole number, bytes, a date or a time, as the others are. `weight` is what is added
        to its count; a negative weight deletes.
        """
        if type(weight) is not int or weight != 1:
            self.update([key], [weight])
            return
        if type(key) is not self._buffered:
            self._add_other(key)
            return
        self._buffer.append(key)  # as in the class above, without the cost of a call
        if len(self._buffer) >= BUFFER:
            self.flush()

    @alone
    def estimate(self, keys: Data) -> Counts:
        """Return estimates of the counts of keys.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys to look up; none may be null.
        """
        self.flush()
        self.check_whole()
        return looked_up(keys, self._key_type, self._estimates)

    def _estimates(self, keys: Keys) -> Counts:
        """Return the estimates of keys that a kernel can read."""
        hashes = self.hashing.hashes(keys)
        return self.hashing.estimate(self.cells.ravel()[self.hashing.places(hashes)], hashes)

    def merge(self, other: LinearSketch) -> Self:
        """Return the sketch of both streams together: the same as if one had seen them all.

        Parameters
        ----------
        other : CountMin or CountSketch
            A sketch of the same kind, size, max_weight and seed.
        """
        if not isinstance(other, LinearSketch):
            raise ParameterError(f"merge takes a linear sketch, got {type(other).__name__}.")
        if (self.hashing, self.max_weight) != (other.hashing, other.max_weight):
            raise ParameterError(
                "merge needs sketches of the same kind, depth, width, max_weight and seed;"
                " give both the same seed."
            )
        both = self.with_hash(self.hashing, self.max_weight, self.partial and other.partial)
        for sketch in (self, other):
            both._take(sketch)
        if both.below_zero():
            raise DataError(
                "the merged sketch would hold fewer than zero events of some key; a part is missing."
            )
        if not both.within_bounds():
            raise DataError("the merged sketch would have cells that do not fit in 64 bits.")
        return both

    def _take(self, other: LinearSketch) -> None:
        """Add the cells of another sketch, as they are at one moment."""
        with other.lock:
            other.flush()
            kind = other.held_type
            known = self._key_type or kind
            if kind is not None and kind != known:
                raise ParameterError(f"merge needs sketches of the same key type, got {known} and {kind}.")
            self._key_type = known
            self.cells = self.cells + other.cells
            self._total += other._total

    def prepared(self, keys: Data) -> PreparedKeys:
        """Return a batch ready to be added, or raise; the cells do not change."""
        return PreparedKeys.of(keys, self._key_type, LONGEST_KEY)

    def weights(self, batch: PreparedKeys, weights: npt.ArrayLike) -> Counts:
        """Return one weight for each key of a batch, or raise."""
        values = check_weights(weights, self.max_weight or LARGEST_WEIGHT)
        if batch.rows != len(values):
            raise ParameterError("weights must have one whole number for each key, and no key may be null.")
        return values

    def count(self, batch: PreparedKeys, weights: Counts | None = None) -> None:
        """Add the weights of a batch, or 1 for each key; a batch that would delete too much is not added."""
        self._apply(batch, weights)
        if weights is not None and len(weights) and int(weights.min()) < 0 and self.below_zero():
            self._apply(batch, -weights)
            raise DataError(
                "weights would delete more events of some key than were added; nothing of this batch was"
                " counted."
            )
        self._key_type = batch.kind

    def check_whole(self) -> None:
        """Raise for a part of a stream, whose deletions may belong to other parts."""
        if self.partial:
            raise NotProvedError("a partial sketch has no counts of its own; merge it into a whole one.")

    def below_zero(self) -> bool:
        """Return whether the cells of a whole stream show more deletions of a key than additions."""
        if self.partial:
            return False
        return self._total < 0 or (not self.hashing.signed and bool((self.cells < 0).any()))

    def within_bounds(self) -> bool:
        """Return whether every cell can be added to another without running over 64 bits."""
        return bool(((self.cells >= -LARGEST_CELL) & (self.cells <= LARGEST_CELL)).all())

    @property
    def held_type(self) -> pa.DataType | None:
        """The type of the keys; cells that are all zero hold no keys, whatever was added and deleted."""
        return self._key_type if self._total or self.cells.any() else None

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(unit=self.unit, shape=Cells)

    @alone
    def shape(self) -> Cells:
        """Return the cells; one event changes `depth` of them, and noise hides whatever they are."""
        self.flush()
        kind = self._key_type or pa.string()
        return Cells(self.cells.copy(), self.hashing, kind, self.max_weight, self.partial, self.unit)

    @alone
    def contents(self) -> Contents:
        """Return what `save` writes: nothing of it remembers updates that have cancelled."""
        self.flush()
        fields = {
            "depth": self.hashing.depth,
            "width": self.hashing.width,
            "key": self.hashing.key.hex(),
            "key_type": type_to_text(self.held_type),
            "total": self._total,
            "max_weight": self.max_weight,
            "partial": self.partial,
        }
        return Contents(self.hashing.kind, fields, {"cells": self.cells.ravel()})

    @classmethod
    def from_contents(cls, contents: Contents) -> Self:
        """Return the sketch that `contents` described, or raise if it describes none."""
        fields = contents.fields
        hashing = RowHash(contents.kind, fields["depth"], fields["width"], bytes.fromhex(fields["key"]))
        cells = array_of(contents.arrays, "cells", np.int64)
        need("cells", len(cells) == hashing.depth * hashing.width and len(hashing.key) == 32)
        sketch = cls.with_hash(hashing, fields["max_weight"], fields["partial"])
        sketch.cells = cells.reshape(hashing.depth, hashing.width)
        sketch._key_type = type_from_text(fields["key_type"])
        sketch._total = fields["total"]
        sketch._check_read()
        return sketch

    def _check_read(self) -> None:
        """Raise unless what was read is what such cells can be."""
        need("total", type(self._total) is int and self.within_bounds())
        if not self.hashing.signed:
            high, low = (self.cells >> 32).sum(axis=1), (self.cells & 0xFFFFFFFF).sum(axis=1)
            sums = ((int(top) << 32) + int(rest) for top, rest in zip(high, low, strict=True))
            need("total", all(row == self._total for row in sums))
        need("type", (self._key_type is None) != bool(self._total or self.cells.any()))
        need("cells", not self.below_zero())
        if self._key_type is not None:
            to_kernel(pa.array([], self._key_type), self._key_type)

    def _updates(self) -> tuple[Update, Update]:
        """Return the kernels that add words, and fingerprints."""
        from hushcount.sketches._kernels import linear

        return linear.update_words, linear.update_prints

    def _apply(self, batch: PreparedKeys, weights: Counts | None) -> None:
        """Add weights to the cells of keys, whatever comes of it."""
        update_words, update_prints = self._updates()
        done = 0
        for some in batch.batches:
            own = NO_WEIGHTS if weights is None else weights[done : done + len(some)]
            if isinstance(some, ByteKeys):
                update_prints(self.cells, self.hashing.rows, self.hashing.fingerprints(some), own)
            else:
                update_words(self.cells, self.hashing.rows, some, own)
            done += len(some)
        self._total += done if weights is None else int(weights.sum())
