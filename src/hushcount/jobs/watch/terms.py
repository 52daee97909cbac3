"""What a watch is: all that was fixed and paid for when it was made."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from hushcount.accounting.chain import question_hash
from hushcount.accounting.charges import Event
from hushcount.accounting.runs import EVENT, RunPlan, check_name
from hushcount.accounting.schedule import Schedule
from hushcount.errors import ParameterError, PrivacyWarning
from hushcount.jobs.watch.calendar import Calendar
from hushcount.keys.columns import KeyColumns
from hushcount.mechanisms.continual.gate import Watching
from hushcount.privacy import Budget, check_count

TYPES = {"text": "VARCHAR", "int": "BIGINT"}
RESERVED = ("kind", "level", "start", "end", "value", "partial", "count", "lower", "upper")


@dataclass(frozen=True)
class WatchTerms:
    """The public terms of a watch, and where its ledger is.

    Parameters
    ----------
    period, start, until : str
        The length of a period, and the time that all periods cover.
    epsilon, delta : float
        What the whole feed may spend.
    ledger, dataset : str
        The ledger, and the dataset that is charged.
    name : str
        The name of the watch in the ledger.
    levels : tuple of str
        Lengths of nodes.
    column : tuple of str
        The columns that make a key; none if the data have only one.
    key_type : str
        How keys are read: "text" or "int".
    time, time_zone : str, optional
        The column that tells when a row is from, and the zone of times without one.
    min_events : int
        Keys with fewer events are never published.
    retire_below : int, optional
        A key is forgotten if a whole node of the last level is published with less.
    """

    period: str
    start: str
    until: str
    epsilon: float
    delta: float
    ledger: str
    dataset: str
    name: str = "watch"
    levels: tuple[str, ...] = ()
    column: tuple[str, ...] = ()
    key_type: str = "text"
    time: str | None = None
    time_zone: str | None = None
    min_events: int = 1
    retire_below: int | None = None

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if "/" in self.name:
            raise ParameterError("name must not contain a slash, because runs are named NAME/PERIOD.")
        if self.key_type not in TYPES:
            raise ParameterError(f"type must be one of {', '.join(TYPES)}, got {self.key_type}.")
        if taken := [name for name in self.column if name in RESERVED]:
            raise ParameterError(f"column must not have the name of a column of the feed, got {taken[0]}.")
        if self.time_zone is not None and self.time is None:
            raise ParameterError("time_zone needs time, the column that tells when a row is from.")
        if self.retire_below is not None:
            check_count("retire_below", self.retire_below)
        check_count("min_events", self.min_events)
        _ = self.watching, self.key_names

    @classmethod
    def from_text(cls, stored: str) -> WatchTerms:
        """Return the terms that `text` wrote."""
        return cls.from_fields(json.loads(stored))

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> WatchTerms:
        """Return the terms that `asdict` wrote; the public ones do not say where the ledger is."""
        with warnings.catch_warnings():  # they were given when the watch was made
            warnings.simplefilter("ignore", PrivacyWarning)
            return cls(
                **{"ledger": ""} | fields | {name: tuple(fields[name]) for name in ("levels", "column")}
            )

    @property
    def text(self) -> str:
        """The terms as JSON."""
        return json.dumps(asdict(self))

    @property
    def public(self) -> dict[str, object]:
        """The terms without the place of the ledger."""
        return {name: each for name, each in asdict(self).items() if name != "ledger"}

    @cached_property
    def calendar(self) -> Calendar:
        """When periods begin and end."""
        return Calendar.of(self.period, self.start, self.until, self.levels)

    @cached_property
    def watching(self) -> Watching:
        """The mechanism, calibrated."""
        calendar = self.calendar
        budget = Budget(self.epsilon, self.delta)
        return Watching(budget, calendar.periods, calendar.lengths, self.min_events)

    @property
    def asked_columns(self) -> str | list[str] | None:
        """The columns as a source takes them."""
        return self.column[0] if len(self.column) == 1 else list(self.column) or None

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in the feed."""
        return KeyColumns.of(self.asked_columns, self.key_type).key_names

    @property
    def protected(self) -> str:
        """What the guarantee is for, in words."""
        return "one event"

    @property
    def event(self) -> Event:
        """What the whole feed costs."""
        return Event.of(self.epsilon, self.delta)

    @property
    def schedule(self) -> Schedule:
        """One charge for all periods. Without a column of times, rows of any time may be counted."""
        window = None
        if self.time is not None:
            window = self.calendar.window.by(self.time, self.time_zone or "UTC")
        cost = self.event, self.event
        return Schedule(self.name, self.calendar.periods, *cost, window, question=self.question)

    @property
    def question(self) -> str:
        """What every period of the watch asks of the ledger."""
        return question_hash({"command": "watch", "terms": json.dumps(self.public, sort_keys=True)})

    def run_id(self, place: int) -> str:
        """Return the name of the run that closes a period."""
        return f"{self.name}/{self.calendar.name(place)}"

    def plan(self, place: int, generation: str) -> RunPlan:
        """Return what closing a period asks of the ledger; `generation` names the state after it."""
        run_id, window = self.run_id(place), self.schedule.window
        return RunPlan(self.question, EVENT, self.event, run_id, source=generation, window=window)


def asked(path: str | os.PathLike[str]) -> str:
    """Return a location as text; that of a file is absolute, because a state outlives the working folder."""
    location = os.fspath(path)
    return location if "://" in location else os.path.abspath(location)
