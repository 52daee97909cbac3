"""A source of the rows of one window of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.files.fingerprint import narrowed
from hushcount.sources.source import Batch, Source, WrappedSource

if TYPE_CHECKING:
    from hushcount.keys.columns import KeyColumns
    from hushcount.keys.times import TimeColumn


@dataclass(frozen=True, slots=True)
class WindowedSource(WrappedSource):
    """A source whose columns drop the rows outside a window; nothing else of it shows the time column."""

    source: Source
    times: TimeColumn
    words: str

    @property
    def columns(self) -> KeyColumns:
        """The key columns, without that of the times."""
        return self.source.columns.without_time()

    @property
    def fingerprint(self) -> str:
        """Identifies these rows; empty when the source cannot be read a second time."""
        return narrowed(self.source.fingerprint, self.times.condition)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say which rows are counted."""
        return (
            *self.source.notes,
            f"Only rows of the window {self.words} are counted, by {self.times.name}.",
        )

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys of the rows in the window."""
        return self.source.batches(skip_rows)
