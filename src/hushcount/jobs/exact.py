"""Exact counts of all keys, made on disk, and the tables that are published of them.

One kind counts every key. The other counts users for every bound on their keys, of which one is chosen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts
from hushcount.errors import ParameterError
from hushcount.jobs.request import Progress
from hushcount.jobs.run import Run, TableAsk, check_length
from hushcount.mechanisms.base import joined
from hushcount.mechanisms.histograms.chosen import LARGEST_BOUND, WIDER, ChosenBound, RankedCounts, bounds
from hushcount.privacy import EVENT, USER, PrivacyUnit
from hushcount.shapes import ExactCounts, Histogram, Public
from hushcount.sources.duckdb.counted import counted_by_bound, counted_keys
from hushcount.sources.source import Batch, Source

MOST_PLACES = WIDER * LARGEST_BOUND


@dataclass(slots=True, kw_only=True)
class _OnDisk(ABC):
    """Counts of all keys of a source, made by `read`. Keys of fewer than `min_users` are not published."""

    min_users: int | None = None
    max_events: int | None = None
    unit: PrivacyUnit
    total: int = 0

    @abstractmethod
    def read(self, source: Source, progress: Progress | None) -> None:
        """Read and count all rows; `progress` is called with the bytes read so far and in all."""

    def update(self, keys: pa.Array) -> None:
        """Refuse: the rows are read by `read`."""
        raise ParameterError("rows are read from their source, not one batch after the other.")

    def events(self, keys: pa.Array) -> int:
        """Return how many events a batch holds, or the sum of their weights without the signs."""
        return len(keys) if not pa.types.is_struct(keys.type) else weight_of(keys)

    def telling(self, source: Source, progress: Progress | None) -> Callable[[Batch], None]:
        """Return what is called with each batch: it adds up events, up to the public bound, and tells."""

        def tell(batch: Batch) -> None:
            self.total += self.events(batch.keys)
            check_length(self.total, self.max_events)
            if progress is not None:
                progress(batch.bytes_read, source.size)

        return tell


@dataclass(slots=True, kw_only=True)
class CountsOnDisk(_OnDisk):
    """All keys of a source with their counts, of which one unit can change `moved`, in any order.

    `read` ends when the first counts are there; `shape` passes them on, once.
    """

    moved: int = 1
    unit: PrivacyUnit = EVENT
    _blocks: Iterator[tuple[pa.Array, Counts]] = field(default_factory=lambda: iter(()))

    def public(self) -> Public:
        """Return how many counts one unit can change, and the least number of users."""
        return Public(unit=self.unit, moved=self.moved, shape=ExactCounts, min_users=self.min_users)

    def shape(self) -> ExactCounts:
        """Return the counts, which can be taken once."""
        return ExactCounts(self._blocks, self.moved, self.unit)

    def read(self, source: Source, progress: Progress | None) -> None:
        """Read and count all rows; `progress` is called with the bytes read so far and in all."""
        blocks = counted_keys(source, self.telling(source, progress))
        first = list(islice(blocks, 1))  # all rows have been read once there is a block
        self._blocks = chain(first, blocks)


@dataclass(slots=True, kw_only=True)
class SumsInMemory(CountsOnDisk):
    """All keys of a source with the sums of their weights, in memory once they are added up."""

    def public(self) -> Public:
        """Return the unit."""
        return Public(unit=self.unit, shape=Histogram)

    def shape(self) -> Histogram:  # type: ignore[override]
        """Return the sums, which can be taken once."""
        keys, counts = joined(self._blocks)
        return Histogram(keys, counts, self.unit)


@dataclass(slots=True, kw_only=True)
class RankedOnDisk(_OnDisk):
    """All keys with their numbers of users for every bound on the keys of a user.

    The counts are needed twice, for the choice of a bound and for its table, so they wait in a file without a
    name, which only its owner can read and which is gone with the process.
    """

    unit: PrivacyUnit = USER
    pairs: Counts = field(default_factory=lambda: np.zeros(MOST_PLACES, np.int64))
    _file: IO[bytes] | None = None

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def public(self) -> Public:
        """Return the largest bound, and the least number of users."""
        return Public(unit=self.unit, moved=LARGEST_BOUND, shape=RankedCounts, min_users=self.min_users)

    def shape(self) -> RankedCounts:
        """Return the counts, which can be taken several times."""
        return RankedCounts(self._blocks, self.pairs, bounds(), self.unit)

    def events(self, keys: pa.Array) -> int:
        """Add up the pairs of user and key by their places, and return how many the largest bound keeps."""
        places = keys.field("place").to_numpy()
        self.pairs += np.bincount(places - 1, minlength=MOST_PLACES)
        return int((places <= LARGEST_BOUND).sum())

    def read(self, source: Source, progress: Progress | None) -> None:
        """Read and count all rows; `progress` is called with the bytes read so far and in all."""
        writer = None
        for batch in counted_by_bound(source, bounds(), self.telling(source, progress)):
            if self._file is None or writer is None:
                self._file = TemporaryFile()  # noqa: SIM115
                writer = pa.ipc.new_stream(self._file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()

    def _blocks(self) -> Iterator[tuple[pa.Array, Counts]]:
        """Yield keys and their counts, one column for each bound."""
        if self._file is None:
            return
        self._file.seek(0)
        for batch in pa.ipc.open_stream(self._file):
            keys, *counts = batch.columns
            yield keys, np.column_stack([column.to_numpy() for column in counts])


def weight_of(pairs: pa.Array) -> int:
    """Return the sum of all weights of a batch, without their signs."""
    return int(pc.sum(pc.abs(pairs.field("weight"))).as_py() or 0)


@dataclass(frozen=True)
class ExactAsk(TableAsk):
    """A table of exact counts of all keys."""

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Read all rows; counts that are made on disk come back while the noise is drawn."""
        if isinstance(reading.sketch, _OnDisk):
            reading.sketch.read(reading.source, progress)
        else:
            super().count(reading, progress)


@dataclass(frozen=True)
class ChosenAsk(ExactAsk):
    """A table of users whose number of keys is chosen from the data."""

    def prepare(self) -> tuple[RankedOnDisk, ChosenBound]:
        """Return the counts to be made, and the mechanism that chooses and releases, or raise."""
        sketch = self.new()
        assert isinstance(sketch, RankedOnDisk)
        return sketch, ChosenBound(self.settings.budget, sketch.public().within(self.settings.max_events))

    def law(self) -> dict[str, object]:
        """Return that the bound is chosen."""
        return {"max_keys": "auto"}
