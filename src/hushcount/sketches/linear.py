"""Count-Min and CountSketch: counts of any key from sums in cells; deletions, and merging by addition."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.errors import ParameterError
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, RowHash, at_least_half, key_of
from hushcount.shapes import Cells, Public
from hushcount.sketches.base import BUFFER, BufferedSketch, alone
from hushcount.sketches.cells import LinearCells

if TYPE_CHECKING:
    from hushcount.files.container import Contents
    from hushcount.keys.memory import Data

SIDE = 1 / 8
"""The probability that one row of CountSketch errs by more than its bound, on one side."""


class LinearSketch(BufferedSketch):
    """What both have in common: cells that are sums, so that order does not matter and sketches add up."""

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
        self._cells = LinearCells(RowHash(self.kind, depth, width, key_of(seed)), max_weight, partial)

    @property
    @abstractmethod
    def error_bound(self) -> int:
        """How far an estimate lies from the truth at most, except with probability `failure`."""

    @property
    @abstractmethod
    def failure(self) -> float:
        """The probability that one estimate breaks `error_bound`."""

    @property
    def depth(self) -> int:
        """The number of rows."""
        return self._cells.hashing.depth

    @property
    def width(self) -> int:
        """The number of cells in a row."""
        return self._cells.hashing.width

    @property
    def id(self) -> str:  # type: ignore[override]
        """A name of the seed and the size, the same for all sketches that can be merged."""
        return self._cells.hashing.id

    @property
    def total(self) -> int:
        """The sum of all weights."""
        self.flush()
        return self._cells.total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys; None before the first."""
        self.flush()
        return self._cells.key_type

    @alone
    def update(self, keys: Data, weights: npt.ArrayLike | None = None) -> None:
        """Add a batch of keys, or none of them if one cannot be counted.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of one type. Nulls are ignored, but not together with weights. The batch is converted as a
            whole before anything is counted, so an iterable must fit in memory.
        weights : array or iterable of int, optional
            A whole number for each key, 1 by default. Negative weights delete.
        """
        self.flush()
        batch = self._cells.prepared(keys)
        self._cells.add(batch, None if weights is None else self._cells.weights(batch, weights))

    def add(self, key: object, weight: int = 1) -> None:
        """Add one key. Keys of weight 1 are buffered and counted in batches of 4,096.

        Parameters
        ----------
        key : str, int, bytes, date or datetime
            One key, of the same type as the others.
        weight : int
            How much to add to its count; a negative weight deletes.
        """
        if type(key) is not self._buffered or type(weight) is not int or weight != 1:
            self._add_unlike(key, weight)
            return
        self._buffer.append(key)  # as in the class above, without the cost of a call
        if len(self._buffer) >= BUFFER:
            self.flush()

    def _add_unlike(self, key: object, weight: int) -> None:
        """Add a key of another type than the one before, or with a weight, at once."""
        if type(weight) is int and weight == 1:
            self._add_other(key)
        else:
            self.update([key], [weight])

    @alone
    def estimate(self, keys: Data) -> Counts:
        """Return estimates of the counts of keys.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys to look up; none may be null.
        """
        self.flush()
        return self._cells.estimate(keys)

    def merge(self, other: LinearSketch) -> Self:
        """Return the sketch of both streams together: the same as if one had seen them all.

        Parameters
        ----------
        other : CountMin or CountSketch
            A sketch of the same kind, size, max_weight and seed.
        """
        if not isinstance(other, LinearSketch):
            raise ParameterError(f"merge takes a linear sketch, got {type(other).__name__}.")
        return self._of(self._copied().merge(other._copied()))

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(unit=self.unit, shape=Cells)

    @alone
    def shape(self) -> Cells:
        """Return the cells; one event changes `depth` of them."""
        self.flush()
        return replace(self._cells.shape(), unit=self.unit)

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        self.flush()
        return self._cells.contents()

    @classmethod
    def with_hash(cls, hashing: RowHash, max_weight: int | None = None) -> Self:
        """Return an empty sketch that can be added to others with this hash."""
        return cls._of(LinearCells(hashing, max_weight, partial=False))

    @classmethod
    def from_contents(cls, contents: Contents) -> Self:
        """Return the sketch that `contents` described, or raise if it describes none."""
        return cls._of(LinearCells.from_contents(contents))

    @classmethod
    def _of(cls, cells: LinearCells) -> Self:
        sketch = cls.__new__(cls)
        BufferedSketch.__init__(sketch)
        sketch._cells = cells
        return sketch

    @alone
    def _copied(self) -> LinearCells:
        self.flush()
        return self._cells.copied()

    def _count_batch(self, keys: Sequence[object]) -> None:
        self._cells.add(self._cells.prepared(keys))

    def _check_batch(self, keys: Sequence[object]) -> None:
        self._cells.prepared(keys)


class CountMin(LinearSketch):
    """Sums of weights in `depth` rows of `width` cells; the smallest cell of a key is its estimate.

    true <= estimate, and estimate <= true + `error_bound` except with probability `failure` (over the seed,
    for a key chosen without knowing it). Every key must have been added at least as often as deleted.

    Parameters
    ----------
    depth : int
        The number of rows, up to 1,024. More rows make `failure` smaller.
    width : int
        The number of cells in a row, a power of two up to 67,108,864. More cells make `error_bound` smaller.
    seed : int, str or bytes, optional
        Sketches with the same seed can be merged. Without it every sketch has its own, random one.
    max_weight : int, optional
        A public bound on weights, without which a sketch cannot be released.
    partial : bool
        Whether the sketch may delete what other parts of the stream added.

    Examples
    --------
    >>> sketch = CountMin(depth=3, width=64, seed="example")
    >>> sketch.update(["a", "b", "a", "c"], weights=[1, 1, 1, 5])
    >>> sketch.update(["a"], weights=[-1])
    >>> sketch.estimate(["a", "c", "z"]).tolist(), sketch.total
    ([1, 5, 0], 7)
    """

    kind = COUNT_MIN

    @property
    def error_bound(self) -> int:
        """How far an estimate lies above the truth at most, except with probability `failure`."""
        self._cells.check_whole()
        return math.floor(math.e * self.total / self.width)  # by Markov's inequality, 1/e for each row

    @property
    def failure(self) -> float:
        """The probability that one estimate breaks `error_bound`."""
        return math.exp(-self.depth)


class CountSketch(LinearSketch):
    """Signed sums of weights in `depth` rows of `width` cells; the median of a key's cells is its estimate.

    The estimate lies within `error_bound` of the truth except with probability `failure` (over the seed, for
    a key chosen without knowing it).

    Parameters
    ----------
    depth, width, seed, max_weight, partial
        As for `CountMin`.

    Examples
    --------
    >>> sketch = CountSketch(depth=5, width=64, seed="example")
    >>> sketch.update(["a", "b", "a", "c"])
    >>> sketch.estimate(["a", "z"]).tolist()
    [2, 0]
    """

    kind = COUNT_SKETCH

    @property
    def error_bound(self) -> int:
        """How far an estimate lies from the truth at most, except with probability `failure`."""
        self._cells.check_whole()
        return math.floor(self.total / (2 * self.width * SIDE))

    @property
    def failure(self) -> float:
        """The probability that one estimate breaks `error_bound`."""
        return 2 * at_least_half(self.depth, SIDE)
