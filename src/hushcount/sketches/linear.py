"""Count-Min and CountSketch: counts of any key from sums in cells; deletions, and merging by addition."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, RowHash, key_of
from hushcount.shapes import Cells, Public
from hushcount.sketches import codec
from hushcount.sketches.cells import LinearCells
from hushcount.sketches.saved import SavedSketch

SIDE = 1 / 8
"""The chance that one row of CountSketch errs by more than its bound, on one side."""


class LinearSketch(SavedSketch):
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
        self._cells = LinearCells(RowHash(self.kind, depth, width, key_of(seed)), max_weight, partial)

    @property
    @abstractmethod
    def error_bound(self) -> int:
        """How far an estimate lies from the truth at most, but for a chance of `failure`."""

    @property
    @abstractmethod
    def failure(self) -> float:
        """The chance that one estimate breaks `error_bound`."""

    @property
    def depth(self) -> int:
        """The number of rows."""
        return self._cells.hashing.depth

    @property
    def width(self) -> int:
        """The number of cells in a row."""
        return self._cells.hashing.width

    @property
    def id(self) -> str:
        """A name of the seed and the size, the same for all sketches that can be merged."""
        return self._cells.hashing.id

    @property
    def total(self) -> int:
        """The sum of all weights."""
        self._cells.flush()
        return self._cells.total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys, once there are any."""
        self._cells.flush()
        return self._cells.key_type

    def update(self, keys: Any, weights: Any = None) -> None:
        """Add a batch of keys: any array, frame column or iterable; negative weights delete."""
        self._cells.update(keys, weights)

    def add(self, key: Any, weight: int = 1) -> None:
        """Add one key."""
        self._cells.add(key, weight)

    def estimate(self, keys: Any) -> npt.NDArray[np.int64]:
        """Estimates of the counts of keys."""
        return self._cells.estimate(keys)

    def merge(self, other: LinearSketch) -> Self:
        """The sketch of both streams together: the same as if one had seen them all."""
        if not isinstance(other, LinearSketch):
            raise ParameterError(f"merge takes a linear sketch, got {type(other).__name__}.")
        return self._of(self._cells.merge(other._cells))

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(unit=self.unit, shape=Cells)

    def shape(self) -> Cells:
        """The cells: one event moves `depth` of them."""
        return replace(self._cells.shape(), unit=self.unit)

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""
        return self._cells.parts()

    @classmethod
    def with_hash(cls, hashing: RowHash, max_weight: int | None = None) -> Self:
        """An empty sketch that can be added to others with this hash."""
        return cls._of(LinearCells(hashing, max_weight, partial=False))

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> Self:
        """The sketch of which this was written."""
        return cls._of(LinearCells.from_parts(cls.kind, fields, arrays))

    @classmethod
    def _of(cls, cells: LinearCells) -> Self:
        sketch = cls.__new__(cls)
        sketch._cells = cells
        return sketch


class CountMin(LinearSketch):
    """Sums of weights in `depth` rows of `width` cells; the least cell of a key is its estimate.

    true <= estimate, and estimate <= true + `error_bound` but for a chance of `failure` (over the seed,
    for a key named without knowledge of it). Every key must have been added at least as often as deleted.
    `seed` makes sketches mergeable; without it every sketch has its own. `max_weight` is a public bound on
    weights, without which a sketch cannot be released. A `partial` sketch may delete what other parts added.

    >>> sketch = CountMin(depth=3, width=64, seed="example")
    >>> sketch.update(["a", "b", "a", "c"], weights=[1, 1, 1, 5])
    >>> sketch.update(["a"], weights=[-1])
    >>> sketch.estimate(["a", "c", "z"]).tolist(), sketch.total
    ([1, 5, 0], 7)
    """

    kind = COUNT_MIN

    @property
    def error_bound(self) -> int:
        """How far an estimate lies above the truth at most, but for a chance of `failure`."""
        self._cells.whole()
        return math.floor(math.e * self.total / self.width)  # by Markov, 1/e a row

    @property
    def failure(self) -> float:
        """The chance that one estimate breaks `error_bound`."""
        return math.exp(-self.depth)


class CountSketch(LinearSketch):
    """Signed sums of weights in `depth` rows of `width` cells; the median of a key's cells is its estimate.

    The estimate lies within `error_bound` of the truth but for a chance of `failure` (over the seed, for a
    key named without knowledge of it). `seed`, `max_weight` and `partial` are as for CountMin.

    >>> sketch = CountSketch(depth=5, width=64, seed="example")
    >>> sketch.update(["a", "b", "a", "c"])
    >>> sketch.estimate(["a", "z"]).tolist()
    [2, 0]
    """

    kind = COUNT_SKETCH

    @property
    def error_bound(self) -> int:
        """How far an estimate lies from the truth at most, but for a chance of `failure`."""
        self._cells.whole()
        return math.floor(self.total / (2 * self.width * SIDE))

    @property
    def failure(self) -> float:
        """The chance that one estimate breaks `error_bound`."""
        return 2 * at_least_half(self.depth, SIDE)


def at_least_half(draws: int, probability: float) -> float:
    """The chance that at least half of independent draws hit: P[Bin(draws, probability) >= draws / 2].

    >>> at_least_half(3, 0.5)
    0.5
    """
    first = (draws + 1) // 2
    terms = (
        math.comb(draws, hits) * probability**hits * (1 - probability) ** (draws - hits)
        for hits in range(first, draws + 1)
    )
    return math.fsum(terms)
