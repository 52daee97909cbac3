"""Columns to keys and back: which types can be keys, and several columns as one key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import ParameterError
from hushcount.keys.arrays import decode_rows, encode_rows
from hushcount.keys.buffers import check_column, is_shared, slices
from hushcount.keys.numbers import EventNumbers
from hushcount.keys.plain import DEFAULT_LIMIT, KeyLimit, behind_dictionary, check_type, plain
from hushcount.keys.text import check_writable
from hushcount.keys.times import TimeColumn, without_others
from hushcount.keys.weights import WeightColumn

KEY_TYPES = ("auto", "text", "int")
SINGLE = "key"
RESULT = ("count", "lower", "upper", "sanitised", "estimate")
NAMES_SHOWN = 20
Columns = Sequence[pa.Array | pa.ChunkedArray]


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The columns that make a key, and what becomes of values that cannot be one.

    Attributes
    ----------
    names
        The columns to read; with `user` or `weight`, its column comes last, and there is one (user, key) or
        (weight, key) pair per row in place of a key.
    key_names
        The names of the key columns in a result.
    key_type
        How values are read: "auto" as they are, "text" or "int".
    types
        The types of the columns, once known.
    user
        The column that tells whose row it is.
    inferred
        Whether each type was found from values; such a type is not shown if nothing is published.
    limit
        How long a key may be, and what becomes of a longer one.
    padded
        Whether a row of several columns keeps its place in a tree if some of its values are null.
    times
        The column that tells when a row is from, last of `names`, and the window that is kept.
    weight
        The column that tells how much a row counts, or for how many events it stands.
    by_code
        Whether text may stay behind its dictionary, because whoever counts it can read codes.
    """

    names: tuple[str, ...]
    key_names: tuple[str, ...]
    key_type: str
    types: tuple[pa.DataType, ...] = ()
    user: str | None = None
    inferred: tuple[bool, ...] = ()
    limit: KeyLimit = DEFAULT_LIMIT
    padded: bool = False
    times: TimeColumn | None = None
    weight: WeightColumn | EventNumbers | None = None
    by_code: bool = False

    @classmethod
    def of(cls, column: str | Sequence[str] | None, key_type: str) -> KeyColumns:
        """Check what was asked for; without a `column` the data must have only one."""
        if key_type not in KEY_TYPES:
            raise ParameterError(f"type must be one of {', '.join(KEY_TYPES)}, got {key_type!r}.")
        if column is None:
            return cls((), (SINGLE,), key_type)
        if isinstance(column, str):
            return cls((column,), (SINGLE,), key_type)
        names = tuple(column) if isinstance(column, Sequence) else ()
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ParameterError("column must be a name, or a list of different names.")
        if taken := [name for name in names if name in RESULT]:
            raise ParameterError(
                "column must not have the name of a result column,"
                f" got {taken[0]}; rename it, with sql perhaps."
            )
        return cls(names, names, key_type)

    def with_user(self, user: str) -> KeyColumns:
        """Return the same keys, each beside its user."""
        if not isinstance(user, str):
            raise ParameterError(f"user must be the name of a column, got {type(user).__name__}.")
        if not self.names:
            raise ParameterError("column must be named with user, got None.")
        if user in self.names:
            raise ParameterError(f"user must be another column than the keys, got {user}.")
        return replace(self, names=(*self.names, user), user=user)

    def with_codes(self) -> KeyColumns:
        """Return the same keys, whose rows may share text behind a dictionary: of one column of text only."""
        single = len(self.names) == 1 and self.key_type != "int" and self.counted_type == pa.string()
        return replace(self, by_code=single)

    def without_user(self) -> KeyColumns:
        """Return the key columns alone."""
        return self if self.user is None else replace(self._without_last(), user=None)

    def with_weight(self, weight: WeightColumn | EventNumbers) -> KeyColumns:
        """Return the same keys, each beside how much its row counts."""
        option = weight.option
        if not self.names:
            raise ParameterError(f"column must be named with {option}, got None.")
        if weight.name in self.names:
            raise ParameterError(f"{option} must be another column than keys and users, got {weight.name}.")
        return replace(self, names=(*self.names, weight.name), weight=weight)

    def without_weight(self) -> KeyColumns:
        """Return the key columns alone."""
        return self if self.weight is None else replace(self._without_last(), weight=None)

    def ordering(self, available: Sequence[str]) -> Sequence[str]:
        """Return the columns by whose hash the rows of a query are sorted, of all that it has.

        Without one event its row remains, with a number smaller by one, and must keep its place.
        """
        return self.names[: len(self.key_names)] if isinstance(self.weight, EventNumbers) else available

    def with_time(self, times: TimeColumn) -> KeyColumns:
        """Return the same keys, of the rows in a window of time."""
        if not self.names:
            raise ParameterError("column must be named with time, got None.")
        if times.name in self.names:
            raise ParameterError(f"time must be another column than keys and users, got {times.name}.")
        return replace(self, names=(*self.names, times.name), times=times)

    def without_time(self) -> KeyColumns:
        """Return the key columns, and that of the users, alone."""
        return self if self.times is None else replace(self._without_last(), times=None)

    def _without_last(self) -> KeyColumns:
        return replace(self, names=self.names[:-1], types=self.types[:-1], inferred=self.inferred[:-1])

    def within(self, available: Sequence[str], place: str) -> KeyColumns:
        """Check the names against those of `place`; the only column need not be named."""
        shown = ", ".join(available[:NAMES_SHOWN]) + (", ..." if len(available) > NAMES_SHOWN else "")
        if not self.names:
            if len(available) != 1:
                raise ParameterError(f"column must be named; {place} has: {shown}.")
            return replace(self, names=(available[0],))
        for name in self.names:
            if name not in available:
                raise ParameterError(f"Column '{name}' is not in {place}; it has: {shown}.")
            if list(available).count(name) > 1:
                raise ParameterError(f"Column '{name}' occurs more than once in {place}.")
        return self

    def typed(self, types: Iterable[pa.DataType], inferred: Sequence[bool] = ()) -> KeyColumns:
        """Fix the types, or raise for those that cannot be keys or cannot be written in a result.

        `inferred` says which of them were found from values and are no schema.
        """
        if self.times is not None:
            *others, kind = types
            known = self.without_time().typed(others, inferred)
            return replace(self, types=(*known.types, self.times.check(kind)), inferred=tuple(inferred))
        if self.weight is not None:
            *others, kind = types
            known = self.without_weight().typed(others, inferred)
            return replace(self, types=(*known.types, self.weight.check(kind)), inferred=tuple(inferred))
        fixed = [check_type(*each) for each in zip(types, self._readings(), self._labels(), strict=True)]
        for kind in fixed[: len(self.key_names)]:
            check_writable(kind)
        return replace(self, types=tuple(fixed), inferred=tuple(inferred))

    def unnamed(self) -> KeyColumns:
        """Check that at most one column is asked for, of data that has only one."""
        option = "weight" if self.weight is None else self.weight.option
        for name, given in (("user", self.user), (option, self.weight), ("time", self.times)):
            if given is not None:
                raise ParameterError(f"{name} must name a column, but the data are one column of keys.")
        if len(self.key_names) > 1:
            raise ParameterError(
                f"column must be one name for data of one column, got {len(self.names)} names."
            )
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """What happens to rows without a key, and to keys that are too long."""
        if self.user is not None:
            dropped = "Rows without a user or a key are dropped."
        elif len(self.key_names) == 1:
            dropped = "Null keys are dropped."
        elif self.padded:
            dropped = "A null in a key column is padded with \N{MIDDLE DOT}; rows of nulls alone are dropped."
        else:
            dropped = "Rows with a null in a key column are dropped."
        known = self.types if self.weight is None else self.types[: len(self.key_names)]
        return (dropped, *self.limit.notes(() if self.inferred else known))

    @property
    def counted_type(self) -> pa.DataType:
        """The type of a key: that of its column, or bytes if several columns make it."""
        return self.types[0] if self.types and len(self.key_names) == 1 else pa.binary()

    def keys(self, columns: Columns) -> pa.Array:
        """Return one key (or pair) per row; rows with a null or too long a value are dropped.

        The buffers of the columns must have been checked.
        """
        if self.times is not None:
            return self.without_time().keys(without_others(self.times, columns))
        if self.weight is not None:
            return self._weighed(self.weight, columns)
        asked = zip(columns, self._readings(), self._labels(), strict=True)
        if (
            self.by_code
            and (found := behind_dictionary(columns[0], self._labels()[0], self.limit)) is not None
        ):
            return found
        arrays = [plain(column, reading, label, self.limit) for column, reading, label in asked]
        if self.user is None:
            keys = self._one_key(arrays)
            return keys.drop_null() if keys.null_count else keys
        return self._pairs(arrays)

    def parts(self, columns: Columns) -> Iterator[tuple[pa.Array, int]]:
        """Check columns from outside; yield their keys, and the number of rows that those are from.

        Rows of a dictionary share its values, but each key has its own copy: they are made a part at a time.
        """
        for column, label in zip(columns, self._labels(), strict=True):
            check_column(column, label)
        if not any(is_shared(column.type) for column in columns):
            yield self.keys(columns), len(columns[0])
            return
        for batch in pa.Table.from_arrays(list(columns), list(map(str, range(len(columns))))).to_batches():
            for part in slices(batch.columns, max(1, batch.num_rows)):
                yield self.keys(part), len(part[0])

    def decode(self, keys: pa.Array) -> pa.Table:
        """Return the columns of the keys, under their names in a result.

        Without a key no type is shown that was found from values: it would tell no data from one row.
        """
        if not len(keys):
            return pa.table({name: pa.array([], kind) for name, kind in self._declared()})
        if len(self.key_names) == 1:
            return pa.table({self.key_names[0]: keys})
        return decode_rows(keys, self.key_names, self.types)

    def _declared(self) -> Iterator[tuple[str, pa.DataType]]:
        """Yield the names of the key columns with their types, null for one that no schema declares."""
        for index, name in enumerate(self.key_names):
            known = index < len(self.types) and not any(self.inferred[index : index + 1])
            yield name, self.types[index] if known else pa.null()

    def _one_key(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """Return one key per row in which no column is null; a key that is too long is null."""
        if len(arrays) == 1:
            return arrays[0]
        return self.limit.nulled(encode_rows(arrays, self.padded))

    def _pairs(self, arrays: Sequence[pa.Array]) -> pa.StructArray:
        valid = reduce(pc.and_, [array.is_valid() for array in arrays])
        *columns, users = [array.filter(valid) for array in arrays]
        keys = self._one_key(columns)
        if keys.null_count:
            keys, users = keys.drop_null(), users.filter(keys.is_valid())
        return pa.StructArray.from_arrays([users, keys], ["user", "key"])

    def _weighed(self, weight: WeightColumn | EventNumbers, columns: Columns) -> pa.StructArray:
        """Return pairs of weight and key; rows that count nothing are dropped."""
        *own, column = columns
        weights = weight.values(column, self.limit.on_bad)
        some = pc.not_equal(weights, 0).fill_null(False)
        return self.weighed([one.filter(some) for one in own], weights.filter(some))

    def weighed(self, columns: Columns, weights: pa.Array) -> pa.StructArray:
        """Return pairs of weight and key, of the key columns and a weight for each row, none of them null."""
        asked = zip(columns, self._readings(), self._labels(), strict=False)
        arrays = [plain(one, reading, label, self.limit) for one, reading, label in asked]
        some = reduce(pc.or_ if self.padded else pc.and_, [array.is_valid() for array in arrays])
        arrays, weights = [array.filter(some) for array in arrays], weights.filter(some)
        keys = self._one_key(arrays)
        if keys.null_count:
            weights, keys = weights.filter(keys.is_valid()), keys.drop_null()
        return pa.StructArray.from_arrays([weights, keys], ["weight", "key"])

    def _labels(self) -> tuple[str, ...]:
        return tuple(f"Column '{name}'" for name in self.names) or ("The data",)

    def _readings(self) -> tuple[str, ...]:
        """How each column is read; a user is taken as it is."""
        readings = [self.key_type] * len(self._labels())
        if self.user is not None:
            readings[-1] = "auto"
        return tuple(readings)
