"""Columns to keys and back: which types can be keys, and several columns as one key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, ParameterError
from hushcount.keys import composite
from hushcount.keys.utf8 import is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

KEY_TYPES = ("auto", "text", "int")
SINGLE = "key"
RESULT = ("count", "lower", "upper", "sanitised", "estimate")
NAMES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The columns asked for; `key_names` are their names in a result.

    With a `user` column, which is read last, there is one (user, key) pair a row in place of a key.
    """

    names: tuple[str, ...]
    key_names: tuple[str, ...]
    key_type: str
    types: tuple[pa.DataType, ...] = ()
    user: str | None = None

    @classmethod
    def of(cls, column: str | Sequence[str] | None, key_type: str) -> KeyColumns:
        """Check what was asked for; no names yet when `column` is None."""
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
        """The same keys, each beside its user."""
        if not isinstance(user, str):
            raise ParameterError(f"user must be the name of a column, got {type(user).__name__}.")
        if not self.names:
            raise ParameterError("column must be named with user, got None.")
        if user in self.names:
            raise ParameterError(f"user must be another column than the keys, got {user}.")
        return replace(self, names=(*self.names, user), user=user)

    def without_user(self) -> KeyColumns:
        """The key columns alone."""
        if self.user is None:
            return self
        return replace(self, names=self.names[:-1], types=self.types[:-1], user=None)

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

    def typed(self, types: Iterable[pa.DataType]) -> KeyColumns:
        """Fix the types, refusing those that cannot be keys."""
        empty = [pa.array([], kind) for kind in types]
        return replace(self, types=tuple(array.type for array in self._plain(empty)))

    def unnamed(self) -> KeyColumns:
        """Check that at most one column is asked for, of data that has only one."""
        if self.user is not None:
            raise ParameterError("user must name a column, but the data are one column of keys.")
        if len(self.key_names) > 1:
            raise ParameterError(
                f"column must be one name for data of one column, got {len(self.names)} names."
            )
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """What happens to nulls, in words."""
        if self.user is not None:
            return ("Rows without a user or a key are dropped.",)
        if len(self.key_names) == 1:
            return ("Null keys are dropped.",)
        return ("Rows with a null in a key column are dropped.",)

    def keys(self, columns: Sequence[Any]) -> pa.Array:
        """One key (or pair) a row in one array; rows with a null are dropped."""
        arrays = self._plain(columns)
        return _one_key(arrays) if self.user is None else _pairs(arrays)

    def decode(self, keys: pa.Array) -> pa.Table:
        """The columns of the keys, under their names in a result."""
        if len(self.key_names) == 1:
            return pa.table({self.key_names[0]: keys})
        return composite.decode(keys, self.key_names, self.types)

    def with_dictionary(self, columns: Sequence[pa.Array]) -> pa.Array:
        """A column of dictionary-encoded text as it is, without its nulls; others as `keys`."""
        column = columns[0]
        if len(columns) > 1 or self.key_type == "int" or not is_dictionary_text(column.type):
            return self.keys(columns)
        _check_text(column.dictionary, self._labels()[0])
        return column.drop_null() if column.null_count else column

    def _labels(self) -> tuple[str, ...]:
        return tuple(f"Column '{name}'" for name in self.names) or ("The data",)

    def _plain(self, columns: Sequence[Any]) -> list[pa.Array]:
        kinds = [self.key_type] * len(columns)
        if self.user is not None:
            kinds[-1] = "auto"
        return [_plain(*each) for each in zip(columns, kinds, self._labels(), strict=True)]


def _plain(column: Any, key_type: str, label: str) -> pa.Array:
    """A column by value, in a type that can be a key, or a refusal."""
    array = _unwrapped(_one_array(column))
    _refuse(array.type, label)
    if key_type == "int":
        return _as_int(array, label)
    if key_type == "text" and not is_text(array.type):
        array = _cast(array, pa.string(), f"{label} has values that are not text.")
    return _check_text(array, label)


def _one_key(arrays: Sequence[pa.Array]) -> pa.Array:
    if len(arrays) == 1:
        return arrays[0].drop_null() if arrays[0].null_count else arrays[0]
    return composite.encode(arrays)


def _pairs(arrays: Sequence[pa.Array]) -> pa.StructArray:
    valid = reduce(pc.and_, [array.is_valid() for array in arrays])
    *keys, users = [array.filter(valid) for array in arrays]
    return pa.StructArray.from_arrays([users, _one_key(keys)], ["user", "key"])


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text with an array of bytes behind it."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_dictionary_text(kind: pa.DataType) -> bool:
    """Whether a type is the dictionary-encoded text that sketches read directly."""
    return bool(kind == pa.dictionary(pa.int32(), pa.string()))


def _one_array(column: Any) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [_none(column)])


def _none(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([], column.type)


def _unwrapped(array: pa.Array) -> pa.Array:
    """By value: without extension types, dictionaries, runs and views."""
    if isinstance(array, pa.ExtensionArray):
        return _unwrapped(array.storage)
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _unwrapped(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _unwrapped(pc.run_end_decode(array))
    if pa.types.is_null(kind) or kind == pa.string_view():
        return array.cast(pa.string())
    return array.cast(pa.binary()) if kind == pa.binary_view() else array


def _refuse(kind: pa.DataType, label: str) -> None:
    types = pa.types
    if types.is_floating(kind):
        raise DataError(f"{label} holds floating point numbers; bin or round them to whole numbers first.")
    if types.is_decimal(kind):
        raise DataError(f"{label} holds decimal numbers; cast them to text or whole numbers first.")
    if types.is_nested(kind):
        raise DataError(f"{label} holds nested values; select one field of them, or cast them to text first.")
    allowed = (types.is_integer, types.is_boolean, types.is_date, types.is_timestamp, types.is_time, is_text)
    binary = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    if not any(allows(kind) for allows in allowed + binary):
        raise DataError(f"{label} holds values of type {kind}; cast them to text or whole numbers first.")


def _check_text(array: pa.Array, label: str) -> pa.Array:
    if is_text(array.type) and not is_utf8(array):
        raise DataError(f"{label} has text that is not valid UTF-8.")
    return array


def _as_int(array: pa.Array, label: str) -> pa.Array:
    if pa.types.is_integer(array.type):
        return array
    sentence = f"{label} has values that are not whole numbers (type int)."
    if not is_text(array.type):
        raise DataError(sentence)
    return _cast(pc.ascii_trim_whitespace(array), pa.int64(), sentence)


def _cast(array: pa.Array, kind: pa.DataType, sentence: str) -> pa.Array:
    try:
        return array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        failure = DataError(sentence)
    raise failure
