"""Count-Min and CountSketch: counts of any key from sums in cells; deletions, and merging by addition.

A tracked sketch has a SpaceSaving sketch of the additions beside it, for the keys to ask it for.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Words
from hushcount.files.container import Contents
from hushcount.keys.arrays import from_kernel
from hushcount.keys.memory import Data, key_arrays
from hushcount.keys.row_hash import (
    COUNT_MIN,
    COUNT_SKETCH,
    KEYED,
    RowHash,
    at_least_half,
    key_of,
)
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.shapes import Public, TrackedCells
from hushcount.sketches.base import SavedSketch, alone
from hushcount.sketches.cells import LinearSketch, Update
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.held import need
from hushcount.sketches.several import several, whole_sum
from hushcount.sketches.sizes import SizedCells

SIDE = 1 / 8
"""The probability that one row of CountSketch errs by more than its bound, on one side."""


class CountMin(SizedCells):
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
        self.check_whole()
        return math.floor(math.e * self.total / self.width)  # by Markov's inequality, 1/e for each row

    @property
    def failure(self) -> float:
        """The probability that one estimate breaks `error_bound`."""
        return math.exp(-self.depth)


class CountSketch(SizedCells):
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
        self.check_whole()
        return math.floor(self.total / (2 * self.width * SIDE))

    @property
    def failure(self) -> float:
        """The probability that one estimate breaks `error_bound`."""
        return 2 * at_least_half(self.depth, SIDE)


class KeyedCountSketch(CountSketch):
    """CountSketch whose rows are hashed by SipHash with a key each, in place of random functions.

    What its noisy rows show of other keys can then be read off them (mechanisms/linear/measured.py).

    Parameters
    ----------
    depth, width, seed, max_weight, partial
        As for `CountMin`.
    """

    kind = KEYED

    def _updates(self) -> tuple[Update, Update]:
        """Return the kernels that add words, and fingerprints."""
        from hushcount.sketches._kernels import linear

        return linear.update_keyed_words, linear.update_keyed_prints


LINEAR: dict[str, type[LinearSketch]] = {
    each.kind: each for each in (CountMin, CountSketch, KeyedCountSketch)
}


class TrackedSketch(SavedSketch):
    """Cells for the counts, `counters` counters for the keys.

    Weights are at most `max_weight`, negative ones delete. A key whose count exceeds `total` / `counters` is
    tracked, as deletions only lower counts. The hash key is always fresh: the release
    is proved for random hashes only.

    Parameters
    ----------
    kind : "count-min", "count-sketch" or "keyed-count-sketch"
        Which cells to keep.
    counters : int
        The number of keys that are tracked.
    depth, width : int
        The size of the cells.
    max_weight : int
        The most that one event may weigh, a public number.

    Examples
    --------
    >>> sketch = TrackedSketch("count-min", counters=8, depth=3, width=64)
    >>> sketch.update(["a", "b", "a"], weights=[1, 1, -1])
    >>> sketch.total
    3
    """

    def __init__(self, kind: str, counters: int, depth: int, width: int, max_weight: int = 1) -> None:
        super().__init__()
        self._keys = SpaceSaving(counters)
        hashing = RowHash(kind, depth, width, key_of(None))
        self._cells = LINEAR[hashing.kind].with_hash(hashing, max_weight, partial=True)
        self.unit = self._own_unit()
        self.id = self._keys.id
        self._total = 0

    @property
    def counters(self) -> int:
        """The number of keys that are tracked."""
        return self._keys.counters

    def _own_unit(self) -> PrivacyUnit:
        """Return one event, with the most that it may weigh."""
        return replace(EVENT, weight=self._cells.max_weight or 1)

    @property
    def total(self) -> int:
        """The number of additions and deletions, or the sum of their weights without the signs."""
        return self._total

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
    def update(
        self, keys: Data, weights: npt.ArrayLike | None = None, *, times: npt.ArrayLike | None = None
    ) -> None:
        """Add or delete a batch of keys, or none of them if one cannot be counted; `total` adds up both.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of one type.
        weights : array or iterable of int, optional
            1 (the default) adds a key, -1 deletes it, 0 does nothing; others up to the largest weight.
        times : array or iterable of int, optional
            In place of weights: key i stands for times[i] additions.
        """
        if times is not None:
            self._add_several(*several(keys, times, self._keys.total))
            return
        arrays = list(key_arrays(keys)) or [pa.array([], pa.string())]
        whole = pa.concat_arrays(arrays) if len(arrays) > 1 else arrays[0]
        batch = self._cells.prepared(whole)
        values = None if weights is None else self._cells.weights(batch, weights)
        if values is None:
            added = self._keys.prepared(whole)
        else:
            some, times = several(whole, np.maximum(values, 0), self._keys.total)
            added = self._keys.prepared(some)._replace(times=times)
        self._cells.count(batch, values)
        self._keys.count(added)
        self._total += batch.rows if values is None else int(np.abs(values).sum())

    def _add_several(self, keys: pa.Array, times: Words) -> None:
        """Add keys that stand for several events each, of which every one has weight 1."""
        batch = self._cells.prepared(keys)
        added = self._keys.prepared(keys)._replace(times=times)
        self._cells.count(batch, times.astype(np.int64))
        self._keys.count(added)
        self._total += whole_sum(times)

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
        sketch._total = fields["total"]
        sketch.unit = sketch._own_unit()
        sketch._check_read()
        return sketch

    def _check_read(self) -> None:
        """Raise unless additions, deletions and cells agree."""
        cells, added = self._cells, self._keys.total
        need("cells", cells.max_weight is not None and cells.partial)
        need("total", type(self._total) is int and self.total >= added)
        need("total", cells.total == 2 * added - self.total)
        kinds = {kind for kind in (cells.key_type, self._keys.key_type) if kind is not None}
        need("key type", len(kinds) <= 1)
