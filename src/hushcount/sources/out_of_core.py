"""Queries over all rows of a source by DuckDB: in little memory, and beyond that in a private folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hushcount.errors import DataError, HushcountError
from hushcount.sources.deferred_signals import DeferredSignals
from hushcount.sources.failures import guarded
from hushcount.sources.json_lines import ROWS

if TYPE_CHECKING:
    from hushcount.sources.batches import Batch, Source

    Record = Callable[[Batch], pa.RecordBatch]

MEMORY = "512MB"


@dataclass(frozen=True, slots=True)
class OutOfCore:
    """A query of `rows`, which are the records of a source, and what to say when it fails.

    DuckDB works in `memory`, and beyond that in a private folder (0700) that is removed at the end, whatever
    the end is. Its own words, which quote the data, go no further: `too_large` and `failed` stand for them.
    """

    query: Callable[[], str]
    too_large: str
    failed: str
    memory: str = MEMORY

    def batches(self, source: Source, record: Record) -> Iterator[pa.RecordBatch]:
        """Yield the result, in order."""
        feed = _Feed(source, record)

        def sentence(error: Exception) -> HushcountError:
            return feed.failure or DataError(self.too_large if _out_of_memory(error) else self.failed)

        yield from guarded(self._result(feed), sentence)

    def _result(self, feed: _Feed) -> Iterator[pa.RecordBatch]:
        with _private_folder() as folder:
            options: dict[str, Any] = {"threads": 2, "memory_limit": self.memory, "temp_directory": folder}
            try:
                with closing(feed), _connected(options, feed.signals) as connection:
                    yield from self._rows(feed, connection)
            except Exception as error:
                if feed.interrupted(error):
                    raise KeyboardInterrupt from None
                raise

    def _rows(self, feed: _Feed, connection: Any) -> Iterator[pa.RecordBatch]:
        reader = feed.reader()
        if reader is None:
            return
        with feed.signals.deferred():
            rows = connection.from_arrow(reader)
            result = rows.query("rows", self.query()).to_arrow_reader(ROWS)
        while (batch := _next(result, feed.signals)) is not None:
            yield batch


@contextmanager
def _connected(options: dict[str, Any], signals: DeferredSignals) -> Iterator[Any]:
    """A connection that signals interrupt, and which no exception of theirs meets half open or closed."""
    import duckdb

    with signals.deferred():
        connection = duckdb.connect(config=options)
        signals.stop = connection.interrupt
    try:
        yield connection
    finally:
        with signals.deferred():
            signals.stop = _nothing  # the connection holds the feed, and that the signals: no circle
            connection.close()


def _nothing() -> None:
    """There is nothing to stop."""


def _next(result: pa.RecordBatchReader, signals: DeferredSignals) -> pa.RecordBatch | None:
    with signals.deferred():
        return next(result, None)


@contextmanager
def _private_folder() -> Iterator[str]:
    """A folder that is gone at the end, however often somebody interrupts."""
    signals, folder = DeferredSignals(), None
    try:
        with signals.deferred():
            folder = tempfile.mkdtemp(prefix="hushcount-")
        yield folder
    finally:
        if folder is not None:
            with signals.deferred():
                shutil.rmtree(folder, ignore_errors=True)


def _out_of_memory(error: Exception) -> bool:
    """Whether memory ran out; a result that is being read says so in words alone."""
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()


class _Feed:
    """Batches of a source as an Arrow stream for DuckDB, and what went wrong while they were read."""

    def __init__(self, source: Source, record: Record) -> None:
        self._batches = source.batches()
        self._record = record
        self._failure: BaseException | None = None
        self.signals = DeferredSignals()

    def reader(self) -> pa.RecordBatchReader | None:
        """The stream; None of a source without rows."""
        first = next(self._batches, None)
        if first is None:
            return None
        with self.signals.deferred():
            start = self._record(first)
        return pa.RecordBatchReader.from_batches(start.schema, self._records(start))

    def _records(self, start: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield start
        try:
            while (batch := self._next()) is not None:
                yield self._record(batch)
        except GeneratorExit:
            raise
        except BaseException as error:  # DuckDB turns it into words of its own
            self._failure = error
            raise

    def _next(self) -> Batch | None:
        """The next batch; a source that says nothing must not keep anybody from interrupting."""
        with self.signals.at_once():
            return next(self._batches, None)

    @property
    def failure(self) -> HushcountError | None:
        """What the source itself said, if the failure began there."""
        return self._failure if isinstance(self._failure, HushcountError) else None

    def interrupted(self, error: Exception) -> bool:
        """Whether Ctrl-C ended the query, or the reading for it."""
        if self._failure is not None or isinstance(error, HushcountError):
            return isinstance(self._failure, KeyboardInterrupt)
        return "interrupt" in str(error).lower()

    def close(self) -> None:
        """Stop reading."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()
