"""From a source to a sketch: batch by batch, with progress, checkpoints and the public length bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from hushcount import signals
from hushcount.errors import DataError
from hushcount.files.atomic import PathLike, refuse_same
from hushcount.jobs.checkpoints import Checkpoint, check_resumable, check_same
from hushcount.jobs.origin import Origin, Position
from hushcount.noise.bits import system_bits
from hushcount.sources.bounded import BoundedSource
from hushcount.sources.in_domain import SourceInDomain, readable_type
from hushcount.sources.open import open_source
from hushcount.sources.source import Batch, Source

if TYPE_CHECKING:
    from hushcount.keys.domains import Domain
    from hushcount.noise.bits import Bits
    from hushcount.shapes import Public, Sketch
    from hushcount.sources.duckdb.bounding import Bound

Progress = Callable[[int, int | None], None]
Published = TypeVar("Published")
Published_co = TypeVar("Published_co", covariant=True)


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
    bound: Bound | None = None  # of what each user contributes
    with_users: bool = False  # for sketches that count users themselves
    progress: Progress | None = None  # while the rows of each user are brought together

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
        if self.domain is not None:
            source = SourceInDomain(source, self.domain)
        if self.bound is None:
            return source
        return BoundedSource(source, self.bound, self.with_users, self.progress)


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

    def finish(self) -> None:
        """Give up the checkpoint: its work is done, and it holds raw data."""
        if self.checkpoint is not None:
            self.checkpoint.remove()

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


class Ask(ABC, Generic[Published]):
    """What a job is asked for: all that is decided before any row is read, and what is done last."""

    request: Request

    @property
    @abstractmethod
    def max_events(self) -> int | None:
        """The public bound on the number of events, if one was stated."""

    @property
    def outputs(self) -> tuple[PathLike | None, ...]:
        """The files that `finish` writes, None for one that was not asked for."""
        return ()

    @abstractmethod
    def sketch(self) -> Sketch:
        """Return an empty sketch."""

    @abstractmethod
    def mechanism(self, public: Public) -> Releasing[Published]:
        """Return the calibrated mechanism for a sketch with these public numbers, or raise."""

    @abstractmethod
    def finish(self, whole: Published, origin: Origin) -> Published:
        """Return the release with its keys as columns, its notes and cuts, written where asked."""

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Read the source into the sketch: the only loop over raw data."""
        reading.count(progress)


class Releasing(Protocol[Published_co]):
    """A mechanism, seen from the job that runs it."""

    def release(self, shape: Any, bits: Bits) -> Published_co:
        """Draw the noise: this spends the budget."""
        ...


def run(
    ask: Ask[Published], checkpoint: PathLike | None = None, progress: Progress | None = None
) -> Published:
    """Do a job: prepare the mechanism, open the source, count, draw the noise once, finish.

    A mechanism that cannot be used is refused before the source is opened. The checkpoint is removed only
    when the release has been written.
    """
    sketch = ask.sketch()
    mechanism = ask.mechanism(sketch.public())
    with signals.handled():
        reading = open_run(ask.request, sketch, checkpoint, ask.outputs)
        reading.max_events = ask.max_events
        ask.count(reading, progress)
        whole = mechanism.release(reading.sketch.shape(), system_bits())
        with signals.held():  # a checkpoint that outlives its release would be released again
            done = ask.finish(whole, Origin.of(reading.source))
            reading.finish()
    return done


def open_run(
    request: Request, sketch: Any, checkpoint: PathLike | None, outputs: Sequence[PathLike | None] = ()
) -> Run:
    """Open the source at its start, or where a stopped run left it; the sketch takes over its unit.

    A run whose output or checkpoint would replace one of its own files is refused.
    """
    kept = Checkpoint.at(checkpoint)
    refuse_same([checkpoint, *outputs], ())
    stopped = kept.restore() if kept is not None else None
    source = request.open(None if stopped is None else stopped[1].state)
    refuse_same([checkpoint, *outputs], source.inputs)
    if kept is not None:
        check_resumable(source.fingerprint)
    if kept is None or stopped is None:
        sketch.unit = source.unit
        return Run(source, sketch, checkpoint=kept)
    check_same(kept.path, stopped, sketch, source.fingerprint)
    stopped[0].unit = source.unit
    return Run(source, stopped[0], stopped[1].rows, kept)
