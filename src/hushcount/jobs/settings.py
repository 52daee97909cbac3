"""What a release is asked for, checked before a single row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, TypeVar

from hushcount.accounting.zcdp import zcdp_budget
from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.choices import KINDS
from hushcount.jobs.trust.share import check_share
from hushcount.mechanisms.linear.measured import TRACKED, plan_tracked
from hushcount.mechanisms.registry import MECHANISMS
from hushcount.mechanisms.total import SHARE
from hushcount.noise.lattice import typed
from hushcount.privacy import (
    LARGEST_COUNT,
    Budget,
    budget_for,
    check_confidence,
    check_count,
    check_delta,
    check_fraction,
    check_max_events,
    check_strength,
    unwarned,
    weaknesses,
)
from hushcount.releases.published import check_per
from hushcount.releases.share import share_cut
from hushcount.releases.views.report_files import NO_FILES, check_files, write_files
from hushcount.sketches import kinds
from hushcount.sketches.linear import TrackedSketch
from hushcount.sources.open import read_domain

if TYPE_CHECKING:
    from hushcount.jobs.checkpoints import Origin
    from hushcount.keys.domains import Domain
    from hushcount.keys.memory import Data
    from hushcount.releases.release import Release
    from hushcount.shapes import Sketch
    from hushcount.sketches.base import SavedSketch

COUNTERS = 131072
ONE_BUDGET = "Give either epsilon, or rho, which is for Gaussian noise, but not both."
# Options that releases state. None of them can name a file, a query or an address.
PUBLIC_OPTIONS = (
    "max_events",
    "confidence",
    "mechanism",
    "limit",
    "per",
    "min_count",
    "other_share",
    "threshold",
    "share",
    "method",
    "counters",
    "on_bad",
)
# Settings that change what is shown of a release, and not what is drawn.
SHOWN_ONLY = {
    "confidence",
    "limit",
    "per",
    "min_count",
    "output",
    "plot",
    "report",
    "outputs",
    "allow_large_delta",
    "like",
    "source_name",
}
Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every release is asked for: the budget, the bound on events, and where the result goes."""

    delta: float
    epsilon: float | None = None
    rho: float | None = None
    max_events: int | None = None
    confidence: float = 0.95
    output: PathLike | None = None
    plot: PathLike | None = None
    report: PathLike | None = None
    allow_large_delta: bool = False
    source_name: str | None = None
    budget: Budget = field(init=False)
    outputs: tuple[PathLike | None, PathLike | None, PathLike | None] = field(init=False)

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError(ONE_BUDGET)
        budget = self.spent() if self.rho is None else zcdp_budget(self.rho, self.delta)
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "outputs", (self.output, self.plot, self.report))
        check_strength(self.budget, self.allow_large_delta)
        check_max_events(self.max_events, self.budget.delta)
        check_confidence(self.confidence)
        self.check_outputs()

    def spent(self) -> Budget:
        """Return what the release spends, if that is stated by epsilon, or raise."""
        return unwarned(self.loss, check_delta(self.delta))

    @property
    def loss(self) -> float:
        """The epsilon that was stated."""
        if self.epsilon is None:
            raise ParameterError(ONE_BUDGET)
        return self.epsilon

    def stated(self) -> dict[str, int | float | str | None]:
        """Return the options that a release states."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name in PUBLIC_OPTIONS}

    def check_outputs(self) -> None:
        """Raise unless the files can be written."""
        if self.outputs != NO_FILES:
            check_files(*self.outputs)


@dataclass(frozen=True, kw_only=True)
class ReleaseSettings(Settings):
    """Budget, mechanism, and what is done with the table once it is private."""

    mechanism: str | None = None
    limit: int | None = None
    per: str | None = None
    min_count: int | None = None
    domain: Domain | Data = None
    other: bool = False
    other_share: float | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "other_share", asked_share(self.other, self.other_share))
        if self.mechanism is not None:
            MECHANISMS.check(self.mechanism)
        for name, given, least in (("limit", self.limit, 1), ("min_count", self.min_count, 0)):
            if given is not None:
                check_count(name, given, least=least, most=LARGEST_COUNT)
        if self.share is not None:
            check_share(self, self.share, self.max_events)

    def spent(self) -> Budget:
        """Return what the release spends: a public domain and delta = 0 require each other."""
        return budget_for(self.loss, self.delta, self.domain is not None)

    def check_groups(self, column: str | Sequence[str] | None) -> None:
        """Raise unless the groups, if there are any, are those of one of several key columns."""
        if self.per is not None:
            check_per(self.per, () if isinstance(column, str) else column or (), self.limit)

    def with_domain(self, key_type: str) -> ReleaseSettings:
        """Return the same with the domain read, if it was the name of a file; its keys are of this type."""
        if self.domain is None:
            return self
        same = copy(self)  # all was checked, and warned of, when the settings were made
        object.__setattr__(same, "domain", read_domain(self.domain, key_type))
        return same

    def sketch(self, counters: int, max_weight: int = 1) -> Sketch:
        """Return an empty sketch of the kind that the mechanism is proved for, as large as it needs."""
        if self.mechanism not in TRACKED:
            return new_sketch(kind_for(self.mechanism), counters)
        if self.max_events is None:
            raise ParameterError(f"{self.mechanism} needs max_events, a public bound, got None.")
        counters = check_count("counters", counters, least=2)
        plan = plan_tracked(self.mechanism, self.max_events, counters, self.budget, max_weight)
        return TrackedSketch(plan.kind, counters, plan.depth, plan.width, max_weight)

    def published(self, whole: Release, origin: Origin, notes: Iterable[str] = ()) -> Release:
        """Return a release with its keys as columns and its notes."""
        said = (*origin.notes, *notes, *weaknesses(self.budget))
        keys = origin.columns.decode(whole.keys.column("key").combine_chunks())
        return whole.with_keys(keys).with_notes(*said)

    def finished(self, published: Release) -> Release:
        """Return the rows and intervals asked for, written if asked."""
        options, least = self.stated(), self.min_count
        if self.share is not None:
            cut = share_cut(published, typed(self.share), self.max_events)
            published, least = published.with_notes(*cut.sentences), max(least or 0, cut.shown)
        if self.per is not None:
            published = published.with_notes(f"At most {self.limit} rows of each {self.per} are shown.")
        shown = published.cut(least, self.limit, self.per).at_confidence(self.confidence)
        done = shown.made_with(options, self.source_name)
        if self.outputs != NO_FILES:
            write_files(done, *self.outputs)
        return done


def oracle_budget(epsilon: float, delta: float | None) -> Budget:
    """Return the budget of an oracle; without delta, or with 0, it is for mechanisms that need none."""
    if delta is None or (not isinstance(delta, bool) and delta == 0):
        return unwarned(epsilon, 0.0)
    return unwarned(epsilon, delta)


def asked_share(other: bool, share: float | None) -> float | None:
    """Return the share of epsilon that a noisy total takes, None if there is to be none, or raise."""
    if share is not None and not other:
        raise ParameterError("other_share is what the noisy total takes of epsilon, so it needs other.")
    number = check_fraction("other_share", SHARE if share is None else share)
    return number if other else None


def taken(kind: Callable[..., Made], values: Mapping[str, object], **more: object) -> Made:
    """Return a dataclass made of the values of its fields' names, and of `more`."""
    names = {each.name for each in fields(kind) if each.init}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in values.items() if name in names} | more)


def kind_for(mechanism: str | None) -> str:
    """Return the kind of sketch that gives what a mechanism is proved for."""
    kind = KINDS[0] if mechanism is None else MECHANISMS[mechanism].sketch
    return kind if kind in KINDS else KINDS[0]


def new_sketch(kind: str, counters: int) -> SavedSketch:
    """Return an empty sketch of a stream; exact counts have no counters to limit."""
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind}.")
    check_count("counters", counters, least=2)
    return kinds.new(kind) if kind == "exact" else kinds.new(kind, counters=counters)
