"""From a source to a sketch: batch by batch, with progress, checkpoints and the public length bound."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from hushcount import signals
from hushcount.errors import DataError, PrivacyWarning
from hushcount.files.atomic import PathLike, refuse_same
from hushcount.jobs.checkpoints import Checkpoint, check_resumable, check_same
from hushcount.jobs.origin import Origin, Position
from hushcount.keys.plain import MAX_KEY_BYTES, KeyLimit
from hushcount.noise.bits import system_bits
from hushcount.sources.bounded import BoundedSource
from hushcount.sources.in_domain import SourceInDomain, readable_type
from hushcount.sources.open import open_source
from hushcount.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Generator

    from hushcount.keys.domains import Domain
    from hushcount.keys.memory import Data
    from hushcount.noise.bits import Bits
    from hushcount.privacy import Budget
    from hushcount.shapes import Public, Sketch
    from hushcount.sources.duckdb.bounding import Bound
    from hushcount.sources.source import Batch

Progress = Callable[[int, int | None], None]
FAR_BELOW = 0.1
FEW = (
    "delta is not far below 1 / number of events, so the guarantee is weak for data of this size."
    " This message depends on the data: do not publish it."
)
Published = TypeVar("Published")
Published_co = TypeVar("Published_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Request:
    """Which data to count, as `open_source` takes it, and how much of each user.

    `ordered` says whether the sketch depends on the order of rows, `padded` whether rows with a null are
    kept for a tree of columns. `bound` limits what each user contributes, `with_users` keeps users beside
    keys, and `progress` is called while the rows of users are sorted. `beside` are files that are read
    besides the data, such as a domain or a table of parents.
    """

    data: Data = None
    column: str | Sequence[str] | None = None
    format: str | None = None
    key_type: str = "auto"
    sql: str | None = None
    max_key_bytes: int = MAX_KEY_BYTES
    on_bad: str = "drop"
    user: str | None = None
    domain: Domain | None = None
    ordered: bool = True
    bound: Bound | None = None
    with_users: bool = False
    progress: Progress | None = None
    padded: bool = False
    beside: tuple[PathLike, ...] = ()

    def __post_init__(self) -> None:
        KeyLimit.of(self.max_key_bytes, self.on_bad)
        if self.column is not None and not isinstance(self.column, str):
            object.__setattr__(self, "column", list(self.column))

    def open(self, state: Mapping[str, str] | None = None) -> Source:
        """Open the source; `state` of a stopped run gives its order again."""
        source = open_source(
            self.data,
            column=self.column,
            format=self.format,
            key_type=self.key_type if self.domain is None else readable_type(self.domain, self.key_type),
            sql=self.sql,
            user=self.user,
            state=state,
            limit=KeyLimit.of(self.max_key_bytes, self.on_bad),
            ordered=self.ordered,
            padded=self.padded,
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
        """Count batch after batch; a signal waits until a batch is counted whole."""
        source, sketch, size = self.source, self.sketch, self.source.size
        batches = source.batches(self.rows)
        with closing(cast("Generator[Batch, None, None]", batches)):
            for batch in batches:
                with signals.held():
                    self.broken = True
                    if self.look is not None:
                        self.look(batch.keys)
                    sketch.update(batch.keys)
                    self.rows += batch.rows
                    self.broken = False
                signals.check()
                if self.max_events is not None:
                    check_length(sketch.total, self.max_events)
                if progress is not None:
                    progress(batch.bytes_read, size)
                if self.checkpoint is not None and self.checkpoint.due:
                    self.save()


def check_length(events: int, max_events: int | None) -> None:
    """Raise when the data are longer than the public bound that the release will assume."""
    if max_events is not None and events > max_events:
        raise DataError(
            f"The data hold more than max_events = {max_events} events, so nothing was released;"
            " this message itself reveals that, outside the guarantee."
        )


class Ask(ABC, Generic[Published]):
    """What a job is asked for: all that is decided before any row is read, and what is done last."""

    request: Request

    @property
    @abstractmethod
    def budget(self) -> Budget:
        """What the release spends."""

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
        events, shape = reading.sketch.total, reading.sketch.shape()
        warn_of_few(ask.budget, events)
        whole = mechanism.release(shape, system_bits())
        with signals.held():  # a checkpoint that outlives its release would be released again
            done = ask.finish(whole, Origin.of(reading.source))
            reading.finish()
    return done


def warn_of_few(budget: Budget, events: int) -> None:
    """Warn the operator, and nobody else, that delta is not far below 1 / number of events."""
    if budget.delta * max(events, 1) > FAR_BELOW:
        warnings.warn(FEW, PrivacyWarning, stacklevel=3)


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
    refuse_same([checkpoint, *outputs], [*source.inputs, *request.beside])
    if kept is not None:
        check_resumable(source.fingerprint)
    if kept is None or stopped is None:
        sketch.unit = source.unit
        return Run(source, sketch, checkpoint=kept)
    check_same(kept.path, stopped, sketch, source.fingerprint)
    stopped[0].unit = source.unit
    return Run(source, stopped[0], stopped[1].rows, kept)
