"""Counts of users for every bound on their keys, made on disk, and the table of the bound that is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.jobs.run import TableAsk, check_length
from hushcount.mechanisms.histograms.chosen import (
    LARGEST_BOUND,
    WIDER,
    ChosenBound,
    RankedCounts,
    bounds,
)
from hushcount.privacy import USER, PrivacyUnit
from hushcount.shapes import Public
from hushcount.sources.duckdb.counted import CountedByBound

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts
    from hushcount.jobs.request import Progress
    from hushcount.jobs.run import Run
    from hushcount.sources.source import Batch, Source

MOST_PLACES = WIDER * LARGEST_BOUND


@dataclass(slots=True, kw_only=True)
class RankedOnDisk:
    """All keys with their numbers of users for every bound on the keys of a user.

    The counts are needed twice, for the choice of a bound and for its table, so they wait in a file without a
    name, which only its owner can read and which is gone with the process.
    """

    min_users: int | None = None
    max_events: int | None = None
    unit: PrivacyUnit = USER
    total: int = 0
    pairs: Counts = field(default_factory=lambda: np.zeros(MOST_PLACES, np.int64))
    _file: IO[bytes] | None = None

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def update(self, keys: pa.Array) -> None:
        """Refuse: the rows are read by `read`."""
        raise ParameterError("rows are read from their source, not one batch after the other.")

    def public(self) -> Public:
        """Return the largest bound, and the least number of users."""
        return Public(unit=self.unit, moved=LARGEST_BOUND, shape=RankedCounts, min_users=self.min_users)

    def shape(self) -> RankedCounts:
        """Return the counts, which can be taken several times."""
        return RankedCounts(self._blocks, self.pairs, bounds(), self.unit)

    def read(self, source: Source, progress: Progress | None) -> None:
        """Read and count all rows; `progress` is called with the bytes read so far and in all."""

        def tell(batch: Batch) -> None:
            places = batch.keys.field("place").to_numpy()
            self.pairs += np.bincount(places - 1, minlength=MOST_PLACES)
            self.total += int((places <= LARGEST_BOUND).sum())
            check_length(self.total, self.max_events)
            if progress is not None:
                progress(batch.bytes_read, source.size)

        writer = None
        for batch in CountedByBound(source, bounds()).batches(tell):
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


@dataclass(frozen=True)
class ChosenAsk(TableAsk):
    """A table of users whose number of keys is chosen from the data."""

    def prepare(self) -> tuple[RankedOnDisk, ChosenBound]:
        """Return the counts to be made, and the mechanism that chooses and releases, or raise."""
        sketch = self.new()
        assert isinstance(sketch, RankedOnDisk)
        return sketch, ChosenBound(self.settings.budget, sketch.public().within(self.settings.max_events))

    def law(self) -> dict[str, object]:
        """Return that the bound is chosen."""
        return {"max_keys": "auto"}

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Read and count all rows."""
        sketch = reading.sketch
        assert isinstance(sketch, RankedOnDisk)
        sketch.read(reading.source, progress)
