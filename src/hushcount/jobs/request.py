"""Which data a job counts: how they are opened, what is kept of each user, and whose budget pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from hushcount.errors import NotProvedError, ParameterError
from hushcount.files.atomic import PathLike
from hushcount.hierarchies.registry import COLUMNS, PARENTS, parse_hierarchy
from hushcount.jobs.choices import LOCAL, SPARK, check_max_keys
from hushcount.jobs.spark import is_frame
from hushcount.jobs.trust.spending import Spending
from hushcount.keys.columns import KeyColumns
from hushcount.keys.numbers import EventNumbers
from hushcount.keys.plain import MAX_KEY_BYTES, KeyLimit
from hushcount.keys.weights import WeightColumn
from hushcount.privacy import EVENT, USER, Guarantee, PrivacyUnit
from hushcount.releases.accuracy import EVENTS, Counted
from hushcount.sketches.cells import LinearSketch
from hushcount.sketches.counters import StreamCounters
from hushcount.sketches.dealt.key_shards import KeyShardSketch
from hushcount.sketches.exact import Exact
from hushcount.sources.open import beside, open_source
from hushcount.sources.source import Source
from hushcount.sources.wrapped import (
    BoundedSource,
    SourceInDomain,
    WeighedSource,
    WindowedSource,
    readable_type,
)
from hushcount.stores.reading import of_relation

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.hierarchies.base import Hierarchy
    from hushcount.jobs.users import UserSettings
    from hushcount.keys.domains import Domain
    from hushcount.keys.memory import Data
    from hushcount.shapes import Sketch
    from hushcount.sketches.several import CountsSeveral
    from hushcount.sources.duckdb.bounding import UserBound

FRAME_ROWS = (
    "each row of the frame is made from one event, whatever the other rows are (asserted by the caller)"
)
Progress = Callable[[int, int | None], None]
BOTH = (
    "weight and times cannot be combined: by weight a row is one event of that size, by times it is so many"
    " events; leave out one of them."
)
SIZED_USERS = {
    "weight": "weight cannot be combined with user: it bounds what one row counts, not what one user does;"
    " leave out one of them.",
    "times": "times cannot be combined with user: of a user a key counts once, or by rows; leave out one.",
}


@dataclass(frozen=True)
class Request(Spending):
    """Which data to count, as `open_source` takes it, how much of each user, and whose budget pays.

    `ordered` says whether the sketch depends on the order of rows, `padded` whether rows with a null are
    kept for a tree of columns. `bound` limits what each user contributes, `with_users` keeps users beside
    keys, and `progress` is called while the rows of users are sorted. `beside` are files that are read
    besides the data, such as a domain or a table of parents. `weight` is the column that tells how much a row
    counts, at most `max_weight`; `times` is the one that tells for how many events it stands. `relation` is a
    table of a database, and becomes the `sql` of all its rows. `append` asks for the lines of a log that were
    not read before. Spark reads its own frames, and files if it is the `engine`.
    """

    data: Data = field(default=None, repr=False)  # an address may have a password
    column: str | Sequence[str] | None = None
    format: str | None = None
    key_type: str = "auto"
    sql: str | None = None
    relation: str | None = None
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
    times: str | None = None
    beside: tuple[PathLike, ...] = ()
    engine: str = LOCAL
    append: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.on_spark:
            self._check_spark()
        KeyLimit.of(self.max_key_bytes, self.on_bad)
        if self.column is not None and not isinstance(self.column, str):
            object.__setattr__(self, "column", list(self.column))
        if self.relation is not None:
            self._name_relation(self.relation)
        if self.max_weight is not None and self.weight is None:
            raise ParameterError("max_weight is the largest weight of a row, so it needs weight, a column.")
        if self.weight is not None and self.times is not None:
            raise ParameterError(BOTH)
        if self.user is not None and (sized := self.sized) is not None:
            raise ParameterError(SIZED_USERS[sized.option])

    def _name_relation(self, name: str) -> None:
        """Ask for the query of all rows of a table or view, or raise."""
        if self.data is None or self.sql not in (None, of_relation(name)):
            raise ParameterError(
                "relation takes the place of sql, and needs data that is a database, as postgresql://...."
            )
        object.__setattr__(self, "sql", of_relation(name))

    @property
    def on_spark(self) -> bool:
        """Whether Spark reads the data."""
        return self.engine == SPARK or is_frame(self.data)

    def _check_spark(self) -> None:
        """Raise for what Spark does not read."""
        if is_frame(self.data) and (self.sql is not None or self.format is not None):
            raise ParameterError("sql and format cannot be combined with a Spark frame.")
        if self.sql is not None or self.relation is not None:
            raise ParameterError("sql and relation cannot be combined with the Spark engine.")

    def assuming(self, stated: Guarantee, more: tuple[str, ...] = ()) -> Guarantee:
        """Return a guarantee with what the caller asserts, of a Spark frame by handing it over."""
        asserted = (FRAME_ROWS, *more) if is_frame(self.data) else more
        return replace(stated, assumptions=(*stated.assumptions, *asserted)) if asserted else stated

    @property
    def asked(self) -> KeyColumns:
        """The columns that are asked for."""
        columns = beside(KeyColumns.of(self.column, self.key_type), self.user, self.sized, self.kept_times)
        return replace(columns, limit=KeyLimit.of(self.max_key_bytes, self.on_bad), padded=self.padded)

    @property
    def sized(self) -> WeightColumn | EventNumbers | None:
        """How much each row counts, or for how many events it stands; None if every row is one event."""
        if self.times is not None:
            return EventNumbers(self.times)
        most = 1 if self.max_weight is None else self.max_weight
        return None if self.weight is None else WeightColumn(self.weight, most)

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected: a user with all rows that are kept, or an event unless the source knows more."""
        if self.bound is not None:
            return replace(USER, rows=self.bound.largest)
        return EVENT if (sized := self.sized) is None else replace(EVENT, weight=sized.change)

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

    def check_single(self, where: str) -> None:
        """Raise for rows that stand for several events; `where` says what takes none."""
        if self.times is not None:
            raise ParameterError(f"times cannot be combined with {where}.")

    def open_for(self, sketch: Sketch, state: Mapping[str, str] | None) -> Source:
        """Open the source for a sketch: text by code, or for sums counted by a database; Spark adds cells."""
        sums = isinstance(sketch, LinearSketch | Exact) and not self.on_spark
        source = self.open(state)
        if sums:
            return source.grouped() or source
        return source.by_code() if isinstance(sketch, StreamCounters | KeyShardSketch) else source

    def of_users(self, users: UserSettings, progress: Progress | None = None) -> Request:
        """Return the request for rows of users, as many of each as may be kept: a whole number."""
        check_max_keys(users.max_keys or 0)
        return replace(self, bound=users.bound(), progress=progress)

    def open(self, state: Mapping[str, str] | None = None) -> Source:
        """Open the source; `state` of a stopped run gives its order again."""
        times, weight, source = self.kept_times, self.sized, self._source(state)
        if times is not None:
            source = WindowedSource(source, times, str(self.span))
        if self.domain is not None:
            source = SourceInDomain(source, self.domain)
        if weight is not None:
            source = WeighedSource(source, weight)
        if self.bound is None:
            return source
        kept = None if self.ordered else source.bounded(self.bound, self.with_users)
        return kept or BoundedSource(source, self.bound, self.with_users, self.progress, self.ordered)

    def check_log(self) -> None:
        """Raise for what the lines of a log that grows cannot be counted with."""
        for name, given in (("sql", self.sql), ("user", self.user), ("domain", self.domain)):
            if given is not None:
                raise ParameterError(f"append cannot be combined with {name}.")

    def _log(self, state: Mapping[str, str] | None) -> Source:
        """Open the lines of a log that were not read before."""
        from hushcount.sources.growing import open_log

        self.check_log()
        return open_log(self.data, self.format, self.asked, state or {})

    def _source(self, state: Mapping[str, str] | None) -> Source:
        """Open the rows of the data, whatever is kept of them."""
        if self.on_spark:
            from hushcount.jobs.spark.rows import open_rows

            rows = open_rows(self.data, self.format, self.asked)
            return rows.by_hash() if self.ordered and self.user is None else rows
        if self.append:
            return self._log(state)
        return open_source(
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
            times=self.kept_times,
            weight=self.sized,
        )


def adding_pairs(sketch: Sketch) -> Callable[[pa.Array], None]:
    """Return what counts a batch of pairs, a number of events and their key, in a sketch."""
    several = cast("CountsSeveral", sketch)

    def add(pairs: pa.Array) -> None:
        several.update(pairs.field("key"), times=pairs.field("weight").to_numpy())

    return add


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
