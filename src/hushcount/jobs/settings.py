"""What a release is asked for, checked before a single row is read."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from hushcount.errors import ParameterError
from hushcount.files.atomic import check_writable
from hushcount.mechanisms.linear.calibration import plan_envelope
from hushcount.mechanisms.linear.envelope import ENVELOPES
from hushcount.mechanisms.registry import MECHANISMS, prepare
from hushcount.privacy import (
    LARGEST_COUNT,
    Budget,
    budget_for,
    check_confidence,
    check_count,
    check_max_events,
    check_strength,
    weaknesses,
)
from hushcount.releases.writers import check_output
from hushcount.sources.in_domain import DROPPED, check_keys, read_domain

if TYPE_CHECKING:
    from hushcount.jobs.origin import Origin
    from hushcount.keys.columns import KeyColumns
    from hushcount.keys.domains import Domain
    from hushcount.keys.memory import Data
    from hushcount.mechanisms.base import Calibrated
    from hushcount.releases.release import Release
    from hushcount.shapes import Public, Sketch
    from hushcount.sketches.exact import Exact
    from hushcount.sketches.misra_gries import MisraGries
    from hushcount.sketches.space_saving import SpaceSaving
    from hushcount.sketches.tracked import TrackedSketch

COUNTERS = 131072
Settings = TypeVar("Settings")
KINDS = ("space-saving", "misra-gries", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSettings:
    """Budget, mechanism, and what is done with the table once it is private."""

    epsilon: float
    delta: float
    mechanism: str | None = None
    max_events: int | None = None
    confidence: float = 0.95
    limit: int | None = None
    min_count: int | None = None
    output: str | os.PathLike[str] | None = None
    domain: Domain | Data = None
    allow_large_delta: bool = False

    def __post_init__(self) -> None:
        check_strength(self.budget, self.allow_large_delta)
        check_max_events(self.max_events, self.budget.delta)
        check_confidence(self.confidence)
        check_mechanism(self.mechanism)
        if self.limit is not None:
            check_count("limit", self.limit, most=LARGEST_COUNT)
        if self.min_count is not None:
            check_count("min_count", self.min_count, least=0, most=LARGEST_COUNT)
        if self.output is not None:
            check_output(self.output)
            check_writable(self.output)

    @property
    def budget(self) -> Budget:
        """What the release spends."""
        return budget_for(self.epsilon, self.delta, self.domain is not None)

    def with_domain(self, key_type: str) -> ReleaseSettings:
        """Return the same with the domain read, if it was the name of a file; its keys are of this type."""
        if self.domain is None:
            return self
        return replace(self, domain=read_domain(self.domain, key_type))

    @property
    def domain_notes(self) -> tuple[str, ...]:
        """What happens to keys that are not in the domain, if there is one."""
        return () if self.domain is None else (DROPPED,)

    def check_domain(self, columns: KeyColumns) -> None:
        """Raise unless the keys of these columns can be keys of the domain."""
        if self.domain is not None:
            check_keys(self.domain, columns)

    def prepared(self, public: Public) -> Calibrated:
        """Return the mechanism, calibrated for a sketch with these public numbers, or raise."""
        return prepare(self.mechanism, self.budget, public.within(self.max_events, self.domain))

    def sketch(self, counters: int) -> Sketch:
        """Return an empty sketch of the kind that the mechanism is proved for, as large as it needs."""
        if self.mechanism in ENVELOPES:
            return self._tracked(counters)
        return new_sketch(kind_for(self.mechanism), counters)

    def _tracked(self, counters: int) -> TrackedSketch:
        from hushcount.sketches.tracked import TrackedSketch

        if self.max_events is None:
            raise ParameterError(f"{self.mechanism} needs max_events, a public bound, got None.")
        kind = ENVELOPES[str(self.mechanism)]
        counters = check_count("counters", counters, least=2)
        plan = plan_envelope(kind, self.max_events, counters, self.epsilon, self.delta)
        return TrackedSketch(kind, counters, plan.depth, plan.width)

    def finished(self, whole: Release, origin: Origin) -> Release:
        """Return a release with its keys as columns, its notes, and the rows and intervals asked for."""
        keys = origin.decode(whole.keys.column("key").combine_chunks())
        notes = (*origin.notes, *weaknesses(self.budget))
        return whole.finished(keys, notes, (self.min_count, self.limit), self.confidence)

    def written(self, release: Release) -> Release:
        """The release, written to the output if there is one."""
        if self.output is not None:
            release.write(self.output)
        return release


def taken(kind: type[Settings], values: dict[str, Any]) -> Settings:
    """Return settings of one kind, made of the values of their names, which are taken out of `values`."""
    names = [field.name for field in fields(kind) if field.name in values]  # type: ignore[arg-type]
    return kind(**{name: values.pop(name) for name in names})


def check_mechanism(name: str | None) -> None:
    """Raise unless there is a mechanism of this name."""
    if name is not None:
        MECHANISMS.check(name)


def kind_for(mechanism: str | None) -> str:
    """Return the kind of sketch that gives what a mechanism is proved for."""
    if mechanism is None:
        return "space-saving"
    kind = MECHANISMS[mechanism].sketch
    return kind if kind in KINDS else "space-saving"


def new_sketch(kind: str, counters: int) -> SpaceSaving | MisraGries | Exact:
    """An empty sketch; exact counts have no counters to limit."""
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind}.")
    check_count("counters", counters, least=2)
    if kind == "exact":
        from hushcount.sketches.exact import Exact

        return Exact()
    if kind == "misra-gries":
        from hushcount.sketches.misra_gries import MisraGries

        return MisraGries(counters=counters)
    from hushcount.sketches.space_saving import SpaceSaving

    return SpaceSaving(counters=counters)
