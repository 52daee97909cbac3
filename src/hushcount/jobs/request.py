"""Which data a job counts: how they are opened, what is kept of each user, and whose budget pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from hushcount.errors import NotProvedError, ParameterError
from hushcount.files.atomic import PathLike
from hushcount.hierarchies.registry import COLUMNS, PARENTS, parse_hierarchy
from hushcount.jobs.trust.spending import Spending
from hushcount.keys.plain import MAX_KEY_BYTES, KeyLimit
from hushcount.keys.weights import WeightColumn
from hushcount.privacy import EVENT, USER, PrivacyUnit, check_count
from hushcount.releases.accuracy import EVENTS, Counted
from hushcount.sources.open import open_source
from hushcount.sources.source import Source
from hushcount.sources.wrapped import (
    BoundedSource,
    SourceInDomain,
    WeighedSource,
    WindowedSource,
    readable_type,
)

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Hierarchy
    from hushcount.jobs.users import UserSettings
    from hushcount.keys.domains import Domain
    from hushcount.keys.memory import Data
    from hushcount.sources.duckdb.bounding import UserBound

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Request(Spending):
    """Which data to count, as `open_source` takes it, how much of each user, and whose budget pays.

    `ordered` says whether the sketch depends on the order of rows, `padded` whether rows with a null are
    kept for a tree of columns. `bound` limits what each user contributes, `with_users` keeps users beside
    keys, and `progress` is called while the rows of users are sorted. `beside` are files that are read
    besides the data, such as a domain or a table of parents. `weight` is the column that tells how much a row
    counts, at most `max_weight`.
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
    bound: UserBound | None = None
    with_users: bool = False
    progress: Progress | None = None
    padded: bool = False
    weight: str | None = None
    max_weight: int | None = None
    beside: tuple[PathLike, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        KeyLimit.of(self.max_key_bytes, self.on_bad)
        if self.column is not None and not isinstance(self.column, str):
            object.__setattr__(self, "column", list(self.column))
        if self.max_weight is not None and self.weight is None:
            raise ParameterError("max_weight is the largest weight of a row, so it needs weight, a column.")
        if self.weighed is not None and self.user is not None:
            raise ParameterError(
                "weight cannot be combined with user: it bounds what one row counts, not what one user does;"
                " leave out one of them."
            )

    @property
    def weighed(self) -> WeightColumn | None:
        """How much each row counts, None if every row counts 1."""
        most = 1 if self.max_weight is None else self.max_weight
        return None if self.weight is None else WeightColumn(self.weight, most)

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected: a user with all rows that are kept, or an event unless the source knows more."""
        if self.bound is not None:
            return replace(USER, rows=self.bound.largest)
        return EVENT if self.weighed is None else replace(EVENT, weight=self.weighed.most)

    @property
    def counted(self) -> Counted:
        """What a count is a number of."""
        return EVENTS if self.weight is None else Counted(self.weight)

    def check_weight(self, proved: bool, way_out: str) -> None:
        """Raise for weights where every event must count 1; `way_out` says what takes them."""
        if self.weight is not None and not proved:
            raise NotProvedError(
                "weight needs exact counts or cells, which one row changes by up to max_weight and no more;"
                f" anything else is proved for rows that count 1. {way_out}"
            )

    def of_users(self, users: UserSettings, progress: Progress | None = None) -> Request:
        """Return the request for rows of users, as many of each as may be kept: a whole number."""
        check_count("max_keys", cast("int", users.max_keys or 0))
        return replace(self, bound=users.bound(), progress=progress)

    def open(self, state: Mapping[str, str] | None = None) -> Source:
        """Open the source; `state` of a stopped run gives its order again."""
        times, weight = self.times, self.weighed
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
            times=times,
            weight=weight,
        )
        if times is not None:
            source = WindowedSource(source, times, str(self.span))
        if weight is not None:
            source = WeighedSource(source, weight)
        if self.domain is not None:
            source = SourceInDomain(source, self.domain)
        if self.bound is None:
            return source
        return BoundedSource(source, self.bound, self.with_users, self.progress, self.ordered)


def kept_sentence(most: int, rows: bool = False) -> str:
    """Say what is kept of each user, if users are counted, or rows of them."""
    kept = f"{most} rows in all are" if rows else f"{most} different keys, each once, are"
    if most == 1:
        kept = "1 row is" if rows else "1 key, once, is"
    return f"Of each user at most {kept} kept, picked by a keyed hash of user and key."


def kept_counts(noun: str, largest: int) -> Counted:
    """Return what a count is a number of: users who kept the key, or rows that were kept."""
    what = f"users who kept this key; at most {largest} key{'s' * (largest > 1)} each"
    if noun == "rows":
        what = f"rows kept, not of users; at most {largest} row{'s' * (largest > 1)} of each user"
    return Counted(noun, f"count is the number of {what}. Intervals are for this number.")


def with_columns(request: Request, hierarchy: Hierarchy) -> Request:
    """Return the request with the columns that a hierarchy of columns names; any other takes one column."""
    if not hierarchy.name.startswith(COLUMNS):
        if isinstance(request.column, list) and len(request.column) > 1:
            raise ParameterError(
                f"column must be one column with hierarchy {hierarchy.name}, got {', '.join(request.column)};"
                f" hierarchy {COLUMNS}A,B,... takes several."
            )
        return request
    if request.column is not None:
        raise ParameterError(f"column must be left out with hierarchy {hierarchy.name}, which names them.")
    names = hierarchy.name.removeprefix(COLUMNS).split(",")
    return replace(request, column=names if len(names) > 1 else names[0], padded=True)


@dataclass(frozen=True)
class AskedHierarchy:
    """The hierarchy that is asked for, by name, function or itself, and the file that it is read from."""

    hierarchy: Hierarchy | str | Callable[[object], object]
    height: int | None = None
    parsed: Hierarchy = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parsed", parse_hierarchy(self.hierarchy, self.height))

    @property
    def files(self) -> tuple[str, ...]:
        """The table of parents, if there is one."""
        named = isinstance(self.hierarchy, str) and self.hierarchy.startswith(PARENTS)
        return (str(self.hierarchy).removeprefix(PARENTS),) if named else ()
