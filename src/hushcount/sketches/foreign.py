"""Misra-Gries tables that another program made: keys with positive counters, and nothing more."""

from __future__ import annotations

from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts
from hushcount.errors import NotProvedError, ParameterError
from hushcount.files.container import Contents
from hushcount.keys.memory import Data, column_array
from hushcount.privacy import check_count
from hushcount.secure import fresh_key
from hushcount.shapes import Public
from hushcount.shapes.standard import StandardCounters
from hushcount.sketches.base import SavedSketch
from hushcount.sketches.held import Held, check_id
from hushcount.sketches.table import LARGEST_TOTAL


class ForeignMisraGries(SavedSketch):
    """At most `counters` keys of one stream with positive counters, made by `MisraGries.from_counters`.

    A key's counter is at most its true count. By how much it is below is not in the table.
    """

    def __init__(self, counters: int, held: Held) -> None:
        super().__init__()
        self.counters = counters
        self.id = fresh_key().hex()
        self._held = held

    @classmethod
    def of(cls, keys: Data, counts: Data, counters: int) -> ForeignMisraGries:
        """Return the table of these keys and counters, or raise; counters of 0 are left out."""
        size = check_count("counters", counters, least=2)
        labels, numbers = column_array("keys", keys), column_array("counts", counts)
        if len(labels) != len(numbers):
            raise ParameterError(
                f"counts must be one for each key, got {len(numbers)} for {len(labels)} keys."
            )
        whole = pa.types.is_integer(numbers.type) or not len(numbers)
        if not whole or numbers.null_count or labels.null_count:
            raise ParameterError("keys and counts must have no nulls, and counts must be whole numbers.")
        heights = numbers.cast(pa.int64()).to_numpy()
        if (heights < 0).any():
            raise ParameterError("counts must be at least 0, got a negative one: a counter is never below 0.")
        kept = labels.filter(pa.array(heights > 0))
        if len(kept) > size:
            raise ParameterError("counters must be at least the number of keys with a positive counter.")
        if pc.count_distinct(kept).as_py() < len(kept):
            raise ParameterError(
                "keys must be different, got one twice: tables of parts cannot be put together."
            )
        above = heights[heights > 0]
        if (total := sum(above.tolist())) > LARGEST_TOTAL:
            raise ParameterError(f"counts must add up to at most {LARGEST_TOTAL}.")
        return cls(size, Held(kept if len(kept) else None, above, 0, total))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What whoever made the table has to make sure of, and nobody can check."""
        return (f"the table is that of one Misra-Gries sketch of {self.counters} counters",)

    @property
    def total(self) -> int:
        """The sum of the counters: the least number of keys that were counted."""
        return self._held.total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys; None without any."""
        return self._held.key_type

    @property
    def error_bound(self) -> NoReturn:
        """Refuse: how often counters were lowered is not in the table."""
        raise NotProvedError("A Misra-Gries table of another program does not say what its counters lack.")

    def estimate(self, keys: Data) -> Counts:
        """Return the counters of keys, 0 for those that are not in the table.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys to look up; none may be null.
        """
        return self._held.estimate(keys)

    def update(self, keys: Data) -> NoReturn:
        """Refuse: the program that made the table may have other rules."""
        raise NotProvedError(
            "A Misra-Gries table of another program counts no more keys; count them with hc.MisraGries."
        )

    def public(self) -> Public:
        """Return the numbers that no data changes."""
        return Public(self.counters, self.counters + 1, unit=self.unit, shape=StandardCounters)

    def shape(self) -> StandardCounters:
        """Return keys and counters."""
        held = self._held
        return StandardCounters(held.key_array(), held.counts, self.counters, self.counters + 1, self.unit)

    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        fields = {"id": self.id, "counters": self.counters, **self._held.fields()}
        return Contents("foreign-misra-gries", fields, self._held.arrays())

    @classmethod
    def from_contents(cls, contents: Contents) -> ForeignMisraGries:
        """Return the sketch that `contents` described, or raise if it describes none."""
        counters = check_count("counters", contents.fields["counters"], least=2)
        sketch = cls(counters, Held.from_contents(contents, counters))
        sketch.id = check_id(contents.fields["id"])
        return sketch
