"""Public domains of keys: a range of integers, or a list of keys that is known to all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Mask, Words
from hushcount.errors import HushcountError, KeyTypeError, ParameterError
from hushcount.keys.arrays import held_as
from hushcount.keys.memory import Data, column_array
from hushcount.privacy import check_count

Places = Words  # of keys in a domain
_RANGE = re.compile(r"\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")
_LEAST, _LARGEST, _LARGEST_UNSIGNED = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """The integers from first to last, at most 2^64 of them.

    >>> IntegerRange(1, 100).size
    100
    """

    first: int
    last: int

    def __post_init__(self) -> None:
        for name in ("first", "last"):
            object.__setattr__(self, name, check_count(name, getattr(self, name), least=-(1 << 64)))
        if self.last < self.first:
            raise ParameterError(f"last must be at least first = {self.first}, got {self.last}.")
        signed = self.first >= _LEAST and self.last <= _LARGEST
        if not signed and not (self.first >= 0 and self.last <= _LARGEST_UNSIGNED):
            raise ParameterError(
                f"domain must fit 64-bit integers, signed or unsigned, got {self.first}..{self.last}."
            )

    @property
    def size(self) -> int:
        """The number of integers."""
        return self.last - self.first + 1

    @property
    def key_type(self) -> pa.DataType:
        """int64 if that is wide enough, else uint64: a function of the range alone."""
        return pa.int64() if self.last <= _LARGEST else pa.uint64()

    def places(self, keys: pa.Array) -> tuple[Places, Mask]:
        """Return the distances from the first integer; keys may be of any integer type."""
        if not pa.types.is_integer(keys.type):
            raise KeyTypeError(f"domain holds integers, keys are {keys.type}; read them as whole numbers.")
        least, largest = _range_of(keys.type)
        inside = _between(keys, max(self.first, least), min(self.last, largest))
        kept = keys.filter(pa.array(inside))
        wide = kept if kept.type == pa.uint64() else kept.cast(pa.int64())
        words = wide.to_numpy(zero_copy_only=False).view(np.uint64)
        return words - np.uint64(self.first & _LARGEST_UNSIGNED), inside

    def keys(self, places: Places) -> pa.Array:
        """Return the integers at these distances from the first."""
        words = places + np.uint64(self.first & _LARGEST_UNSIGNED)
        return pa.array(words if self.key_type == pa.uint64() else words.view(np.int64))


def _range_of(kind: pa.DataType) -> tuple[int, int]:
    bits = kind.bit_width
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _between(numbers: pa.Array, least: int, largest: int) -> Mask:
    """Return which numbers lie between two bounds; if the first is larger, none."""
    if least > largest:
        return np.zeros(len(numbers), np.bool_)
    low, high = pa.scalar(least, numbers.type), pa.scalar(largest, numbers.type)
    return _mask(pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high)))


@dataclass(frozen=True, slots=True, eq=False)
class KnownKeys:
    """A public list of keys; a key that occurs twice counts once.

    >>> KnownKeys.of(["tea", "milk", "tea"]).size
    2
    """

    known: pa.Array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownKeys) and bool(self.known.equals(other.known))

    def __hash__(self) -> int:
        return hash((str(self.known.type), len(self.known)))

    @classmethod
    def of(cls, keys: Data) -> KnownKeys:
        """Return the domain of a list, set or array of keys.

        >>> KnownKeys.of({7, 9}).key_type
        DataType(int64)
        """
        try:
            array = column_array("domain", list(keys) if isinstance(keys, Set | Mapping) else keys)
        except HushcountError:
            failure = KeyTypeError("domain must hold keys of one type, all text or whole numbers.")
        else:
            known = array.cast(held_as(array.type)).drop_null().unique()
            if not len(known):
                raise ParameterError("domain must hold at least one key, got none.")
            return cls(known)
        raise failure

    @property
    def digest(self) -> str:
        """Identifies the list, in its order."""
        content = pa.table({"key": self.known})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, content.schema) as writer:
            writer.write_table(content)
        return hashlib.blake2b(sink.getvalue(), digest_size=16).hexdigest()

    @property
    def size(self) -> int:
        """The number of different keys."""
        return len(self.known)

    @property
    def key_type(self) -> pa.DataType:
        """The type of the keys."""
        return self.known.type

    def places(self, keys: pa.Array) -> tuple[Places, Mask]:
        """Return the places in the list."""
        if pa.types.is_integer(keys.type) and pa.types.is_integer(self.key_type):
            known, keys = (pa.compute.cast(array, pa.decimal128(20)) for array in (self.known, keys))
        elif keys.type == self.key_type:
            known = self.known
        else:
            raise KeyTypeError(f"domain holds {self.key_type}, keys are {keys.type}.")
        found = pc.index_in(keys, value_set=known)
        return np.asarray(found.drop_null().to_numpy(), np.uint64), _mask(found.is_valid())

    def keys(self, places: Places) -> pa.Array:
        """Return the keys at these places."""
        return self.known.take(pa.array(places))


Domain = IntegerRange | KnownKeys
"""All keys that can be published, numbered from 0 (their places); nothing in it depends on the data."""


def within(domain: Domain, keys: pa.Array) -> tuple[pa.Array, Mask]:
    """Return the keys that are in a domain, in its type, and which of `keys` those are.

    Text is read as numbers if the domain holds numbers; text that is no such number is outside.
    """
    keys = keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys
    keys = keys.cast(held_as(keys.type))
    readable = np.ones(len(keys), np.bool_)
    if pa.types.is_string(keys.type) and pa.types.is_integer(domain.key_type):
        keys, readable = whole_numbers(keys, domain.key_type)
    places, inside = domain.places(keys)
    readable[readable] = inside
    return domain.keys(places), readable


def whole_numbers(text: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Return the whole numbers among texts that an integer type can hold, and which texts those are.

    >>> numbers, which = whole_numbers(pa.array([" 7", "-1", "1.5", "tea", "300"]), pa.uint8())
    >>> numbers.to_pylist(), which.tolist()
    ([7], [True, False, False, False, False])
    """
    trimmed = pc.ascii_trim_whitespace(text)
    short = pc.replace_substring_regex(trimmed, r"^(-?)0+([0-9])", r"\1\2")  # without leading zeros
    mask = _mask(pc.match_substring_regex(short, r"^-?[0-9]{1,20}$"))
    wide = short.filter(pa.array(mask)).cast(pa.decimal128(20))
    fits = _between(wide, *_range_of(kind))
    mask[mask] = fits
    return wide.filter(pa.array(fits)).cast(kind), mask


def _mask(values: pa.Array) -> Mask:
    return np.array(values.to_numpy(zero_copy_only=False), np.bool_)


def as_domain(value: Data) -> Domain:
    """Return the domain that "A..B", a range or a list of keys describes.

    >>> as_domain("0..9")
    IntegerRange(first=0, last=9)
    """
    if isinstance(value, IntegerRange | KnownKeys):
        return value
    if isinstance(value, str):
        found = _RANGE.fullmatch(value)
        if found is None:
            raise ParameterError(f"domain must be A..B or a list of keys, got {value!r}.")
        return IntegerRange(int(found[1]), int(found[2]))
    if isinstance(value, range):
        if value.step != 1 or not value:
            raise ParameterError(f"domain must be a range with step 1 that is not empty, got {value}.")
        return IntegerRange(value.start, value[-1])
    if isinstance(value, bytes) or not hasattr(value, "__iter__"):
        raise ParameterError(f"domain must be A..B or a list of keys, got {type(value).__name__}.")
    return KnownKeys.of(value)
