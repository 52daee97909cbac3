"""What a watch is: all that was fixed and paid for when it was made."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypedDict, cast

from hushcount.accounting.chain import question_hash
from hushcount.accounting.charges import Event
from hushcount.accounting.runs import EVENT, PROTECTED, RunPlan, check_name
from hushcount.accounting.schedule import Schedule
from hushcount.accounting.windows import TimeWindow
from hushcount.errors import ParameterError, PrivacyWarning
from hushcount.files.atomic import PathLike
from hushcount.jobs.watch.calendar import Calendar
from hushcount.jobs.watch.users import NO_CLOCK, WatchedUsers
from hushcount.keys.columns import KeyColumns
from hushcount.mechanisms.continual.gate import Watching
from hushcount.mechanisms.continual.users import KeyShare, share_of_key
from hushcount.privacy import Budget, check_count

# Options that came after the first watches, whose terms must stay as they were written.
LATER = ("user", "max_keys", "cell", "max_pairs", "backfill")
TYPES = {"text": "VARCHAR", "int": "BIGINT"}
RESERVED = ("kind", "level", "start", "end", "value", "partial", "count", "lower", "upper")


class WatchOptions(TypedDict, total=False):
    """The options of `hc.watch`."""

    period: str | None
    start: str | None
    until: str | None
    levels: Sequence[str]
    epsilon: float | None
    delta: float | None
    ledger: PathLike | None
    dataset: str | None
    name: str
    column: str | Sequence[str] | None
    key_type: str
    time: str | None
    time_zone: str | None
    min_events: int
    retire_below: int | None
    user: str | None
    max_keys: int | None
    cell: str | None
    max_pairs: int | None
    backfill: str | None


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
    user : str, optional
        The column of the users, who are protected in place of events.
    max_keys, cell : int and str, optional
        How many keys of a user count in a cell of time, and its length.
    max_pairs : int, optional
        How many keys of a user count in the whole watch.
    backfill : str, optional
        How far back the nodes of a key are published when it enters.
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
    user: str | None = None
    max_keys: int | None = None
    cell: str | None = None
    max_pairs: int | None = None
    backfill: str | None = None

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
        if self.cell is not None and self.time is None:
            raise ParameterError(NO_CLOCK)
        _ = self.watching, self.key_names, self.reach

    @classmethod
    def asked(cls, options: WatchOptions) -> WatchTerms:
        """Return the terms that the options of a new watch state, or raise."""
        needed = ("period", "start", "until", "epsilon", "delta")
        if any(options.get(name) is None for name in needed):
            raise ParameterError("A new watch needs period, start, until, epsilon and delta.")
        if options.get("ledger") is None or options.get("dataset") is None:
            raise ParameterError("A new watch needs ledger and dataset: its whole feed is charged once.")
        column, levels = options.get("column"), tuple(options.get("levels", ()))
        names = (column,) if isinstance(column, str) else tuple(column or ())
        place = located(cast("PathLike", options["ledger"]))
        fields: dict[str, Any] = {**options, "ledger": place, "column": names, "levels": levels}
        return cls(**fields)

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
        """The terms without the place of the ledger; of later options only those that were given."""
        return {
            name: each
            for name, each in asdict(self).items()
            if name != "ledger" and not (name in LATER and each is None)
        }

    @cached_property
    def calendar(self) -> Calendar:
        """When periods begin and end."""
        return Calendar.of(self.period, self.start, self.until, self.levels)

    @cached_property
    def users(self) -> WatchedUsers | None:
        """What of each user counts; None if events are protected."""
        return WatchedUsers.of(self.user, self.max_keys, self.cell, self.max_pairs, self.calendar)

    @cached_property
    def share(self) -> KeyShare:
        """What gate and levels of one key may spend."""
        keys = self.users.most if self.users else 1
        return share_of_key(Budget(self.epsilon, self.delta), keys, self.calendar.periods)

    @cached_property
    def watching(self) -> Watching:
        """The mechanism, calibrated."""
        calendar = self.calendar
        return Watching(
            self.share.budget, calendar.periods, calendar.lengths, self.min_events, self.reach > 0
        )

    @property
    def reach(self) -> int:
        """How many periods before its entry are published of a key, 0 for none."""
        return 0 if self.backfill is None else self.calendar.spanned(self.backfill, "backfill")

    @property
    def asked_columns(self) -> str | list[str] | None:
        """The columns as a source takes them."""
        return self.column[0] if len(self.column) == 1 else list(self.column) or None

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in the feed."""
        keys = KeyColumns.of(self.asked_columns, self.key_type)
        return (keys if self.user is None else keys.with_user(self.user)).key_names

    @property
    def unit(self) -> str:
        """What is protected, as the ledger names it."""
        return EVENT if self.users is None else self.users.unit

    @property
    def protected(self) -> str:
        """What the guarantee is for, in words."""
        return PROTECTED[EVENT] if self.users is None else self.users.protected

    @property
    def counted(self) -> str:
        """What counts are numbers of."""
        return "events" if self.users is None else "users"

    @property
    def bounds(self) -> tuple[str, ...]:
        """What is counted of a user and what one key may spend, in words; nothing if events are protected."""
        if self.users is None:
            return ()
        said = (self.users.kept.capitalize(),)
        if self.users.most == 1:
            return said
        return (*said, f"Each of them has epsilon {self.share.budget.epsilon:.3g}, by {self.share.way}.")

    @property
    def event(self) -> Event:
        """What the whole feed costs."""
        return Event.of(self.epsilon, self.delta)

    @property
    def window(self) -> TimeWindow | None:
        """The time that rows are from. Without a column of times, rows of any time may be counted."""
        if self.time is None:
            return None
        return self.calendar.window.by(self.time, self.time_zone or "UTC")

    @property
    def schedule(self) -> Schedule:
        """One charge for all periods."""
        cost = self.event, self.event
        return Schedule(self.name, self.calendar.periods, *cost, self.window, question=self.question)

    @property
    def question(self) -> str:
        """What every period of the watch asks of the ledger."""
        return question_hash({"command": "watch", "terms": json.dumps(self.public, sort_keys=True)})

    def run_id(self, place: int) -> str:
        """Return the name of the run that closes a period."""
        return f"{self.name}/{self.calendar.name(place)}"

    def plan(self, run_id: str, generation: str = "") -> RunPlan:
        """Return what a run asks of the ledger; `generation` names the state after its period."""
        asked = self.question, self.unit, self.event, run_id
        return RunPlan(*asked, source=generation, window=self.window, cell=self.cell)


def located(path: PathLike) -> str:
    """Return a location as text; that of a file is absolute, because a state outlives the working folder."""
    location = os.fspath(path)
    return location if not location or "://" in location else os.path.abspath(location)
