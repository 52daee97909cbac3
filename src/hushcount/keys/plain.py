"""Columns by value: checked, without dictionaries and views, and in a type that can be a key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, ParameterError
from hushcount.keys.arrays import ByteKeys, Keys
from hushcount.keys.buffers import has_offsets, is_utf8, lengths
from hushcount.keys.text import key_text
from hushcount.privacy import check_count

# Keys are held in memory, so their length bounds it. 4096 bytes is the longest path of Linux.
MAX_KEY_BYTES = 4096
LARGEST_KEY_BYTES = (1 << 16) - 1  # for which linear sketches are proved
LARGEST_SKETCHED = (1 << 24) - 1  # which the counters of a sketch can hold
ON_BAD = ("drop", "fail")


def check_on_bad(on_bad: str) -> str:
    """Return what is done with malformed and too long keys, or raise."""
    if on_bad not in ON_BAD:
        raise ParameterError(f"on_bad must be one of {', '.join(ON_BAD)}, got {on_bad!r}.")
    return on_bad


@dataclass(frozen=True, slots=True)
class KeyLimit:
    """How many bytes a key may have; a longer one is dropped like a null, or stops the run.

    >>> KeyLimit(3).nulled(pa.array(["tea", "milk"])).to_pylist()
    ['tea', None]
    """

    max_key_bytes: int = MAX_KEY_BYTES
    on_bad: str = "drop"

    @classmethod
    def of(cls, max_key_bytes: int, on_bad: str) -> KeyLimit:
        """Check a limit that somebody asks for.

        Parameters
        ----------
        max_key_bytes
            The longest key that is counted, from 1 to 65535 bytes; of several columns, all their bytes.
        on_bad
            "drop" ignores a row with a longer key, "fail" refuses all data with one.
        """
        return cls(check_count("max_key_bytes", max_key_bytes, most=LARGEST_KEY_BYTES), check_on_bad(on_bad))

    def notes(self, types: tuple[pa.DataType, ...]) -> tuple[str, ...]:
        """Say what becomes of longer keys, if keys of these types can be longer."""
        if types and not any(has_offsets(kind) or pa.types.is_fixed_size_binary(kind) for kind in types):
            return ()
        what = "are dropped" if self.on_bad == "drop" else "stop the run"
        return (f"Keys longer than {self.max_key_bytes} bytes {what}.",)

    def nulled(self, array: pa.Array) -> pa.Array:
        """Return the array with values that are too long as null, or raise if they stop the run."""
        if has_offsets(array.type):
            sizes = lengths(array)
            if int(sizes.max(initial=0)) <= self.max_key_bytes:
                return array
            short = pa.array(sizes <= self.max_key_bytes)
        elif pa.types.is_fixed_size_binary(array.type) and array.type.byte_width > self.max_key_bytes:
            short = pa.array(np.zeros(len(array), np.bool_))
        else:
            return array
        nulled = pc.if_else(short, array, pa.scalar(None, array.type))
        if self.on_bad == "fail" and nulled.null_count > array.null_count:
            raise DataError(
                f"A key is longer than {self.max_key_bytes} bytes; shorten or hash such keys first."
            )
        return nulled


DEFAULT_LIMIT = KeyLimit()


def check_lengths(keys: Keys, longest: int = LARGEST_SKETCHED) -> None:
    """Raise if a byte string is longer than a table of counters, or whoever asks, can hold."""
    if not isinstance(keys, ByteKeys) or not len(keys):
        return
    if int(keys.offsets[-1] - keys.offsets[0]) > longest < int(np.diff(keys.offsets).max()):
        raise DataError(f"A key is longer than {longest} bytes; shorten or hash such keys first.")


def plain(column: pa.Array | pa.ChunkedArray, reading: str, label: str, limit: KeyLimit) -> pa.Array:
    """Return a column by value, in a type that can be a key, or raise.

    Parameters
    ----------
    column
        The values; their buffers must have been checked.
    reading
        "auto" keeps the type; "text" and "int" convert to it.
    label
        The subject of an error's sentence, such as "Column 'url'".
    limit
        The longest key; longer ones are null in the result.

    Returns
    -------
    pa.Array
        As many values as the column has.

    Raises
    ------
    DataError
        If the column has values that cannot be keys, or not in the type asked for.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    arrays = [_by_value(chunk, label, limit) for chunk in chunks or [pa.nulls(0, column.type)]]
    array = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    if reading == "int":
        return _as_int(array, label)
    if reading == "text" and not has_text_offsets(array.type):
        array = _as_text(array, label)
    return array


def behind_dictionary(column: pa.Array, label: str, limit: KeyLimit) -> pa.DictionaryArray | None:
    """Return text behind a dictionary whose values are checked once, not by row, or raise for bad ones.

    None if the column is no text behind a dictionary, or has nulls or values that are too long: those rows
    are told from others by value.
    """
    kind = column.type
    if not pa.types.is_dictionary(kind) or not has_offsets(kind.value_type) or column.null_count:
        return None
    values = _by_value(column.dictionary, label, limit)
    if values.null_count:
        return None
    return pa.DictionaryArray.from_arrays(column.indices, values, safe=False)


def check_type(kind: pa.DataType, reading: str, label: str) -> pa.DataType:
    """Return the type that the keys of a column of this type have, or raise if they cannot be keys."""
    return plain(pa.nulls(0, kind), reading, label, DEFAULT_LIMIT).type


def in_one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the values of a column as one array without a dictionary."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def has_text_offsets(kind: pa.DataType) -> bool:
    """Return whether a type is text with an array of bytes behind it."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _by_value(array: pa.Array, label: str, limit: KeyLimit) -> pa.Array:
    """Return the values without extension types, dictionaries, runs and views, those too long as null."""
    if isinstance(array, pa.ExtensionArray):
        return _by_value(array.storage, label, limit)
    kind = array.type
    if pa.types.is_dictionary(kind):
        values = _by_value(array.dictionary, label, limit)
        return pa.DictionaryArray.from_arrays(array.indices, values, safe=False).dictionary_decode()
    if pa.types.is_run_end_encoded(kind):
        return _by_value(pc.run_end_decode(array), label, limit)
    if pa.types.is_null(kind) or kind == pa.string_view():
        array = array.cast(pa.string())
    elif kind == pa.binary_view():
        array = array.cast(pa.binary())
    _refuse(array.type, label)
    array = limit.nulled(array)
    if has_text_offsets(array.type) and not is_utf8(array):
        raise DataError(f"{label} has text that is not valid UTF-8.")
    return array


def _refuse(kind: pa.DataType, label: str) -> None:
    """Raise for a type whose values cannot be keys, with the way out."""
    types = pa.types
    if types.is_floating(kind):
        raise DataError(f"{label} holds floating point numbers; bin or round them to whole numbers first.")
    if types.is_decimal(kind):
        raise DataError(f"{label} holds decimal numbers; cast them to text or whole numbers first.")
    if types.is_nested(kind):
        raise DataError(f"{label} holds nested values; select one field of them, or cast them to text first.")
    allowed = (types.is_integer, types.is_boolean, types.is_date, types.is_timestamp, types.is_time)
    if not (has_offsets(kind) or types.is_fixed_size_binary(kind) or any(allows(kind) for allows in allowed)):
        raise DataError(f"{label} holds values of type {kind}; cast them to text or whole numbers first.")


def _as_int(array: pa.Array, label: str) -> pa.Array:
    if pa.types.is_integer(array.type):
        return array
    sentence = f"{label} has values that are not whole numbers (type int)."
    if not has_text_offsets(array.type):
        raise DataError(sentence)
    return _cast(pc.ascii_trim_whitespace(array), pa.int64(), sentence)


def _as_text(array: pa.Array, label: str) -> pa.Array:
    if pa.types.is_temporal(array.type):
        return key_text(array)
    return _cast(array, pa.string(), f"{label} has values that are not text.")


def _cast(array: pa.Array, kind: pa.DataType, sentence: str) -> pa.Array:
    try:
        return array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        failure = DataError(sentence)
    raise failure
