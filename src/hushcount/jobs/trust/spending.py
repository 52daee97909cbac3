"""Releases that go through a ledger: reserved before data are read, stored before anything leaves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from hushcount import signals
from hushcount.accounting.chain import question_hash
from hushcount.accounting.charges import Event
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Answer, Preview, Reservation, RunPlan
from hushcount.accounting.windows import TimeWindow, window_of
from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.atomic import PathLike
from hushcount.keys.domains import KnownKeys
from hushcount.keys.times import TimeColumn
from hushcount.privacy import PrivacyUnit

if TYPE_CHECKING:
    from hushcount.releases.stored.documents import Stored


DEFAULT = "HUSHCOUNT_LEDGER"
NO_DATASET = "dataset must name the budget of the ledger that this release spends."
STORED = "the ledger holds the release. Run it again, without --again, to get it at no further cost."
FAILED = "The release failed after its noise was drawn, so that is its answer."
Published = TypeVar("Published")


@dataclass(frozen=True, kw_only=True)
class Spending:
    """Whose budget a release spends, under which name, and the time that its rows are from.

    Without a ledger nothing is recorded. The environment variable HUSHCOUNT_LEDGER names the ledger for
    releases that name none.
    """

    ledger: PathLike | None = None
    dataset: str | None = None
    run_id: str | None = None
    again: bool = False
    window: str | None = None
    time: str | None = None
    time_zone: str | None = None

    def __post_init__(self) -> None:
        if self.ledger is not None and self.dataset is None:
            raise ParameterError(NO_DATASET)
        if self.book is None and (self.dataset is not None or self.run_id is not None or self.again):
            raise ParameterError("dataset, run_id and again need ledger, a file or postgresql://....")
        if self.window is not None and self.time is None:
            raise ParameterError("window needs time, the column that tells when a row is from.")
        if self.window is None and (self.time is not None or self.time_zone is not None):
            raise ParameterError("time and time_zone need window, a day or FROM/TO.")
        _ = self.span

    @property
    def book(self) -> PathLike | None:
        """The ledger, named by the caller or the environment."""
        return self.ledger or os.environ.get(DEFAULT) or None

    @property
    def span(self) -> TimeWindow | None:
        """The window in UTC."""
        if self.window is None or self.time is None:
            return None
        return window_of(self.window, self.time_zone).by(self.time, self.time_zone or "UTC")

    @property
    def kept_times(self) -> TimeColumn | None:
        """The rows that are in the window, None for all."""
        span = self.span
        if span is None or self.time is None:
            return None
        return TimeColumn(self.time, span.start, span.stop, self.time_zone or "UTC")

    def planned(
        self,
        cost: Event,
        unit: PrivacyUnit,
        question: Mapping[str, object],
        source: str = "",
        window: TimeWindow | None = None,
    ) -> RunPlan | None:
        """Return what a release asks of the ledger, None without a ledger, or raise.

        Parameters
        ----------
        cost
            What the release costs.
        unit
            What it protects.
        question
            All that changes the distribution of its answer.
        source
            The fingerprint of its data, empty if they have none.
        window
            The time that a sketch is from; of other data it is the window that was asked for.
        """
        if self.book is None:
            return None
        if self.dataset is None:
            raise ParameterError(NO_DATASET)
        span = self.span if window is None else window
        asked: dict[str, object] = {
            "dataset": self.dataset,
            "unit": unit.name,
            "time": self.time,
            "cost": cost,
        }
        if self.time_zone is not None:  # it says which rows are in a window that is given in another zone
            asked["time_zone"] = self.time_zone
        whole = {"asked": plain(asked), "question": plain(question)}
        hashed, series = question_hash(whole | {"window": str(span)}), question_hash(whole)
        return RunPlan(hashed, unit.name, cost, self.run_id, self.again, source or None, span, series)

    def planned_sketch(self, cost: Event, unit: PrivacyUnit, law: Sequence[object]) -> RunPlan | None:
        """Return what the release of a sketch in memory asks: it cannot be recognised, so it needs a name."""
        if self.kept_times is not None:
            raise ParameterError("window is for data with a column of times, not for a sketch.")
        return self.planned(cost, unit, {"command": "release", "law": law})

    def reserve(self, plan: RunPlan | None) -> Recorded[Published]:
        """Record the charge of a release, or raise; without a ledger nothing is recorded."""
        if plan is None or self.book is None or self.dataset is None:
            return Recorded(None, None)
        ledger = Ledger(self.book)
        return Recorded(ledger, ledger.reserve(self.dataset, plan), plan.window)

    def preview(self, plan: RunPlan | None) -> Preview | None:
        """Return what the ledger would do with a release, None without a ledger; nothing is written."""
        if plan is None or self.book is None or self.dataset is None:
            return None
        return Ledger(self.book).preview(self.dataset, plan)


@dataclass(frozen=True, slots=True)
class Recorded(Generic[Published]):
    """A release that may be drawn once, or has been; what is returned names its entry in the ledger."""

    ledger: Ledger | None
    reservation: Reservation | None
    window: TimeWindow | None = None

    def stored(self) -> Published | None:
        """Return the answer that an earlier run has stored, None if the noise may be drawn, or raise."""
        if self.reservation is None or self.reservation.answer is None:
            return None
        signals.leaves(STORED)
        return self._entered(_read(self.reservation.answer))

    def drawn(self, draw: Callable[[], Published]) -> Published:
        """Draw, store, and return what may leave: an error after the draw is an answer too."""
        if self.ledger is None or self.reservation is None:
            return draw()
        try:
            published = draw()
        except Exception as error:
            message = str(error) if isinstance(error, HushcountError) else FAILED
            self.ledger.commit(self.reservation, Answer(message.encode(), "error"))
            raise
        answer = Answer(cast("Stored", published).to_json().encode("utf-8", "surrogatepass"))
        with signals.held():
            stored = self.ledger.commit(self.reservation, answer)
            signals.leaves(STORED)
        return self._entered(cast("Stored", published) if stored == answer else _read(stored))

    def _entered(self, release: Stored) -> Published:
        """Return a release that names the dataset, the run and the window of its entry."""
        if self.reservation is None or release.made is None:
            return cast("Published", release)
        entry = {"dataset": self.reservation.dataset, "run_id": self.reservation.run_id}
        window = {} if self.window is None else {"window": str(self.window)}
        options = {**release.made.options, **entry, **window}
        return cast("Published", replace(release, made=replace(release.made, options=options)))


def _read(answer: Answer) -> Stored:
    """Return a stored release, or raise the stored error."""
    from hushcount.releases.stored.reading import read_release

    if answer.outcome == "error":
        raise DataError(answer.content.decode())
    return read_release(answer.content)


def plain(value: object) -> object:
    """Return what a question is made of as plain values for JSON; numbers become texts."""
    if isinstance(value, KnownKeys):
        return value.digest
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__} | named
    return value.__name__ if isinstance(value, type) else _text(value)


def _text(value: object) -> object:
    """Return a single value as it stands in JSON."""
    if value is None or isinstance(value, bool | str):
        return value
    return repr(value) if isinstance(value, int | float) else str(value)
