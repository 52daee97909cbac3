"""One job, from a source to a release: prepare the mechanism, count, draw the noise once, finish.

Rows are counted batch by batch, with progress, checkpoints and the public bound on their number.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from hushcount import signals
from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, refuse_same
from hushcount.files.fingerprint import content_digest
from hushcount.jobs.checkpoints import Checkpoint, Origin, Position, check_resumable, check_same
from hushcount.jobs.request import Progress, Request, adding_pairs
from hushcount.jobs.settings import SHOWN_ONLY, ReleaseSettings, Settings
from hushcount.mechanisms.registry import prepare
from hushcount.mechanisms.total import TotalRelease, WithTotal
from hushcount.noise.bits import Bits, system_bits
from hushcount.privacy import warn_of_few
from hushcount.releases.accuracy import EVENTS, Counted
from hushcount.sources.source import Batch, Source
from hushcount.sources.wrapped import BoundedSource

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.accounting.charges import Event
    from hushcount.accounting.runs import RunPlan
    from hushcount.jobs.trust.spending import Recorded
    from hushcount.releases.release import Release
    from hushcount.shapes import Public, Shape, Sketch
    from hushcount.sketches.base import SavedSketch

# What of a request decides which keys there are; the rest says where the data lie and how they are read.
ASKED = ("column", "format", "key_type", "sql", "max_key_bytes", "on_bad", "user", "bound", "padded")
WEIGHED = ("weight", "max_weight")  # asked only if a weight is given
Published = TypeVar("Published")
Published_co = TypeVar("Published_co", covariant=True)


@dataclass(slots=True)
class Run:
    """A sketch that is reading its source."""

    source: Source
    sketch: Sketch
    rows: int = 0
    checkpoint: Checkpoint | None = None
    max_events: int | None = None
    look: Callable[[pa.Array], object] | None = None  # at the keys of each batch before they are counted
    add: Callable[[pa.Array], None] | None = None  # counts a batch in place of `update`
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
            self.checkpoint.save(cast("SavedSketch", self.sketch), self.position())

    def _count(self, progress: Progress | None) -> None:
        """Count batch after batch; a signal waits until a batch is counted whole."""
        source, sketch, size = self.source, self.sketch, self.source.size
        add = self.add or (adding_pairs(sketch) if source.several else sketch.update)
        batches = source.batches(self.rows)
        with closing(cast("Generator[Batch, None, None]", batches)):
            for batch in batches:
                with signals.held():
                    self.broken = True
                    if self.look is not None:
                        self.look(batch.alone)
                    add(batch.keys)
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


class Releasing(Protocol[Published_co]):
    """A mechanism, seen from the job that runs it."""

    name: ClassVar[str]
    public: Public

    def event(self) -> Event:
        """Return what a release costs."""
        ...

    def release(self, shape: Any, bits: Bits) -> Published_co:
        """Draw the noise: this spends the budget."""
        ...


@dataclass(frozen=True)
class Ask(ABC, Generic[Published]):
    """What a job is asked for: the data, a sketch and its mechanism, and what is done last."""

    command: ClassVar[str]

    request: Request
    settings: Settings

    @abstractmethod
    def prepare(self) -> tuple[Sketch, Releasing[Published]]:
        """Return an empty sketch, and the mechanism calibrated by its public numbers, or raise."""

    @abstractmethod
    def publish(self, whole: Published, origin: Origin) -> Published:
        """Return the release with its keys as columns and its notes: what a ledger stores."""

    @abstractmethod
    def finish(self, published: Published) -> Published:
        """Return the rows and intervals asked for, written where asked."""

    def described(self) -> tuple[tuple[str, ...], Counted]:
        """Return sentences that follow the notes of the source, and what a count is a number of."""
        return (), EVENTS

    def law(self) -> Mapping[str, object]:
        """Return what decides the distribution of the answer besides the data, settings and mechanism."""
        return {}

    def planned(self, mechanism: Releasing[Published], source: Source) -> RunPlan | None:
        """Return what the release asks of the ledger, None if none is named, or raise."""
        if self.request.book is None:
            return None
        data = source.source if isinstance(source, BoundedSource) else source
        names = ASKED if self.request.weight is None else ASKED + WEIGHED
        names = names if self.request.times is None else (*names, "times")
        beside = [content_digest(os.fspath(path)) for path in self.request.beside if os.path.isfile(path)]
        asked: dict[str, object] = {
            "command": self.command,
            "data": {name: getattr(self.request, name) for name in names},
            "beside": beside,
            "settings": {
                name: value for name, value in vars(self.settings).items() if name not in SHOWN_ONLY
            },
            "mechanism": mechanism.name,
            "public": mechanism.public,
            "law": self.law(),
        }
        return self.request.planned(mechanism.event(), source.unit, asked, data.fingerprint)

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Read the source into the sketch: the only loop over raw data."""
        reading.count(progress)

    def summary(self, shape: Shape, sketch: Sketch) -> Shape:
        """Return what the mechanism sees of what was counted."""
        return shape


@dataclass(frozen=True)
class TableAsk(Ask["Release"]):
    """A table of keys and counts, of events or of users, on any engine.

    `new` returns an empty sketch. `notes` follow those of the source, `assumptions` those of the mechanism;
    `counted` says what a count is a number of.
    """

    command = "top"
    settings: ReleaseSettings
    new: Callable[[], Sketch]
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    counted: Counted = EVENTS

    def described(self) -> tuple[tuple[str, ...], Counted]:
        """Return the notes, and what a count is a number of."""
        return self.notes, self.counted

    def prepare(self) -> tuple[Sketch, Releasing[Release]]:
        """Return the sketch, and the mechanism asked for or the default one."""
        sketch = self.new()
        asked = self.settings
        public = sketch.public().within(asked.max_events, asked.domain)
        if asked.other_share is not None:
            return sketch, TotalRelease(asked.budget, public, asked.mechanism, asked.other_share)
        return sketch, prepare(asked.mechanism, asked.budget, public)

    def summary(self, shape: Shape, sketch: Sketch) -> Shape:
        """Return the counts, with the number of all that was counted if it is asked for."""
        return shape if self.settings.other_share is None else WithTotal(shape, sketch.total)

    def publish(self, whole: Release, origin: Origin) -> Release:
        """Return the table with its keys as columns, its notes, and what it counts and assumes."""
        guarantee = self.request.assuming(whole.guarantee, self.assumptions)
        stated = replace(whole, guarantee=guarantee, counted=self.counted)
        return self.settings.published(stated, origin, self.notes)

    def finish(self, published: Release) -> Release:
        """Return the rows and intervals asked for, written where asked."""
        return self.settings.finished(published)


@dataclass(frozen=True, slots=True)
class Running:
    """How a job is run: with how many counters, where it saves its state, and what hears of its progress."""

    counters: int | None = None
    checkpoint: PathLike | None = None
    progress: Progress | None = None

    def of_users(self) -> Running:
        """Return the same for rows of users, which the source tells about; raise for a checkpoint."""
        if self.checkpoint is not None:
            raise ParameterError(
                "checkpoint cannot be combined with user: rows are first sorted by user, and the sort cannot"
                " be resumed."
            )
        return replace(self, progress=None)


def run(ask: Ask[Published], running: Running = Running()) -> Published:  # noqa: B008
    """Do a job: prepare the mechanism, open the source, count, draw the noise once, finish.

    A mechanism that cannot be used is refused before the source is opened, and a release that a ledger does
    not allow before a row is read. Nothing leaves before the ledger has stored it. The checkpoint is removed
    only when the release has been written.
    """
    sketch, mechanism = ask.prepare()
    with signals.handled():
        reading = open_run(ask.request, sketch, running.checkpoint, ask.settings.outputs)
        reading.max_events = ask.settings.max_events
        recorded: Recorded[Published] = ask.request.reserve(ask.planned(mechanism, reading.source))
        published = recorded.stored()
        if published is None:
            ask.count(reading, running.progress)
            source = reading.source
            origin = Origin(source.columns, source.unit, source.notes)
            warn_of_few(ask.settings.budget, reading.sketch.total // origin.unit.weight, origin.unit)
            shape = ask.summary(reading.sketch.shape(), reading.sketch)
            published = recorded.drawn(lambda: ask.publish(drawn(mechanism, shape), origin))
        with signals.held():  # a checkpoint that outlives its release would be released again
            done = ask.finish(published)
            if reading.checkpoint is not None:
                reading.checkpoint.remove()
    return done


def drawn(mechanism: Releasing[Published], shape: Shape, bits: Bits | None = None) -> Published:
    """Draw the noise of a release, with secure bits unless given: the one place that spends a budget."""
    return mechanism.release(shape, bits or system_bits())


def open_run(
    request: Request, sketch: Sketch, checkpoint: PathLike | None, outputs: Sequence[PathLike | None] = ()
) -> Run:
    """Open the source at its start, or where a stopped run left it; the sketch takes over its unit.

    A run whose output or checkpoint would replace one of its own files is refused.
    """
    kept = Checkpoint.at(checkpoint)
    refuse_same([checkpoint, *outputs], ())
    stopped = kept.restore() if kept is not None else None
    source = request.open_for(sketch, None if stopped is None else stopped[1].state)
    refuse_same([checkpoint, *outputs], [*source.inputs, *request.beside])
    reading = Run(source, sketch, checkpoint=kept)
    if kept is not None:
        check_resumable(source.fingerprint)
        if stopped is not None:
            check_same(kept.path, stopped, cast("SavedSketch", sketch), source)
            reading.sketch, reading.rows = stopped[0], stopped[1].rows
    reading.sketch.unit = source.unit
    return reading
