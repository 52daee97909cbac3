"""Rows of different size: the column that tells how much a row counts, cut to a public bound row by row."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, ParameterError
from hushcount.keys.plain import in_one_piece
from hushcount.keys.text import is_text
from hushcount.privacy import check_count

LARGEST_WEIGHT = (1 << 31) - 1
WHOLE = re.compile(r"\s*[+-]?[0-9]{1,1000}\s*", re.ASCII)
REAL = (
    "weight must be a column of whole numbers, got {}: a sum of real numbers is no count, and noise on whole"
    " numbers does not hide its last digits. Round them, in smaller units if need be, such as cents."
)
NO_WHOLE = "A weight is not a whole number; correct it, or drop such rows."


@dataclass(frozen=True, slots=True)
class WeightColumn:
    """The weight of each row, from -`most` to `most`; what lies beyond is cut to that.

    >>> WeightColumn("bytes", 100).values(pa.array(["40", "-7", "1500", "much", None]), "drop").to_pylist()
    [40, -7, 100, None, None]
    """

    name: str
    most: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ParameterError(f"weight must be the name of a column, got {type(self.name).__name__}.")
        check_count("max_weight", self.most, most=LARGEST_WEIGHT)

    @property
    def option(self) -> str:
        """The parameter that names the column."""
        return "weight"

    @property
    def change(self) -> int:
        """By how much one row changes a count at most."""
        return self.most

    @property
    def condition(self) -> tuple[str, str, int]:
        """What tells these rows from others of the same data."""
        return "weight", self.name, self.most

    @property
    def note(self) -> str:
        """What becomes of each weight, in words."""
        least, most = f"-{self.most:,}", f"{self.most:,}"
        return (
            f"A row counts as much as its {self.name} says, cut to {least}..{most}; rows whose {self.name} is"
            " missing or no whole number are dropped."
        )

    def check(self, kind: pa.DataType) -> pa.DataType:
        """Return a type that weights can have: whole numbers, or text to read them from. Raise for others."""
        if pa.types.is_dictionary(kind):
            return self.check(kind.value_type)
        if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
            raise ParameterError(REAL.format(kind))
        return kind

    def values(self, column: pa.Array | pa.ChunkedArray, on_bad: str) -> pa.Array:
        """Return the weight of each row, null if it has none; text that is no whole number is `on_bad`."""
        array = in_one_piece(column)
        self.check(array.type)
        if pa.types.is_integer(array.type):
            return self._cut(array)
        if pa.types.is_null(array.type):
            return pa.nulls(len(array), pa.int64())
        coded = array.dictionary_encode()
        read = [self._read(text) for text in coded.dictionary.to_pylist()]
        if on_bad == "fail" and None in read:
            raise DataError(NO_WHOLE)
        return pa.array(read, pa.int64()).take(coded.indices)

    def _cut(self, array: pa.Array) -> pa.Array:
        """Return whole numbers of any type, none beyond the bound."""
        unsigned = pa.types.is_unsigned_integer(array.type)
        wide = array.cast(pa.uint64() if unsigned else pa.int64())
        most = pc.min_element_wise(wide, pa.scalar(self.most, wide.type), skip_nulls=False)
        if unsigned:
            return most.cast(pa.int64())
        return pc.max_element_wise(most, pa.scalar(-self.most, wide.type), skip_nulls=False)

    def _read(self, text: str) -> int | None:
        """Return the weight that a text tells, None if it tells none."""
        return max(-self.most, min(int(text), self.most)) if WHOLE.fullmatch(text) else None
