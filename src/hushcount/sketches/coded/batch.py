"""Batches that were converted and checked; keys that rows share are counted once if none can evict another.

If the counters in use and the keys of a batch are at most all counters, nothing is evicted or decremented
while the batch is counted. Then one update for each key, by its number of rows, in the order of last rows,
gives the state that row after row would give. Otherwise rows are counted in their order.

Theorem and proof: docs/proofs/sketches/codes.md. Checked by: tests/privacy/test_codes.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Words
from hushcount.compiled.late import late
from hushcount.keys.arrays import CodedKeys, Keys, coded_keys, held_as, to_kernel
from hushcount.keys.memory import Data, key_arrays, shared_text
from hushcount.keys.plain import LARGEST_SKETCHED, check_lengths
from hushcount.sketches.table import ONCE, CounterTable, Spans

kernels = late("hushcount.sketches._kernels.codes")

FEWEST = 256  # rows for which keys are not worth looking for


class PreparedKeys(NamedTuple):
    """A batch that was converted and checked as a whole: the type of its keys, and arrays for a kernel.

    A batch of one array may say for how many events each key stands.
    """

    kind: pa.DataType | None
    batches: list[Keys]
    times: Words = ONCE
    coded: CodedKeys | None = None  # in place of batches: byte strings that rows share

    @classmethod
    def of(cls, keys: Data, kind: pa.DataType | None, longest: int = LARGEST_SKETCHED) -> PreparedKeys:
        """Return keys in a type, or in their own if it is None; raise if one is too long."""
        arrays = [array for array in key_arrays(keys) if len(array)]
        kind = kind or (held_as(arrays[0].type) if arrays else None)
        batch = cls(kind, [to_kernel(array, kind) for array in arrays])
        for part in batch.batches:
            check_lengths(part, longest)
        return batch

    @classmethod
    def shared(cls, keys: Data, kind: pa.DataType | None) -> PreparedKeys | None:
        """Return text that rows share behind a dictionary; None for other keys, and in another type."""
        found = shared_text(keys)
        if found is None or kind not in (None, held_as(found.type.value_type)):
            return None
        return cls(held_as(found.type.value_type), [], coded=coded_keys(found))

    @property
    def rows(self) -> int:
        """The number of keys."""
        return sum(map(len, self.batches)) + (0 if self.coded is None else len(self.coded))

    @property
    def events(self) -> int:
        """The number of events that the keys stand for."""
        return int(self.times.sum()) if len(self.times) else self.rows

    def count_in(self, table: CounterTable) -> None:
        """Count the batch in a table."""
        for part in self.batches:
            table.count(part, self.times)
        if self.coded is not None:
            count_codes(table, self.coded)


def count_codes(table: CounterTable, keys: CodedKeys) -> None:
    """Count rows in their order, or each of their keys once if that gives the same state.

    In their order, a key is looked for once and not in every row, unless there are more keys than rows.
    """
    free = table.counters - table.used
    if free and len(keys) >= FEWEST and not table.counts_few(len(keys)):
        order, times = kernels.line_up_codes(keys.codes, len(keys.values))
        if len(order) <= free:
            spans = spans_of(keys, order)
            table.reserve(spans)
            table.count_spans(spans, times)
            return
    if len(keys) >= len(keys.values) and not table.counts_few(len(keys)):
        table.count_codes(keys)
    else:
        table.count_spans(spans_of(keys, keys.codes))


def spans_of(keys: CodedKeys, codes: npt.NDArray[np.int32]) -> Spans:
    """Return where the keys of these codes begin and end."""
    offsets = keys.values.offsets
    begins, ends = offsets[:-1].take(codes), offsets[1:].take(codes)
    for each in (begins, ends):
        each.flags.writeable = False  # as those of Arrow are, so that no kernel is compiled twice
    return keys.values.data, begins, ends
