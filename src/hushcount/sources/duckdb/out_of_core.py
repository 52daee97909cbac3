"""Queries over all rows of a source by DuckDB: in little memory, and beyond that in a private folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import guarded
from hushcount.files.leftovers import private_folder
from hushcount.signals import held
from hushcount.sources.duckdb.json_lines import ROWS
from hushcount.sources.read_ahead import Wakeable
from hushcount.stores.duckdb import MEMORY, connect, record_batches

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hushcount.sources.source import Batch, Source

    Record = Callable[[Batch], pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class OutOfCore:
    """A query of `rows`, which are the records of a source, and what to say when it fails.

    DuckDB works in `memory`, and beyond that in a private folder (0700) that is removed at the end, whatever
    the end is. Its own messages quote the data, so `too_large` or `failed` is raised in their place.
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
        """Run DuckDB in its own thread, so that no signal can interrupt it in the middle of an operation."""
        with private_folder() as folder:
            work = _Work(folder, self.memory)
            rows = Wakeable(work.rows(feed, self.query))
            try:
                while (batch := rows.next()) is not None:
                    yield batch
            except Exception as error:
                if feed.interrupted(error):
                    raise KeyboardInterrupt from None
                raise
            finally:
                with held():
                    work.interrupt()
                    feed.stop()  # a query ends only when nobody waits for rows any more
                    rows.close(patience=None)
                    feed.close()


class _Work:
    """A query that one thread runs and another may interrupt."""

    def __init__(self, folder: str, memory: str) -> None:
        self._folder, self._memory = folder, memory
        self._connection: DuckDBPyConnection | None = None

    def rows(self, feed: _Feed, query: Callable[[], str]) -> Iterator[pa.RecordBatch]:
        """Yield the result, in order."""
        with connect(self._folder, self._memory) as connection:
            reader = feed.reader()
            if reader is None:
                return
            self._connection = connection
            try:
                rows = connection.from_arrow(reader)
                yield from record_batches(rows.query("rows", query()), ROWS)  # type: ignore[arg-type]
            finally:
                self._connection = None

    def interrupt(self) -> None:
        """End the query if it still runs."""
        connection = self._connection
        if connection is not None:
            with suppress(Exception):  # it has come to its end meanwhile
                connection.interrupt()


def _out_of_memory(error: Exception) -> bool:
    """Return whether memory ran out; while a result is read, only the message says so."""
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()


class _Feed:
    """Batches of a source as an Arrow stream for DuckDB, and what went wrong while they were read."""

    def __init__(self, source: Source, record: Record) -> None:
        self._batches = Wakeable(source.batches())
        self._record = record
        self._failure: BaseException | None = None

    def reader(self) -> pa.RecordBatchReader | None:
        """Return the stream, or None if the source has no rows."""
        start = next(self._recorded(), None)
        if start is None:
            return None
        return pa.RecordBatchReader.from_batches(start.schema, self._records(start))

    def _recorded(self) -> Iterator[pa.RecordBatch]:
        """Yield what becomes of each batch; one without rows may be of another type, and is left out."""
        while (batch := self._batches.next()) is not None:
            if (record := self._record(batch)).num_rows:
                yield record

    def _records(self, start: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield start
        try:
            yield from self._recorded()
        except GeneratorExit:
            raise
        except BaseException as error:  # DuckDB turns it into words of its own
            self._failure = error
            raise

    @property
    def failure(self) -> HushcountError | None:
        """What the source itself said, if the failure began there."""
        return self._failure if isinstance(self._failure, HushcountError) else None

    def interrupted(self, error: Exception) -> bool:
        """Whether Ctrl-C ended the query, or the reading for it."""
        if self._failure is not None or isinstance(error, HushcountError):
            return isinstance(self._failure, KeyboardInterrupt)
        return "interrupt" in str(error).lower()

    def stop(self) -> None:
        """End the wait for a batch, in whatever thread it is."""
        self._batches.stop()

    def close(self) -> None:
        """Stop reading."""
        self._batches.close()
