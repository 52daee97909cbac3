"""Count-Min and CountSketch: counts of any key from sums in cells; deletions, and merging by addition."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hushcount.keys.arrays import to_kernel
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, RowHash, at_least_half
from hushcount.privacy import USER, PrivacyUnit, check_count
from hushcount.shapes import Public, UserCells
from hushcount.sketches.cells import LinearSketch
from hushcount.sketches.user_misra_gries import UserRows, WaitingRows

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.compiled.arrays import Counts

HASHED_TOGETHER = 1 << 22  # places of users that are looked at together

SIDE = 1 / 8
"""The probability that one row of CountSketch errs by more than its bound, on one side."""


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
        self.check_whole()
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
        self.check_whole()
        return math.floor(self.total / (2 * self.width * SIDE))

    @property
    def failure(self) -> float:
        """The probability that one estimate breaks `error_bound`."""
        return 2 * at_least_half(self.depth, SIDE)


LINEAR: dict[str, type[LinearSketch]] = {each.kind: each for each in (CountMin, CountSketch)}


class UserCountMin:
    """Numbers of users in the cells of Count-Min, each user once per cell however many keys share it.

    A cell lies between the number of users of a key and what Count-Min would hold. Rows of one user must come
    together; whoever comes after `shape` is taken for another user.

    Parameters
    ----------
    hashing : RowHash
        Which cells belong to a key.
    max_keys : int
        The largest number of different keys of one user, a public number.
    """

    kind = COUNT_MIN

    def __init__(self, hashing: RowHash, max_keys: int) -> None:
        self.hashing = hashing
        self.unit: PrivacyUnit = replace(USER, rows=check_count("max_keys", max_keys))
        self.cells = hashing.empty()
        self.key_type: pa.DataType | None = None
        self._pairs = 0
        self._waiting = WaitingRows()

    @property
    def depth(self) -> int:
        """The number of rows of cells."""
        return self.hashing.depth

    @property
    def total(self) -> int:
        """The number of (user, key) pairs counted."""
        return self._pairs + self._waiting.rows

    def update(self, rows: pa.Array) -> None:
        """Count a batch of structs of `user` and `key`."""
        if len(rows):
            self._waiting.append(self._waiting.checked(rows.field("key"), rows.field("user"), self.key_type))
            self._count(self._waiting.whole_users())

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        moved = self.depth * min(self.unit.rows, self.hashing.width)
        return Public(unit=self.unit, moved=moved, shape=UserCells)

    def shape(self) -> UserCells:
        """Return the cells; one user changes at most min(max_keys, width) of each row, by 1."""
        import pyarrow as pa

        self._count(self._waiting.all_users())
        self._waiting = WaitingRows()
        return UserCells(self.cells.copy(), self.hashing, self.key_type or pa.string(), 1, unit=self.unit)

    def _count(self, rows: UserRows | None) -> None:
        """Count whole users, some at a time."""
        if rows is None:
            return
        starts, first, users = rows.starts, 0, len(rows.starts) - 1
        self.key_type = rows.keys.type
        self._pairs += len(rows.keys)
        while first < users:
            reach = starts[first] + max(HASHED_TOGETHER // self.depth, 1)
            last = max(int(np.searchsorted(starts, reach, side="right")) - 1, first + 1)
            keys = rows.keys[starts[first] : starts[last]]
            owner = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
            self._add(keys, owner)
            first = last

    def _add(self, keys: pa.Array, owner: Counts) -> None:
        """Add 1 to each cell for each user with a key there."""
        places = self.hashing.places(self.hashing.hashes(to_kernel(keys, keys.type)))
        size = self.cells.size
        for row in places:
            once = np.unique(owner * size + row)
            np.add.at(self.cells.reshape(-1), once % size, 1)
