"""UserMisraGries: the keys that most users hold, in a fixed number of counters (PAMG, Lebeda and Tětek
2023, Algorithm 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, KeyTypeError, ParameterError
from hushcount.keys.arrays import from_kernel, held_as, to_kernel
from hushcount.keys.memory import key_arrays
from hushcount.privacy import USER
from hushcount.secure import fresh_key
from hushcount.shapes import ManyKeys, Public
from hushcount.sketches import codec
from hushcount.sketches.held import Counts, Held, check_id
from hushcount.sketches.saved import SavedSketch
from hushcount.sketches.space_saving import check_counters
from hushcount.sketches.table import LARGEST_TOTAL

if TYPE_CHECKING:
    from hushcount.sketches.merged import MergedCounters

LEAST_ROWS = 1 << 16


class UserMisraGries(SavedSketch):
    """How many users hold each key; each user's distinct keys count once, and all decrease at most once.

    A key's count is at most its true number of users, and at most `error_bound` below it. Rows of one user
    must come together, in one update or in updates that follow each other (a sketch that is saved and loaded
    takes whoever comes next for another user); the order of users must not depend on the data.

    >>> sketch = UserMisraGries(counters=2)
    >>> sketch.update(["a", "b", "a", "c"], users=[1, 1, 2, 2])
    >>> sketch.estimate(["a", "b", "c"]).tolist(), sketch.error_bound
    ([1, 0, 0], 1)
    """

    unit = USER

    def __init__(self, counters: int = 4096) -> None:
        self.counters = check_counters(counters)
        self.id = fresh_key().hex()
        self._held = Held.nothing()
        self._waiting = _Rows()
        self._read: Held | None = None

    @property
    def total(self) -> int:
        """How many (user, key) pairs have been counted, each once."""
        return self._counted().total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys, once there are any."""
        return self._counted().key_type

    @property
    def error_bound(self) -> int:
        """How often all counters were decremented: at most total / (counters + 1)."""
        return self._counted().floor

    def update(self, keys: Any, users: Any = None) -> None:
        """Count a batch of rows; equal users that follow each other are one user. Null keys are left out.

        Without `users`, the batch is an Arrow array of structs with the fields `user` and `key`.
        """
        if users is None:
            keys, users = keys.field("key"), keys.field("user")
        self._waiting.append(keys, users, self._held.key_type)
        self._read = None
        if self._waiting.rows >= max(LEAST_ROWS, self.counters):
            rows = self._waiting.whole_users()
            self._held = self._held if rows is None else _after(self._held, rows, self.counters)

    def estimate(self, keys: Any) -> Counts:
        """Numbers of users of keys, 0 for those not held."""
        return self._counted().estimate(keys)

    def merge(self, other: Any) -> MergedCounters:
        """A new summary of both; no user may be in both."""
        from hushcount.sketches.merged import merge

        return merge(self, other)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(self.counters, self.counters + 1, unit=self.unit, moved=self.counters, shape=ManyKeys)

    def shape(self) -> ManyKeys:
        """All keys that are held; one user can move as many as there are counters."""
        held = self._counted()
        return ManyKeys(held.key_array(), held.counts, self.counters, self.counters, self.counters + 1, USER)

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""
        held = self._counted()
        return "user-misra-gries", {"id": self.id, "counters": self.counters, **held.fields()}, held.arrays()

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> UserMisraGries:
        """The sketch of which this was written."""
        sketch = cls(fields["counters"])
        sketch.id = check_id(fields["id"])
        sketch._held = Held.from_parts(fields, arrays, sketch.counters)
        return sketch

    def _counted(self) -> Held:
        """The counts with all rows that wait, the last user's too, who may still go on."""
        rows = self._waiting.all_users()
        if rows is None:
            return self._held
        if self._read is None:
            self._read = _after(self._held, rows, self.counters)
        return self._read


def _after(held: Held, rows: tuple[pa.Array, npt.NDArray[np.int64]], counters: int) -> Held:
    """The state after users have been counted: keys as dense codes, those held first."""
    from hushcount.sketches._kernels.user_misra_gries import count_users

    keys, starts = rows
    before = pa.array([], keys.type) if held.keys is None else held.keys
    coded = pa.concat_arrays([before, keys]).dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64)[len(before) :]
    counts = np.zeros(len(coded.dictionary), np.int64)
    counts[: len(before)] = held.counts
    places = np.zeros(counters, np.int64)
    places[: len(before)] = np.arange(len(before))
    used, floor, pairs = count_users(codes, starts, counts, places, len(before))
    if held.total + int(pairs) > LARGEST_TOTAL:
        raise DataError(f"A sketch counts at most {LARGEST_TOTAL} events; start another.")
    kept = np.sort(places[:used])
    taken = coded.dictionary.take(pa.array(kept))
    return Held(taken, counts[kept] - floor, held.floor + int(floor), held.total + int(pairs))


class _Rows:
    """Rows that wait to be counted, and where their users begin."""

    def __init__(self) -> None:
        self.rows = 0
        self._keys: list[pa.Array] = []
        self._begins: list[npt.NDArray[np.bool_]] = []
        self._last: pa.Scalar | None = None
        self._user_type: pa.DataType | None = None

    def append(self, keys: Any, users: Any, kind: pa.DataType | None) -> None:
        """Add a batch; nothing is added when it is refused."""
        keys, users = _aligned(keys, users)
        if not len(users):
            return
        if self._user_type not in (None, users.type):
            raise KeyTypeError(f"users must be {self._user_type} as before, got {users.type}.")
        kind = self._keys[0].type if self._keys else kind
        held = _held(keys, kind)
        begins = np.ones(len(users), np.bool_)
        begins[1:] = pc.not_equal(users[1:], users[:-1]).to_numpy(zero_copy_only=False)
        begins[0] = self._last is None or not self._last.equals(users[0])
        self._keys.append(held)
        self._begins.append(begins)
        self._last, self._user_type = users[-1], users.type
        self.rows += len(held)

    def whole_users(self) -> tuple[pa.Array, npt.NDArray[np.int64]] | None:
        """All users but the last, who may go on; their rows no longer wait."""
        keys, begins = pa.concat_arrays(self._keys), np.concatenate(self._begins)
        last = int(np.flatnonzero(begins)[-1])
        rest = keys[last:].unique()
        again = np.zeros(len(rest), np.bool_)
        again[0] = True
        self._keys, self._begins, self.rows = [rest], [again], len(rest)
        return (keys[:last], _starts(begins[:last])) if last else None

    def all_users(self) -> tuple[pa.Array, npt.NDArray[np.int64]] | None:
        """All users; their rows go on waiting."""
        if not self.rows:
            return None
        return pa.concat_arrays(self._keys), _starts(np.concatenate(self._begins))


def _starts(begins: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    return np.append(np.flatnonzero(begins), len(begins)).astype(np.int64)


def _aligned(keys: Any, users: Any) -> tuple[pa.Array, pa.Array]:
    """Rows whose key is not null."""
    keys, users = _array("keys", keys), _array("users", users)
    users = users.cast(held_as(users.type))
    _check_comparable(users.type)
    if len(keys) != len(users):
        raise ParameterError(f"keys and users must have equal length, got {len(keys)} and {len(users)}.")
    if users.null_count:
        raise DataError("users must not be null.")
    if keys.null_count:
        return keys.drop_null(), users.filter(keys.is_valid())
    return keys, users


def _check_comparable(kind: pa.DataType) -> None:
    """Raise unless a user equals themselves: not a number (nan) never does."""
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_nested(kind):
        raise KeyTypeError(f"users must be text or whole numbers, got {kind}.")


def _array(name: str, values: Any) -> pa.Array:
    if isinstance(values, str | bytes):
        raise KeyTypeError(f"{name} must be a batch, got one {type(values).__name__}.")
    if hasattr(values, "__arrow_c_stream__") and not isinstance(values, pa.ChunkedArray):
        values = pa.chunked_array(values)
    try:
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError):
        raise KeyTypeError(f"{name} must be values of one type, all text or whole numbers.") from None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _held(keys: pa.Array, kind: pa.DataType | None) -> pa.Array:
    """Keys in the type in which the sketch keeps them."""
    arrays = [array for array in key_arrays(keys) if len(array)]
    kind = held_as(arrays[0].type) if kind is None else kind
    return pa.concat_arrays([from_kernel(to_kernel(array, kind), kind) for array in arrays])
