"""Python objects and numpy values as Arrow arrays of one type throughout."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from hushcount.errors import DataError, HushcountError
from hushcount.sources.formats.registry import Piece
from hushcount.sources.source import BATCH_ROWS

KINDS = (bool, numbers.Integral, str, bytes, datetime.datetime, datetime.date)


def mixed_types(error: Exception) -> HushcountError:
    """What to say when values do not fit one type; the error itself quotes them."""
    if isinstance(error, OverflowError):
        return DataError("The data has whole numbers beyond 64 bits; pass them as text, or as numpy uint64.")
    if isinstance(error, UnicodeError):
        return DataError("The data has text that is not valid UTF-8.")
    return DataError(
        "The data mixes types, or holds none that can be keys; make them all text or whole numbers."
    )


def object_pieces(values: Iterator[Any]) -> Iterator[Piece]:
    """Yield the values in slices, all of one kind; None is null."""
    first: pa.DataType | None = None
    kinds: set[type] = set()
    while chunk := list(islice(values, BATCH_ROWS)):
        kinds |= {_kind(found) for found in set(map(type, chunk)) if found is not type(None)}
        if len(kinds) > 1:
            raise mixed_types(TypeError())
        array = pa.array(chunk, first or _declared(kinds))
        if first is None and array.null_count < len(array):
            first = array.type
        yield Piece([array], len(chunk), 0)


def _declared(kinds: set[type]) -> pa.DataType | None:
    """One type for whole numbers of any width: the widest value must not show in the type of a result."""
    return pa.int64() if kinds == {numbers.Integral} else None


def _kind(found: type) -> type:
    return next((kind for kind in KINDS if issubclass(found, kind)), found)


def numpy_array(array: Any) -> pa.Array:
    """A numpy array as Arrow: native bytes, and seconds for the coarse units Arrow has not."""
    if array.dtype.kind == "M" and str(array.dtype).endswith(("[m]", "[h]", "[W]", "[M]", "[Y]")):
        array = array.astype("datetime64[s]")
    return pa.array(array.astype(array.dtype.newbyteorder("="), copy=False))
