"""A linear sketch with the keys to ask it for: a SpaceSaving sketch of the additions runs beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.files.container import Contents
from hushcount.keys.arrays import from_kernel
from hushcount.keys.memory import Data, key_arrays
from hushcount.keys.row_hash import RowHash, key_of
from hushcount.shapes import Public, TrackedCells
from hushcount.sketches.base import SavedSketch, alone
from hushcount.sketches.held import need
from hushcount.sketches.linear import LINEAR
from hushcount.sketches.space_saving import SpaceSaving


class TrackedSketch(SavedSketch):
    """Cells for the counts, `counters` counters for the keys.

    Weights are +1 and -1 (and 0). A key whose count exceeds `total` / `counters` is tracked, as deletions
    only lower counts. The hash key is always fresh: the release is proved for random hashes only.

    Parameters
    ----------
    kind : "count-min" or "count-sketch"
        Which cells to keep.
    counters : int
        The number of keys that are tracked.
    depth, width : int
        The size of the cells.

    Examples
    --------
    >>> sketch = TrackedSketch("count-min", counters=8, depth=3, width=64)
    >>> sketch.update(["a", "b", "a"], weights=[1, 1, -1])
    >>> sketch.total
    3
    """

    def __init__(self, kind: str, counters: int, depth: int, width: int) -> None:
        super().__init__()
        self._keys = SpaceSaving(counters)
        hashing = RowHash(kind, depth, width, key_of(None))
        self._cells = LINEAR[hashing.kind].with_hash(hashing, 1, partial=True)
        self.id = self._keys.id
        self.total = 0

    @property
    def counters(self) -> int:
        """The number of keys that are tracked."""
        return self._keys.counters

    @property
    def size(self) -> tuple[str, int, int]:
        """(kind, depth, width) of the cells, which a release must have planned."""
        hashing = self._cells.hashing
        return hashing.kind, hashing.depth, hashing.width

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys; None before the first."""
        return self._cells.key_type

    @property
    def error_bound(self) -> int:
        """The largest number of additions of a key that is not tracked."""
        return self._keys.error_bound

    @alone
    def update(self, keys: Data, weights: npt.ArrayLike | None = None) -> None:
        """Add or delete a batch of keys, or none of them if one cannot be counted; `total` counts both.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of one type.
        weights : array or iterable of int, optional
            1 (the default) adds a key, -1 deletes it, 0 does nothing.
        """
        arrays = list(key_arrays(keys)) or [pa.array([], pa.string())]
        whole = pa.concat_arrays(arrays) if len(arrays) > 1 else arrays[0]
        batch = self._cells.prepared(whole)
        values = None if weights is None else self._cells.weights(batch, weights)
        added = self._keys.prepared(whole if values is None else whole.filter(pa.array(values > 0)))
        self._cells.count(batch, values)
        self._keys.count(added)
        self.total += batch.rows if values is None else int(np.count_nonzero(values))

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(parts=self.counters, unit=self.unit, shape=TrackedCells)

    @alone
    def shape(self) -> TrackedCells:
        """Return the cells, and all tracked keys with their hashes."""
        entries = self._keys.entries()
        kind = self._keys.key_type
        cells = replace(self._cells.shape(), unit=self.unit)
        if kind is None or not len(entries):
            none = np.zeros((cells.hashing.depth, 0), np.uint64)
            return TrackedCells(cells, pa.array([], cells.key_type), none, self.counters, self.total)
        hashes = cells.hashing.hashes(entries.keys)
        return TrackedCells(cells, from_kernel(entries.keys, kind), hashes, self.counters, self.total)

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        cells, keys = self._cells.contents(), self._keys.contents()
        fields = {"kind": cells.kind, "cells": cells.fields, "keys": keys.fields, "total": self.total}
        return Contents("tracked", fields, {**keys.arrays, **cells.arrays})

    @classmethod
    def from_contents(cls, contents: Contents) -> TrackedSketch:
        """Return the sketch that `contents` described, or raise if it describes none."""
        fields, arrays = contents.fields, dict(contents.arrays)
        cells = Contents(fields["kind"], fields["cells"], {"cells": arrays.pop("cells")})
        sketch = cls.__new__(cls)
        SavedSketch.__init__(sketch)
        sketch._cells = LINEAR[cells.kind].from_contents(cells)
        sketch._keys = SpaceSaving.from_contents(Contents("space-saving", fields["keys"], arrays))
        sketch.id = sketch._keys.id
        sketch.total = fields["total"]
        sketch._check_read()
        return sketch

    def _check_read(self) -> None:
        """Raise unless additions, deletions and cells agree."""
        cells, added = self._cells, self._keys.total
        need("cells", (cells.max_weight, cells.partial) == (1, True))
        need("total", type(self.total) is int and self.total >= added)
        need("total", cells.total == 2 * added - self.total)
        kinds = {kind for kind in (cells.key_type, self._keys.key_type) if kind is not None}
        need("key type", len(kinds) <= 1)
