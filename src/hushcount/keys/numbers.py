"""Rows that were counted already: the column that tells for how many events a row stands."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, ParameterError
from hushcount.keys.plain import in_one_piece
from hushcount.keys.text import is_text

LARGEST_NUMBER = (1 << 39) - 1  # as many events as a sketch can count
WHOLE = re.compile(r"\s*\+?([0-9]{1,1000})(\.0*)?\s*", re.ASCII)
NO_NUMBERS = "times must be a column of whole numbers, got {}."
NO_NUMBER = (
    "A row does not say by a whole number from 0 on for how many events it stands; correct it, or drop such"
    " rows."
)


@dataclass(frozen=True, slots=True)
class EventNumbers:
    """For how many events each row stands: a whole number from 0 on, whatever type it is written in.

    What a row stands for depends on this row alone. A number above `LARGEST_NUMBER` is cut to it, so that one
    event more or less in a row is at most one event more or less of what is counted.

    >>> EventNumbers("n").values(pa.array(["40", "-7", "2.0", "much", None]), "drop").to_pylist()
    [40, None, 2, None, None]
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ParameterError(f"times must be the name of a column, got {type(self.name).__name__}.")

    @property
    def option(self) -> str:
        """The parameter that names the column."""
        return "times"

    @property
    def change(self) -> int:
        """By how much one event changes a count."""
        return 1

    @property
    def condition(self) -> tuple[str, str]:
        """What tells these events from others of the same data."""
        return "times", self.name

    @property
    def note(self) -> str:
        """What a row stands for, in words."""
        return (
            f"A row stands for as many events as its {self.name} says, and the unit is one of these events;"
            f" rows whose {self.name} is missing, negative or no whole number are dropped."
        )

    def check(self, kind: pa.DataType) -> pa.DataType:
        """Return a type that numbers can have, or raise."""
        if pa.types.is_dictionary(kind):
            return self.check(kind.value_type)
        known = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not (known or is_text(kind) or pa.types.is_null(kind)):
            raise ParameterError(NO_NUMBERS.format(kind))
        return kind

    def values(self, column: pa.Array | pa.ChunkedArray, on_bad: str) -> pa.Array:
        """Return the number of events of each row, null if it tells none and is not `on_bad`."""
        array = in_one_piece(column)
        self.check(array.type)
        found = self._read(array)
        if on_bad == "fail" and found.null_count:
            raise DataError(NO_NUMBER)
        return found

    def _read(self, array: pa.Array) -> pa.Array:
        """Return the whole numbers from 0 on, cut to the largest, and null for all else."""
        if pa.types.is_null(array.type):
            return pa.nulls(len(array), pa.int64())
        if pa.types.is_integer(array.type):
            return _cut(pc.if_else(pc.greater_equal(array, pa.scalar(0, array.type)), array, None))
        coded = array.dictionary_encode()
        return pa.array([_number(value) for value in coded.dictionary.to_pylist()], pa.int64()).take(
            coded.indices
        )


def _cut(array: pa.Array) -> pa.Array:
    """Return whole numbers of any type from 0 on, none above the largest."""
    wide = array.cast(pa.uint64())
    return pc.min_element_wise(wide, pa.scalar(LARGEST_NUMBER, pa.uint64()), skip_nulls=False).cast(
        pa.int64()
    )


def _number(value: object) -> int | None:
    """Return the whole number that text, a float or a decimal tells, None if it tells none."""
    if isinstance(value, str):
        found = WHOLE.fullmatch(value)
        return None if found is None else min(int(found[1]), LARGEST_NUMBER)
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value) >= 0:
        return min(int(value), LARGEST_NUMBER)
    return None
