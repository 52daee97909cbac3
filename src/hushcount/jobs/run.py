"""From a source to a sketch: batch by batch, with progress, checkpoints and the public length bound."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushcount import signals
from hushcount.errors import DataError
from hushcount.jobs.checkpoints import Checkpoint, check_resumable, check_same
from hushcount.jobs.origin import Origin, Position
from hushcount.sources.in_domain import SourceInDomain, readable_type
from hushcount.sources.open import open_source
from hushcount.sources.source import Batch, Source

if TYPE_CHECKING:
    from hushcount.keys.domains import Domain

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Request:
    """Which data to count, as `open_source` takes it."""

    data: Any = None
    column: str | list[str] | None = None
    format: str | None = None
    key_type: str = "auto"
    sql: str | None = None
    user: str | None = None
    domain: Domain | None = None

    def open(self, state: Any = None) -> Source:
        """Open the source; `state` of a stopped run gives its order again."""
        source = open_source(
            self.data,
            column=self.column,
            format=self.format,
            key_type=self.key_type if self.domain is None else readable_type(self.domain, self.key_type),
            sql=self.sql,
            user=self.user,
            state=state,
        )
        return source if self.domain is None else SourceInDomain(source, self.domain)


@dataclass(slots=True)
class Run:
    """A sketch that is reading its source."""

    source: Source
    sketch: Any
    rows: int = 0
    checkpoint: Checkpoint | None = None
    max_events: int | None = None
    look: Callable[[Any], object] | None = None  # at the keys of each batch before they are counted
    broken: bool = False  # while a batch is counted, the sketch is ahead of its position

    def position(self, finished: bool = False) -> Position:
        """How far the sketch has read."""
        source = self.source
        return Position(self.rows, finished, source.fingerprint, source.state, Origin.of(source))

    def count(self, progress: Progress | None = None) -> None:
        """Read what is left; a stopped run saves what it has counted whole."""
        with signals.handled():
            try:
                self._count(progress)
            except KeyboardInterrupt:
                self.save()
                raise

    def save(self) -> None:
        """Write the checkpoint, unless a batch is counted in part."""
        if self.checkpoint is not None and not self.broken:
            self.checkpoint.save(self.sketch, self.position())

    def _count(self, progress: Progress | None) -> None:
        size = self.source.size
        with closing(_generator(self.source.batches(self.rows))) as batches:
            for batch in batches:
                with signals.held():
                    self._add(batch)
                signals.check()
                if progress is not None:
                    progress(batch.bytes_read, size)
                if self.checkpoint is not None and self.checkpoint.due:
                    self.save()

    def _add(self, batch: Batch) -> None:
        self.broken = True
        if self.look is not None:
            self.look(batch.keys)
        self.sketch.update(batch.keys)
        self.rows += batch.rows
        self.broken = False
        if self.max_events is not None:
            check_length(self.sketch.total, self.max_events)


def check_length(events: int, max_events: int | None) -> None:
    """Raise when the data are longer than the public bound that the release will assume."""
    if max_events is not None and events > max_events:
        raise DataError(
            f"The data hold more than max_events = {max_events} events, so nothing was released;"
            " this message itself reveals that, outside the guarantee."
        )


def _generator(batches: Iterator[Batch]) -> Generator[Batch, None, None]:
    """The same batches; closing it closes them too."""
    yield from batches


def open_run(request: Request, sketch: Any, checkpoint: str | os.PathLike[str] | None) -> Run:
    """Open the source at its start, or where a stopped run left it."""
    kept = Checkpoint.at(checkpoint)
    stopped = kept.restore() if kept is not None else None
    if kept is None or stopped is None:
        source = request.open()
        if kept is not None:
            check_resumable(source.fingerprint)
        return Run(source, sketch, checkpoint=kept)
    source = request.open(stopped[1].state)
    check_resumable(source.fingerprint)
    check_same(kept.path, stopped, sketch, source.fingerprint)
    return Run(source, stopped[0], stopped[1].rows, kept)
