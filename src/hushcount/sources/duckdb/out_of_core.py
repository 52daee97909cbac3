"""Queries over all rows of a source by DuckDB: in little memory, and beyond that in a private folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import DataError, HushcountError
from hushcount.files.failures import guarded
from hushcount.files.leftovers import private_folder
from hushcount.signals import held
from hushcount.sources.read_ahead import Wakeable
from hushcount.sources.source import Batch, Source
from hushcount.stores.duckdb import MEMORY, ROWS, connect, record_batches

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Record = Callable[[Batch], pa.RecordBatch]
Tell = Callable[[Batch], None]


def untold(_batch: Batch) -> None:
    """Tell nobody that a batch was read."""


@dataclass(frozen=True, slots=True)
class OutOfCore:
    """A query of `rows`, which are the records of a source, and what to say when it fails.

    DuckDB works in `memory`, and beyond that in a private folder (0700) that is removed at the end, whatever
    the end is. Its own messages quote the data, so `too_large` or `failed` is raised in their place.
    """

    query: str
    too_large: str
    failed: str
    memory: str = MEMORY

    def batches(self, source: Source, record: Record, tell: Tell = untold) -> Iterator[pa.RecordBatch]:
        """Yield the result, in order; `tell(batch)` is called for each batch that is read."""
        feed = _Feed(source, record, tell)

        def sentence(error: Exception) -> HushcountError:
            return feed.failure or DataError(self.too_large if out_of_memory(error) else self.failed)

        yield from guarded(self._result(feed), sentence)

    def _result(self, feed: _Feed) -> Iterator[pa.RecordBatch]:
        """Run DuckDB in its own thread, so that no signal can interrupt it in the middle of an operation."""
        with private_folder() as folder:
            running: list[DuckDBPyConnection] = []
            rows = Wakeable(self._rows(folder, feed, running))
            try:
                while (batch := rows.next()) is not None:
                    yield batch
            except Exception as error:
                if feed.interrupted(error):
                    raise KeyboardInterrupt from None
                raise
            finally:
                with held():
                    interrupt(running)
                    feed.stop()  # a query ends only when nobody waits for rows any more
                    rows.close(patience=None)
                    feed.close()

    def _rows(self, folder: str, feed: _Feed, running: list[DuckDBPyConnection]) -> Iterator[pa.RecordBatch]:
        """Yield the result of the query; its connection is among those `running` as long as it can end."""
        with connect(folder, self.memory) as connection:
            reader = feed.reader()
            if reader is not None:
                running.append(connection)
                rows = connection.from_arrow(reader)
                yield from record_batches(rows.query("rows", self.query), ROWS)  # type: ignore[arg-type]


def interrupt(running: Sequence[DuckDBPyConnection]) -> None:
    """End the queries of connections; one may have come to its end meanwhile."""
    for connection in running:
        with suppress(Exception):
            connection.interrupt()


def out_of_memory(error: Exception) -> bool:
    """Return whether memory ran out; while a result is read, only the message says so."""
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()


class _Feed:
    """Batches of a source as an Arrow stream for DuckDB, and what went wrong while they were read."""

    def __init__(self, source: Source, record: Record, tell: Tell) -> None:
        self._batches = Wakeable(source.batches())
        self._record, self._tell = record, tell
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
            self._tell(batch)
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
