"""Mechanisms: every noise draw and every threshold, each with its theorem.

`release` picks the proved mechanism for a sketch's shape, or the one that is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.keys.domains import as_domain
from hushcount.mechanisms.base import Mechanism, PublicParameters, check_shape
from hushcount.mechanisms.counters.floor import BoundedLengthRelease, FloorRelease
from hushcount.mechanisms.counters.misra_gries import (
    ChanRelease,
    PrivateMisraGries,
    PrivateMisraGriesPaper,
    PrivateMisraGriesStandard,
)
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram
from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.mechanisms.histograms.merged import LaplaceManyKeys
from hushcount.mechanisms.histograms.pure import BoundedPureRelease, PureRelease
from hushcount.mechanisms.histograms.truncated_geometric import PublicFloorRelease, TruncatedGeometric
from hushcount.mechanisms.linear.envelope import CountMinEnvelope, CountSketchEnvelope
from hushcount.noise.bits import Bits, system_bits
from hushcount.privacy import EVENT, Budget, PrivacyUnit, check_delta, check_max_events
from hushcount.shapes import Cells, FloorCounters, Histogram, LevelCounters, ManyKeys, Shards, TrackedCells
from hushcount.sketches.shards import KeyShards, shards_of

if TYPE_CHECKING:
    from hushcount.releases.release import Release

__all__ = ["DEFAULTS", "MECHANISMS", "Mechanism", "PublicParameters", "budget_for", "release"]

MECHANISMS: dict[str, type[Mechanism]] = {
    FloorRelease.name: FloorRelease,
    PrivateMisraGries.name: PrivateMisraGries,
    PrivateMisraGriesPaper.name: PrivateMisraGriesPaper,
    PrivateMisraGriesStandard.name: PrivateMisraGriesStandard,
    ChanRelease.name: ChanRelease,
    BoundedLengthRelease.name: BoundedLengthRelease,
    LaplaceThreshold.name: LaplaceThreshold,
    TruncatedGeometric.name: TruncatedGeometric,
    PublicFloorRelease.name: PublicFloorRelease,
    CountMinEnvelope.name: CountMinEnvelope,
    CountSketchEnvelope.name: CountSketchEnvelope,
    ShardRelease.name: ShardRelease,
    GaussianSparseHistogram.name: GaussianSparseHistogram,
    LaplaceManyKeys.name: LaplaceManyKeys,
    PureRelease.name: PureRelease,
    BoundedPureRelease.name: BoundedPureRelease,
}

DEFAULTS: dict[type, type[Mechanism]] = {
    FloorCounters: FloorRelease,
    Histogram: TruncatedGeometric,
    ManyKeys: GaussianSparseHistogram,
    Shards: ShardRelease,
    KeyShards: ShardRelease,
}

PURE = (PureRelease.name, BoundedPureRelease.name)

WAYS_OUT: dict[type, str] = {
    Cells: "a linear sketch holds no keys, make an oracle of it with hc.oracle",
    LevelCounters: "a hierarchy needs a threshold, release it with hc.tree",
    TrackedCells: f"name {CountMinEnvelope.name} or {CountSketchEnvelope.name}",
}


def release(
    sketch: Any,
    *,
    epsilon: float,
    delta: float,
    mechanism: str | None = None,
    max_events: int | None = None,
    domain: Any = None,
    unit: PrivacyUnit | None = None,
    bits: Bits | None = None,
) -> Release:
    """Release a sketch, or a list of sketches of disjoint parts, with (epsilon, delta)-DP.

    `mechanism` names one of MECHANISMS; without it the proved default of the sketch's shape is taken.
    `max_events` is a public bound on the number of events: "dpss" and "public-floor" need it, others bound
    errors by it. `domain`, all keys that can occur ("A..B" or a list), allows delta = 0. `unit` is that of
    the sketch unless given.
    """
    budget = budget_for(epsilon, delta, domain)
    longest = check_max_events(max_events, budget.delta)
    shape = _shape(sketch)
    _check_length(sketch, shape, longest)
    public = PublicParameters(
        candidates=getattr(shape, "candidates", None),
        parts=None if isinstance(shape, Shards) else getattr(shape, "parts", None),
        max_events=longest,
        unit=_unit(shape, unit),
        moved=getattr(shape, "moved", None),
        domain=None if domain is None else as_domain(domain),
    )
    chosen = _choose(_named(mechanism, public), shape)
    return chosen(budget, public).release(shape, bits or system_bits())


def budget_for(epsilon: float, delta: float, domain: Any = None) -> Budget:
    """The budget of a release, or a refusal: a domain goes with delta = 0, and delta = 0 with a domain."""
    zero = isinstance(delta, int | float) and not isinstance(delta, bool) and delta == 0
    if domain is None:
        if zero:
            raise ParameterError(
                f"delta must be strictly between 0 and 1, got {delta}; or give a public domain."
            )
        return Budget(epsilon, delta)
    if not zero:
        check_delta(delta)
        raise ParameterError(f"delta must be 0 with a public domain, got {delta}.")
    return Budget.pure(epsilon)


def _unit(shape: object, given: PrivacyUnit | None) -> PrivacyUnit:
    """The unit of the shape, which events of any kind may go by another name."""
    own: PrivacyUnit = getattr(shape, "unit", EVENT)
    return given if given is not None and own == EVENT else own


def _named(name: str | None, public: PublicParameters) -> str | None:
    """The mechanism asked for; a domain allows those for delta = 0, and no others."""
    if public.domain is None:
        if name in PURE:
            raise ParameterError(f"{name} needs domain, a public list of keys, got None.")
        return name
    if name is None:
        return PURE[0] if public.max_events is None else PURE[1]
    if name not in PURE:
        raise ParameterError(f"mechanism must be one of {', '.join(PURE)} with a domain, got {name}.")
    return name


def _shape(sketch: Any) -> object:
    if isinstance(sketch, list | tuple):
        return shards_of(sketch)
    if not hasattr(sketch, "shape") or not callable(sketch.shape):
        raise ParameterError(f"sketch must be a sketch, got {type(sketch).__name__}.")
    return sketch.shape()


def _check_length(sketch: Any, shape: object, longest: int | None) -> None:
    """Raise for more events than the public bound: what is proved for fewer would be claimed for these."""
    if longest is None or isinstance(shape, TrackedCells):  # an envelope compares by itself
        return
    sketches = sketch if isinstance(sketch, list | tuple) else [sketch]
    if sum(int(getattr(one, "total", 0)) for one in sketches) > longest:
        raise DataError(
            f"{'The sketches hold' if len(sketches) > 1 else 'The sketch holds'} more than max_events ="
            f" {longest} events, so nothing was released; this message itself reveals that,"
            " outside the guarantee."
        )


def _choose(name: str | None, shape: object) -> type[Mechanism]:
    if name is None:
        default = DEFAULTS.get(type(shape))
        if default is None:
            raise NotProvedError(
                f"no mechanism is the default for {type(shape).__name__};"
                f" {WAYS_OUT.get(type(shape), 'count with SpaceSaving')}."
            )
        return default
    if name not in MECHANISMS:
        raise ParameterError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {name}.")
    check_shape(MECHANISMS[name], shape)
    return MECHANISMS[name]
