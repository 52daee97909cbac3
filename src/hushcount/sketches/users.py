"""Numbers of users by key: in counters (PAMG, Lebeda and Tětek 2023, Algorithm 4), or in cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.errors import DataError, KeyTypeError, ParameterError
from hushcount.files.container import Contents
from hushcount.keys.arrays import changes, from_kernel, held_as, to_kernel
from hushcount.keys.memory import Data, column_array
from hushcount.keys.row_hash import COUNT_MIN, RowHash
from hushcount.privacy import USER, PrivacyUnit, check_count
from hushcount.secure import fresh_key
from hushcount.shapes import Public, UserCells
from hushcount.sketches.base import alone
from hushcount.sketches.counters import check_counters
from hushcount.sketches.held import Held, check_id
from hushcount.sketches.merged import HeldSketch, MergedCounters
from hushcount.sketches.several import check_room

SMALLEST_BATCH = 1 << 16
HASHED_TOGETHER = 1 << 22  # places of users that are looked at together


class UserRows(NamedTuple):
    """Keys, and where the rows of each user begin; the last entry of `starts` is the number of rows."""

    keys: pa.Array
    starts: npt.NDArray[np.int64]


class UserMisraGries(HeldSketch):
    """How many users hold each key; each user's distinct keys count once, and all decrease at most once.

    A key's count is at most its true number of users, and at most `error_bound` below it. Rows of one user
    must come together, in one update or in updates that follow each other (a sketch that is saved and loaded
    takes whoever comes next for another user); the order of users must not depend on the data.

    Parameters
    ----------
    counters : int
        The number of keys that can be tracked, 2 to 4,194,304.

    Examples
    --------
    >>> sketch = UserMisraGries(counters=2)
    >>> sketch.update(["a", "b", "a", "c"], users=[1, 1, 2, 2])
    >>> sketch.estimate(["a", "b", "c"]).tolist(), sketch.error_bound
    ([1, 0, 0], 1)
    """

    unit = USER

    def __init__(self, counters: int = 4096) -> None:
        super().__init__()
        self.counters = check_counters(counters)
        self.id = fresh_key().hex()
        self._held = Held.nothing()
        self._waiting = WaitingRows()
        self._read: Held | None = None

    @alone
    def update(self, keys: Data, users: Data | None = None) -> None:
        """Count a batch of rows, or none of them if one cannot be counted.

        Parameters
        ----------
        keys : array, frame column or iterable
            The key of each row; rows without one (null) are left out. Without `users`, an Arrow array of
            structs with the fields `user` and `key`.
        users : array, frame column or iterable
            The user of each row, text or whole numbers. Equal users that follow each other are one user.
        """
        if users is None:
            keys, users = keys.field("key"), keys.field("user")
        rows = self._waiting.checked(keys, users, self._held.key_type)
        check_room(self._held.total + self._waiting.rows, len(rows.keys))
        self._waiting.append(rows)
        self._read = None
        if self._waiting.rows >= max(SMALLEST_BATCH, self.counters):
            whole = self._waiting.whole_users()
            self._held = self._held if whole is None else _after(self._held, whole, self.counters)

    def as_merged(self) -> MergedCounters:
        """Return the counts as those of a merged sketch."""
        return MergedCounters(self.counters, self.counted(), (self.id,), USER)

    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        held = self.counted()
        fields = {"id": self.id, "counters": self.counters, **held.fields()}
        return Contents("user-misra-gries", fields, held.arrays())

    @classmethod
    def from_contents(cls, contents: Contents) -> UserMisraGries:
        """Return the sketch that `contents` described, or raise if it describes none."""
        sketch = cls(contents.fields["counters"])
        sketch.id = check_id(contents.fields["id"])
        sketch._held = Held.from_contents(contents, sketch.counters)
        return sketch

    @alone
    def counted(self) -> Held:
        """Return the counts with all rows that wait, those of the last user too, who may still go on."""
        rows = self._waiting.all_users()
        if rows is None:
            return self._held
        if self._read is None:
            self._read = _after(self._held, rows, self.counters)
        return self._read


def _after(held: Held, rows: UserRows, counters: int) -> Held:
    """Return the state after users have been counted: keys as dense codes, those tracked before first."""
    from hushcount.sketches._kernels.user_misra_gries import count_users

    before = pa.array([], rows.keys.type) if held.keys is None else held.keys
    coded = pa.concat_arrays([before, rows.keys]).dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64)[len(before) :]
    counts = np.zeros(len(coded.dictionary), np.int64)
    counts[: len(before)] = held.counts
    places = np.zeros(counters, np.int64)
    places[: len(before)] = np.arange(len(before))
    used, floor, pairs = count_users(codes, rows.starts, counts, places, len(before))
    kept = np.sort(places[:used])
    taken = coded.dictionary.take(pa.array(kept))
    return Held(taken, counts[kept] - floor, held.floor + int(floor), held.total + int(pairs))


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


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rows that can be counted: keys in the type of the sketch, whether a user begins, and the last user."""

    keys: pa.Array
    begins: npt.NDArray[np.bool_]
    last: pa.Scalar | None


class WaitingRows:
    """Rows that wait to be counted, because the last user among them may go on in the next batch."""

    def __init__(self) -> None:
        self.rows = 0
        self._keys: list[pa.Array] = []
        self._begins: list[npt.NDArray[np.bool_]] = []
        self._last: pa.Scalar | None = None

    def checked(self, keys: Data, users: Data, kind: pa.DataType | None) -> CheckedRows:
        """Return a batch of rows that can follow those that wait, or raise; nothing changes yet."""
        key_array, user_array = _aligned(keys, users)
        if self._last is not None and self._last.type != user_array.type and len(user_array):
            raise KeyTypeError(f"users must be {self._last.type} as before, got {user_array.type}.")
        held = _in_type(key_array, self._keys[0].type if self._keys else kind)
        begins = changes(user_array, self._last)
        return CheckedRows(held, begins, user_array[-1] if len(begins) else None)

    def append(self, rows: CheckedRows) -> None:
        """Add a batch that `checked` has returned."""
        if rows.last is not None:
            self._keys.append(rows.keys)
            self._begins.append(rows.begins)
            self._last = rows.last
            self.rows += len(rows.keys)

    def whole_users(self) -> UserRows | None:
        """Take out and return all users but the last, who may go on."""
        keys, begins = pa.concat_arrays(self._keys), np.concatenate(self._begins)
        last = int(np.flatnonzero(begins)[-1])
        rest = keys[last:].unique()
        again = np.zeros(len(rest), np.bool_)
        again[0] = True
        self._keys, self._begins, self.rows = [rest], [again], len(rest)
        return UserRows(keys[:last], _starts(begins[:last])) if last else None

    def all_users(self) -> UserRows | None:
        """Return all users; their rows go on waiting."""
        if not self.rows:
            return None
        return UserRows(pa.concat_arrays(self._keys), _starts(np.concatenate(self._begins)))


def _starts(begins: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return where users begin, and the number of rows."""
    return np.append(np.flatnonzero(begins), len(begins)).astype(np.int64)


def _aligned(keys: Data, users: Data) -> tuple[pa.Array, pa.Array]:
    """Return the keys and users of rows whose key is not null."""
    key_array, user_array = column_array("keys", keys), column_array("users", users)
    user_array = user_array.cast(held_as(user_array.type))
    if len(key_array) != len(user_array):
        raise ParameterError(
            f"keys and users must have equal length, got {len(key_array)} and {len(user_array)}."
        )
    if user_array.null_count:
        raise DataError("users must not be null.")
    if key_array.null_count:
        return key_array.drop_null(), user_array.filter(key_array.is_valid())
    return key_array, user_array


def _in_type(keys: pa.Array, kind: pa.DataType | None) -> pa.Array:
    """Return keys in the type in which the sketch keeps them."""
    kind = held_as(keys.type) if kind is None else kind
    return from_kernel(to_kernel(keys, kind), kind) if len(keys) else pa.array([], kind)
