"""A linear sketch with the keys to ask it for: a SpaceSaving sketch of the additions runs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from hushcount.keys.arrays import from_kernel
from hushcount.keys.memory import key_arrays
from hushcount.keys.row_hash import RowHash, check_weights, key_of
from hushcount.shapes import Public, TrackedCells
from hushcount.sketches import codec
from hushcount.sketches.cells import LinearCells
from hushcount.sketches.saved import SavedSketch
from hushcount.sketches.space_saving import SpaceSaving


class TrackedSketch(SavedSketch):
    """Cells for the counts, `counters` counters for the keys.

    Weights are +1 and -1 (and 0). A key whose count exceeds `total` / `counters` is tracked, as deletions
    only lower counts. The hash key is always fresh: the release is proved for random hashes only.

    >>> sketch = TrackedSketch("count-min", counters=8, depth=3, width=64)
    >>> sketch.update(["a", "b", "a"], weights=[1, 1, -1])
    >>> sketch.total
    3
    """

    def __init__(self, kind: str, counters: int, depth: int, width: int) -> None:
        self._keys = SpaceSaving(counters)
        self._cells = LinearCells(RowHash(kind, depth, width, key_of(None)), 1, partial=True)
        self.total = 0

    @property
    def id(self) -> str:
        """A random name of this sketch, kept when it is saved."""
        return self._keys.id

    @property
    def counters(self) -> int:
        """How many keys are tracked at most."""
        return self._keys.counters

    @property
    def size(self) -> tuple[str, int, int]:
        """(kind, depth, width) of the cells, which a release must have planned."""
        hashing = self._cells.hashing
        return hashing.kind, hashing.depth, hashing.width

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys, once there are any."""
        return self._cells.key_type

    @property
    def error_bound(self) -> int:
        """The largest number of additions of a key that is not tracked."""
        return self._keys.error_bound

    def update(self, keys: Any, weights: Any = None) -> None:
        """Add (weight 1) or delete (weight -1) a batch of keys; `total` counts both."""
        if weights is None:
            for array in key_arrays(keys):
                self._cells.update(array)
                self._keys.update(array)
                self.total += len(array)
            return
        arrays = list(key_arrays(keys))
        whole = pa.concat_arrays(arrays) if arrays else pa.array([], pa.string())
        values = check_weights(weights, 1)
        self._cells.update(whole, values)
        self._keys.update(whole.filter(pa.array(values > 0)))
        self.total += int(np.count_nonzero(values))

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(parts=self.counters, unit=self.unit, shape=TrackedCells)

    def shape(self) -> TrackedCells:
        """The cells, and all tracked keys with their hashes."""
        entries = self._keys._keys.entries()
        kind = self._keys.key_type
        cells = replace(self._cells.shape(), unit=self.unit)
        if kind is None or not len(entries):
            none = np.zeros((cells.hashing.depth, 0), np.uint64)
            return TrackedCells(cells, pa.array([], cells.key_type), none, self.counters, self.total)
        hashes = cells.hashing.hashes(entries.keys)
        return TrackedCells(cells, from_kernel(entries.keys, kind), hashes, self.counters, self.total)

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""
        kind, cells, cell_arrays = self._cells.parts()
        _, keys, key_arrays_ = self._keys.parts()
        fields = {"kind": kind, "cells": cells, "keys": keys, "total": self.total}
        return "tracked", fields, {**key_arrays_, **cell_arrays}

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> TrackedSketch:
        """The sketch of which this was written."""
        sketch = cls.__new__(cls)
        cells = {"cells": arrays.pop("cells")}
        sketch._cells = LinearCells.from_parts(fields["kind"], fields["cells"], cells)
        sketch._keys = SpaceSaving.from_parts(fields["keys"], arrays)
        sketch.total = fields["total"]
        sketch._check_read()
        return sketch

    def _check_read(self) -> None:
        """Raise unless additions, deletions and cells fit together."""
        cells, added = self._cells, self._keys.total
        if (cells.max_weight, cells.partial) != (1, True):
            raise ValueError("cells")
        if type(self.total) is not int or self.total < added or cells.total != 2 * added - self.total:
            raise ValueError("total")
        if None not in (cells.key_type, self._keys.key_type) and cells.key_type != self._keys.key_type:
            raise ValueError("key type")
